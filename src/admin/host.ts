/**
 * Which `Host` a request may name. A foreign page whose host name was made to
 * resolve to this machine ("DNS rebinding") has the same origin as the listener,
 * but it cannot choose the `Host` that the browser sends.
 */

import { isIPv4, isIPv6 } from "node:net";

/** Name or address of an authority; undefined where it has another shape. */
function hostOf(authority: string): string | undefined {
  return /^(\[[^\]]*\]|[^:@[\]]*)(?::\d{1,5})?$/.exec(authority)?.[1];
}

/**
 * Whether an authority is an IP address, `localhost`, or the name that was listened on.
 *
 * @param authority with or without a port
 * @param bound what `--admin` named
 */
export function isKnownHost(authority: string, bound: string): boolean {
  const host = hostOf(authority)?.toLowerCase();
  if (host === undefined || host === "") return false;
  if (host.startsWith("[")) return isIPv6(host.slice(1, -1));
  return isIPv4(host) || host === "localhost" || host === bound.toLowerCase();
}
