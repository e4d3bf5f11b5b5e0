/** Where the admin listener listens, `[HOST:]PORT`, and which `Host` a request may name. */

import { isIPv4, isIPv6 } from "node:net";

/** A place to listen. */
export interface AdminAddress {
  /** A name, or an IP address without brackets. */
  readonly host: string;
  /** 0 picks a free one. */
  readonly port: number;
  /** Whether any free port will do when this one is in use. */
  readonly orAnyPort?: true;
}

const DEFAULT_HOST = "127.0.0.1";
const NAME = /^[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?$/i;

/** Reads an address; undefined when it is none. */
export function parseAdminAddress(text: string): AdminAddress | undefined {
  const [, host, digits] = /^(?:(.*):)?(\d{1,5})$/.exec(text) ?? [];
  const port = Number(digits);
  if (digits === undefined || port > 65_535) return undefined;
  if (host === undefined) return { host: DEFAULT_HOST, port };
  const [, inBrackets] = /^\[(.*)\]$/.exec(host) ?? [];
  if (inBrackets !== undefined) return isIPv6(inBrackets) ? { host: inBrackets, port } : undefined;
  // Some resolvers take any digits and dots for an address, also where they are none.
  const isName = NAME.test(host) && !/^[\d.]+$/.test(host);
  return isIPv4(host) || isName ? { host, port } : undefined;
}

/** Whether nobody but this machine can reach a listener there. */
export function isLoopback(host: string): boolean {
  if (host.toLowerCase() === "localhost") return true;
  if (isIPv4(host)) return host.startsWith("127.");
  return isIPv6(host) && /^(::1|0*(:0*){6}:0*1|::ffff:127\.[\d.]+)$/i.test(host);
}

/**
 * Whether an authority is an IP address, `localhost`, or the name that was listened on.
 *
 * A foreign page whose host name was made to resolve to this machine ("DNS rebinding") has the same origin as the
 * listener, but it cannot choose the `Host` that the browser sends.
 *
 * @param authority with or without a port
 * @param bound the host of `--admin`
 */
export function isKnownHost(authority: string, bound: string): boolean {
  const [, host = ""] = /^(\[[^\]]*\]|[^:@[\]]*)(?::\d{1,5})?$/.exec(authority.toLowerCase()) ?? [];
  if (host.startsWith("[")) return isIPv6(host.slice(1, -1));
  return host !== "" && (isIPv4(host) || host === "localhost" || host === bound.toLowerCase());
}
