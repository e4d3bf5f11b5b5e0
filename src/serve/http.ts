/** The listening server: its limits, and a shutdown that loses nothing. */

import { createServer, type Server } from "node:http";
import { type AddressInfo, Server as NetServer } from "node:net";
import type { State } from "../answer.ts";
import { isBusy, linger } from "../edge/connections.ts";
import { attachNodeDoor, createNodeDoor, type NodeDoor } from "../edge/node.ts";

/** Limits of the HTTP server. Times are milliseconds. */
export interface HttpLimits {
  readonly headersTimeout: number;
  readonly requestTimeout: number;
  /** How often the two above are looked after. */
  readonly checkInterval: number;
  readonly keepAliveTimeout: number;
  /** Of a connection with a request under way. */
  readonly socketTimeout: number;
  readonly maxHeadBytes: number;
  readonly maxRequestsPerSocket: number;
}

/** A server and its door. */
export interface HttpServer {
  readonly server: Server;
  readonly door: NodeDoor;
}

/** Makes a server; it does not listen yet. */
export function createHttpServer(state: State, limits: HttpLimits): HttpServer {
  const server = createServer({
    headersTimeout: limits.headersTimeout,
    requestTimeout: limits.requestTimeout,
    connectionsCheckingInterval: limits.checkInterval,
    keepAliveTimeout: limits.keepAliveTimeout,
    maxHeaderSize: limits.maxHeadBytes,
    // The door checks it, to answer in its own words.
    requireHostHeader: false,
  });
  server.timeout = limits.socketTimeout;
  server.maxRequestsPerSocket = limits.maxRequestsPerSocket;
  // Node drops headers past this count without a word, Authorization too; the door counts them.
  server.maxHeadersCount = 0;
  const door = createNodeDoor(state);
  attachNodeDoor(server, door);
  return { server, door };
}

/**
 * Listens.
 *
 * @returns the address in use
 * @throws the error of the system, such as EADDRINUSE
 */
export function listen({ server }: HttpServer, host: string, port: number): Promise<AddressInfo> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen({ host, port }, () => {
      server.off("error", reject);
      resolve(server.address() as AddressInfo);
    });
  });
}

/** How long connections without a request are still served. */
const GRACE_MS = 1500;
/** When whatever is left is destroyed. */
const DEADLINE_MS = 8000;
const LOOK_MS = 50;

/**
 * Stops without losing a request: no new connections; what is in flight and
 * what arrives within the grace is answered and ends its connection; idle
 * connections are half-closed after it, so that a request that crosses the
 * close meets an end of file, not a reset.
 */
export async function drain({ server, door }: HttpServer): Promise<void> {
  // http.Server.close() would destroy idle connections at once, and race their clients.
  const closed = new Promise<void>((resolve) => {
    NetServer.prototype.close.call(server, () => resolve());
  });
  door.startDraining();
  const began = performance.now();
  const readAtStart = new Map([...door.connections.keys()].map((socket) => [socket, socket.bytesRead]));
  while (door.connections.size > 0 && performance.now() - began < DEADLINE_MS) {
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    if (performance.now() - began < GRACE_MS) continue;
    for (const connection of door.connections.values()) {
      const { socket } = connection;
      const arriving = socket.bytesRead !== (readAtStart.get(socket) ?? 0);
      if (connection.closing || isBusy(connection) || arriving) continue;
      connection.closing = true;
      linger(socket);
    }
  }
  for (const socket of door.connections.keys()) socket.destroy();
  await closed;
  server.closeAllConnections();
}
