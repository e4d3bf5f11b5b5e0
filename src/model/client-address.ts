/**
 * The client address of a request: the peer of its connection or, if the peer is a trusted proxy, the address that the
 * proxy names. For the log alone: a client without a proxy in front can name any address.
 */

import { BlockList, isIP } from "node:net";
import { type Ask, MAX_ELEMENTS } from "./message.ts";

/** Returns the address of a request's client; undefined without a connection. */
export type ClientOf = (ask: Pick<Ask, "peer" | "headers">) => string | undefined;

const LOOPBACK = ["127.0.0.0/8", "::1"];

/** Adds an address, a range or `loopback` to a list. @returns whether the text was valid */
function add(list: BlockList, text: string): boolean {
  if (text === "loopback") return LOOPBACK.every((range) => add(list, range));
  const [, address = "", bits] = /^([\da-f.:]+)(?:\/(\d{1,3}))?$/i.exec(text) ?? [];
  const version = isIP(address);
  const most = version === 4 ? 32 : 128;
  const length = bits === undefined ? most : Number(bits);
  if (version === 0 || length > most) return false;
  list.addSubnet(address, length, version === 4 ? "ipv4" : "ipv6");
  return true;
}

/** The problem with a proxy in a list; undefined when there is none. */
export function problemWithProxy(text: string): string | undefined {
  return add(new BlockList(), text)
    ? undefined
    : "must be an address, a range such as 10.0.0.0/8, or loopback";
}

/** An IPv6 address, in brackets with an optional port or bare; or an IPv4 address with an optional port. */
const ADDRESS = /^(?:(?:\[([\da-f.:]+)\]|([\d.]+))(?::\d{1,5})?|([\da-f.:]+))$/i;

/** The address in an entry of `X-Forwarded-For`, IPv4 in IPv6 as IPv4; undefined for other texts. */
function addressIn(entry: string): string | undefined {
  const [, bracketed, four, six] = ADDRESS.exec(entry.trim()) ?? [];
  const address = bracketed ?? four ?? six ?? "";
  return isIP(address) === 0 ? undefined : address.toLowerCase().replace(/^::ffff:(?=[\d.]+$)/, "");
}

/** Most looked-up addresses that are remembered. */
const MAX_KNOWN = 4096;

/** Reads client addresses through proxies. @param proxies the trusted ones, each without {@link problemWithProxy} */
export function readClients(proxies: readonly string[]): ClientOf {
  if (proxies.length === 0) return ({ peer }) => peer?.remoteAddress;
  const list = new BlockList();
  for (const proxy of proxies) add(list, proxy);
  const known = new Map<string, boolean>();

  function isTrusted(address: string): boolean {
    let is = known.get(address);
    if (is !== undefined) return is;
    if (known.size >= MAX_KNOWN) known.clear();
    // The zone of a link-local address does not count.
    is = list.check(address.replace(/%.*/, ""), address.includes(":") ? "ipv6" : "ipv4");
    known.set(address, is);
    return is;
  }

  return ({ peer, headers }) => {
    const proxy = peer?.remoteAddress;
    if (proxy === undefined || !isTrusted(proxy)) return proxy;
    const forwarded = headers?.get("x-forwarded-for") ?? "";
    for (let end = forwarded.length, left = MAX_ELEMENTS; end > 0 && left > 0; left--) {
      const comma = forwarded.lastIndexOf(",", end - 1);
      const address = addressIn(forwarded.slice(comma + 1, end));
      if (address !== undefined && !isTrusted(address)) return address;
      end = comma;
    }
    return proxy;
  };
}
