/** A port that several servers listen on, and a check that no other process listens there. */

import cluster from "node:cluster";
import { lookup } from "node:dns/promises";
import { type AddressInfo, createServer, type ListenOptions } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { isNodeBefore } from "../install/runtime.mjs";
import { descriptorOf, socketPathOf } from "../model/socket-place.ts";
import { codeOf } from "../util/system-error.ts";
import { startListening } from "./start-listening.ts";
import { checkSocketPath, inheritedPath } from "./unix.ts";

/** Other listeners allowed on the same port: none, only threads of this process, or every process that shares it. */
export type Sharing = "alone" | "threads" | "anybody";

/** Why this runtime cannot share a port between servers; undefined if it can. */
export function whyNoSharing(
  { node }: { readonly node: string } = process.versions,
  platform: string = process.platform,
): string | undefined {
  if (isNodeBefore({ node }, "22.12")) {
    return `requires Node 22.12 or newer, whose servers can share a port; this is ${node}`;
  }
  if (!["linux", "freebsd", "sunos", "aix", "android"].includes(platform)) {
    return `requires a system on which servers can share a port; ${platform} is none`;
  }
  return undefined;
}

/** Listens, and closes all connections. @returns a function that ends it */
async function hold(options: ListenOptions): Promise<() => Promise<void>> {
  const server = createServer((socket) => socket.destroy());
  await startListening(server, { ...options, exclusive: true });
  return () => new Promise((closed) => server.close(() => closed()));
}

const LOCK_RETRY_MS = 10;
const LOCK_PATIENCE_MS = 2000;

/** Lets one process at a time try a port, on Linux: an abstract socket ends with its process. */
async function lockPort(port: number): Promise<(() => Promise<void>) | undefined> {
  if (process.platform !== "linux") return undefined;
  const end = performance.now() + LOCK_PATIENCE_MS;
  for (;;) {
    try {
      return await hold({ path: `\0orrery-port-${port}` });
    } catch (error) {
      if (codeOf(error) !== "EADDRINUSE" || performance.now() > end) return undefined;
      await sleep(LOCK_RETRY_MS);
    }
  }
}

/**
 * Starts to share a port that no other process listens on. The system admits every process that shares the port, even a
 * second orrery, which would take half of the connections; so this first tries the port without sharing.
 *
 * @param share listens on the port; other orrery processes wait until it does
 * @throws EADDRINUSE if another process listens there
 */
export async function whileAlone(
  host: string,
  port: number,
  share: () => Promise<AddressInfo>,
): Promise<AddressInfo> {
  // The system never picks a shared port.
  if (port === 0) return await share();
  const unlock = await lockPort(port);
  try {
    const release = await hold({ host, port });
    await release();
    return await share();
  } finally {
    await unlock?.();
  }
}

/** Listens for a moment, to detect a port in use before a long load. @throws the error of the system, such as EADDRINUSE */
export async function tryPort(host: string, port: number, sharing: Sharing): Promise<void> {
  const path = socketPathOf(host);
  if (path !== undefined) return await checkSocketPath(path);
  const descriptor = descriptorOf(host);
  if (descriptor !== undefined) return void inheritedPath(descriptor);
  // Bun's servers do not report an unknown host.
  if (process.versions.bun !== undefined) await lookup(host);
  // Workers of node:cluster listen at a socket of their primary, which has the port.
  if (port === 0 || cluster.isWorker) return;
  const reusePort = sharing === "anybody";
  // The types of the oldest supported Node do not know `reusePort`.
  const release = await hold({ host, port, ...(reusePort ? { reusePort } : {}) } as ListenOptions);
  await release();
}
