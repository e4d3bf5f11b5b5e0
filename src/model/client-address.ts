/**
 * The client address of a request: the peer of its connection or, if the peer is a trusted proxy, the address that the
 * proxy names. For the log alone: a client without a proxy in front can name any address.
 */

import { BlockList, isIP } from "node:net";
import { type Ask, LOCAL_PEER, MAX_ELEMENTS } from "./message.ts";

/** Returns the address of a request's client; undefined without a connection. */
export type ClientOf = (ask: Pick<Ask, "peer" | "headers">) => string | undefined;

const LOOPBACK = ["127.0.0.0/8", "::1"];

/** Adds an address, a range, `unix` or `loopback` to a list. @returns whether the text was valid */
function add(list: BlockList, text: string): boolean {
  if (text === LOCAL_PEER) return true;
  if (text === "loopback") return LOOPBACK.every((range) => add(list, range));
  const [, address = "", bits] = /^([\da-f.:]+)(?:\/(\d{1,3}))?$/i.exec(text) ?? [];
  const version = isIP(address);
  const most = version === 4 ? 32 : 128;
  const length = bits === undefined ? most : Number(bits);
  if (version === 0 || length > most) return false;
  list.addSubnet(address, length, version === 4 ? "ipv4" : "ipv6");
  return true;
}

export function problemWithProxy(text: string): string | undefined {
  return add(new BlockList(), text)
    ? undefined
    : "must be an address, a range such as 10.0.0.0/8, unix or loopback";
}

/** An IPv6 address, in brackets with an optional port or bare; or an IPv4 address with an optional port. */
const ADDRESS = /^(?:(?:\[([\da-f.:]+(?:%[\w.-]+)?)\]|([\d.]+))(?::\d{1,5})?|([\da-f.:]+(?:%[\w.-]+)?))$/i;

/** The address in an entry of `X-Forwarded-For`, IPv4 in IPv6 as IPv4; undefined for other texts. */
function addressIn(entry: string): string | undefined {
  const [, bracketed, four, six] = ADDRESS.exec(entry) ?? [];
  const address = bracketed ?? four ?? six ?? "";
  return isIP(address) === 0 ? undefined : address.toLowerCase().replace(/^::ffff:(?=[\d.]+$)/, "");
}

/** Most characters of an entry that are read: an address with a zone and a port. */
const MAX_ENTRY = 80;
/** Most looked-up addresses that are remembered. */
const MAX_KNOWN = 4096;

interface Known {
  /** A copy: a slice of a head would keep the whole head in memory, here and wherever the address is kept. */
  readonly address: string;
  readonly isTrusted: boolean;
}

/** Reads client addresses through proxies. @param proxies the trusted ones, each without {@link problemWithProxy} */
export function readClients(proxies: readonly string[]): ClientOf {
  if (proxies.length === 0) return ({ peer }) => peer?.remoteAddress;
  const list = new BlockList();
  for (const proxy of proxies) add(list, proxy);
  const trustsLocal = proxies.some((proxy) => proxy === LOCAL_PEER || proxy === "loopback");
  const known = new Map<string, Known>();

  function lookUp(text: string): Known {
    const before = known.get(text);
    if (before !== undefined) return before;
    if (known.size >= MAX_KNOWN) known.clear();
    const address = Buffer.from(text).toString();
    // The zone of a link-local address does not count.
    const isTrusted =
      address === LOCAL_PEER
        ? trustsLocal
        : list.check(address.replace(/%.*/, ""), address.includes(":") ? "ipv6" : "ipv4");
    const one = { address, isTrusted };
    known.set(address, one);
    return one;
  }

  return ({ peer, headers }) => {
    const proxy = peer?.remoteAddress;
    if (proxy === undefined || !lookUp(proxy).isTrusted) return proxy;
    const forwarded = headers?.get("x-forwarded-for") ?? "";
    // The proxy that wrote the entry.
    let writer = proxy;
    let end = forwarded.length;
    for (let read = 0; read < MAX_ELEMENTS && end >= 0; read++) {
      const comma = forwarded.lastIndexOf(",", end - 1);
      const entry = forwarded.slice(comma + 1, end).trim();
      const found = entry.length > MAX_ENTRY ? undefined : addressIn(entry);
      // What is left of an entry that cannot be read may be the client's own text.
      if (found === undefined) return writer;
      const { address, isTrusted } = lookUp(found);
      if (!isTrusted) return address;
      writer = address;
      end = comma;
    }
    return proxy;
  };
}
