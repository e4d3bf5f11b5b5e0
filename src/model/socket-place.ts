/** Hosts that are no names: the path of a Unix socket, and an inherited socket. */

import type { AddressInfo } from "node:net";

/** The path in a host of the form `unix:/PATH`; undefined for other hosts. */
export function socketPathOf(host: string): string | undefined {
  return host.startsWith("unix:") ? host.slice("unix:".length) : undefined;
}

/** The descriptor in a host of the form `fd:N`, which stands for an inherited socket; undefined for other hosts. */
export function descriptorOf(host: string): number | undefined {
  return /^fd:\d+$/.test(host) ? Number(host.slice("fd:".length)) : undefined;
}

/** Whether a host is one of these two. */
export function isSocketPlace(host: string): boolean {
  return /^(?:unix|fd):/.test(host);
}

/** Where a listener listens, for messages. */
export function placeText(host: string, port: number): string {
  return isSocketPlace(host) ? host : `${host} port ${port}`;
}

/** The origin of a listener's URLs; `unix:/PATH` for a Unix socket. */
export function originOf({ address, family, port }: AddressInfo): string {
  if (family === "unix") return address;
  return `http://${family === "IPv6" ? `[${address}]` : address}:${port}`;
}

/** Most bytes of a path: a system takes 107, less on some, and the socket is made under a longer name. */
const MOST_PATH_BYTES = 90;

/** @returns what is wrong with a host of the form `unix:/PATH`; undefined for other hosts and when nothing is */
export function problemWithSocketPath(host: string): string | undefined {
  const path = socketPathOf(host);
  if (path === undefined) return undefined;
  if (!path.startsWith("/") || path.endsWith("/") || path.includes("\0"))
    return "must be unix: and the path of a socket, which begins with /";
  return Buffer.byteLength(path) > MOST_PATH_BYTES
    ? `must be a path of at most ${MOST_PATH_BYTES} bytes: systems take no longer ones for sockets`
    : undefined;
}
