/** The listening server: its limits, and a shutdown that loses nothing. */

import { createServer, type Server } from "node:http";
import { type AddressInfo, type ListenOptions, Server as NetServer, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { State } from "../../answer.ts";
import { attachNodeAdapter } from "../../edge/attach.ts";
import { connectionOf, endIfIdle } from "../../edge/connection.ts";
import { discardedBytes } from "../../edge/flow.ts";
import { LeanRequest } from "../../edge/lean-request.ts";
import { createNodeAdapter, type NodeAdapter } from "../../edge/node.ts";
import { IS_NODE, respondAs } from "../../edge/respond.ts";
import type { Observe } from "../../observe.ts";
import { DEFAULTS, type Values } from "../../settings.ts";
import { collectGarbage } from "../process/collect.ts";
import { type Sharing, whileAlone } from "./port.ts";

/** Limits of the HTTP server. Times are milliseconds. */
export interface HttpLimits {
  readonly headersTimeout: number;
  readonly requestTimeout: number;
  /** How often the two above are checked. */
  readonly checkInterval: number;
  readonly keepAliveTimeout: number;
  /** Of a connection with a request under way. */
  readonly socketTimeout: number;
  readonly maxHeadBytes: number;
  readonly maxRequestsPerSocket: number;
  /** Whoever connects beyond it is sent away at once; no limit when absent. */
  readonly maxConnections?: number | undefined;
}

/** The limits by their settings, whose times are seconds. */
export function limitsFrom(settings: Values<"demo">): HttpLimits {
  const milliseconds = (seconds: number): number => Math.round(seconds * 1000);
  const { headersTimeout, requestTimeout, maxHeadBytes, maxRequestsPerSocket } = settings;
  return {
    // Node takes no longer one than that of the whole request.
    headersTimeout: milliseconds(Math.min(headersTimeout, requestTimeout)),
    requestTimeout: milliseconds(requestTimeout),
    checkInterval: milliseconds(settings.timeoutCheckInterval),
    keepAliveTimeout: milliseconds(settings.keepAliveTimeout),
    socketTimeout: milliseconds(settings.socketTimeout),
    maxHeadBytes,
    maxRequestsPerSocket,
  };
}

/** The limits of a server that is told nothing else. */
export const DEFAULT_LIMITS: HttpLimits = limitsFrom(DEFAULTS);

/** A server of one thread, whatever the runtime. */
export interface Listener {
  /**
   * Listens.
   *
   * @returns the address in use
   * @throws the error of the system, such as EADDRINUSE
   */
  readonly listen: (host: string, port: number, sharing: Sharing) => Promise<AddressInfo>;
  /** No new connections from now on, where that can be without a loss. Of several that share a port all do before one leaves. */
  readonly stopListening: () => Promise<void>;
  /** Resolves when what is in flight was answered and all connections have ended. */
  readonly leave: () => Promise<void>;
}

/** A server and its adapter. */
export interface HttpServer {
  readonly server: Server;
  readonly adapter: NodeAdapter;
  /** Resolves when it listens no more and has no connection left. */
  readonly closed: Promise<void>;
}

/** Makes a server; it does not listen yet. */
export function createHttpServer(state: State, limits: HttpLimits): HttpServer {
  const server = createServer({
    headersTimeout: limits.headersTimeout,
    requestTimeout: limits.requestTimeout,
    connectionsCheckingInterval: limits.checkInterval,
    keepAliveTimeout: limits.keepAliveTimeout,
    maxHeaderSize: limits.maxHeadBytes,
    // The adapter checks it, to answer in its own words.
    requireHostHeader: false,
    ...(IS_NODE ? { IncomingMessage: LeanRequest } : {}),
  });
  server.timeout = limits.socketTimeout;
  if (limits.maxConnections !== undefined) limitConnections(server, limits.maxConnections, state.observe);
  // Node drops headers past this count without a word, Authorization too; the adapter counts them.
  server.maxHeadersCount = 0;
  // Node would answer requests past this limit with a 503 of its own and keep the connection; the adapter ends it.
  const adapter = createNodeAdapter(state, limits.maxRequestsPerSocket, respondAs(limits.keepAliveTimeout));
  attachNodeAdapter(server, adapter);
  releaseDiscarded(server, adapter);
  const closed = new Promise<void>((resolve) => server.once("close", resolve));
  return { server, adapter, closed };
}

/** So much was discarded with its connections when garbage is collected for it, in bytes. */
const MAX_DISCARDED = 16_777_216;

/** So long after that, in milliseconds: nobody may make the server collect more often, which takes turns from others. */
const COLLECT_DISCARDED_MS = 10_000;

/**
 * Gives memory back behind peers that did not read. What was made for them is
 * garbage that has lived long; a server without much else to do would keep it
 * until its next reload.
 */
function releaseDiscarded(server: Server, { connections }: NodeAdapter): void {
  let discarded = 0;
  let isDue = false;
  const release = (): void => {
    isDue = false;
    discarded = 0;
    collectGarbage();
  };
  server.on("connection", (socket: Socket) => {
    const connection = connectionOf(connections, socket);
    socket.once("close", () => {
      discarded += discardedBytes(connection);
      // Those that came with it go with it.
      if (discarded < MAX_DISCARDED || isDue) return;
      isDue = true;
      setTimeout(release, COLLECT_DISCARDED_MS).unref();
    });
  });
}

/** The log is told of connections that are refused, once in so many milliseconds. */
const TELL_OF_REFUSED_MS = 10_000;

function limitConnections(server: Server, limit: number, observe: Observe): void {
  server.maxConnections = limit;
  let wasTold = false;
  server.on("drop", () => {
    if (wasTold) return;
    wasTold = true;
    observe({ kind: "connections-refused", limit });
    setTimeout(() => {
      wasTold = false;
    }, TELL_OF_REFUSED_MS).unref();
  });
}

/**
 * Listens.
 *
 * @returns the address in use
 * @throws the error of the system, such as EADDRINUSE
 */
export function listen(
  { server }: HttpServer,
  host: string,
  port: number,
  sharing: Sharing = "alone",
): Promise<AddressInfo> {
  const bind = (): Promise<AddressInfo> =>
    new Promise((resolve, reject) => {
      server.once("error", reject);
      // Node takes `reusePort` from 22.12 on; the types of the oldest Node that is supported do not know it.
      const more = sharing === "alone" ? {} : { reusePort: true };
      server.listen({ host, port, ...more } as ListenOptions, () => {
        server.off("error", reject);
        resolve(server.address() as AddressInfo);
      });
    });
  return sharing === "threads" ? whileAlone(host, port, bind) : bind();
}

/** How long connections without a request are still served. */
export const GRACE_MS = 1500;
/** When searches that are not done yet are answered with a 503. */
export const GIVE_UP_MS = 5000;
/** When whatever is left is destroyed. Behind it counts are saved and the last lines written, all within ten seconds. */
export const DEADLINE_MS = 6500;
const LOOK_MS = 50;

/** How long connections that still arrive may put off the end. */
const QUEUE_MS = 1000;

/**
 * Resolves when everything that the system has received by now was taken: connections, and what came over them.
 * Timers come before it in a turn of the event loop, however long ago it arrived while the thread was busy.
 */
async function readArrived(): Promise<void> {
  // The first turn may have begun before.
  for (let turn = 0; turn < 2; turn++) await new Promise((resolve) => setImmediate(resolve));
}

/**
 * Accepts what the system has accepted already. Such connections wait in the
 * listener's queue, one is taken a turn of the event loop, and closing the
 * listener resets the rest, whole requests included.
 */
async function emptyQueue(server: Server): Promise<void> {
  let accepted = 0;
  const count = (): void => {
    accepted++;
  };
  server.on("connection", count);
  const began = performance.now();
  for (let before = -1; before !== accepted && performance.now() - began < QUEUE_MS; ) {
    before = accepted;
    await readArrived();
  }
  server.off("connection", count);
}

/**
 * Stops listening: no new connections, and those that stand notice nothing.
 * Where several servers share a port, all stop listening before one leaves.
 */
export async function stopListening({ server }: HttpServer): Promise<void> {
  await emptyQueue(server);
  // http.Server.close() would destroy idle connections at once, and race their clients.
  NetServer.prototype.close.call(server);
}

/**
 * Leaves without losing a request: what is in flight and what arrives within
 * the grace is answered and ends its connection; idle connections are
 * half-closed after it, so that a request that crosses the close meets an end
 * of file, not a reset. Only once nobody listens are clients told to leave: told
 * before, they would come straight back, into the queue of a listener that is
 * about to close, and be reset there.
 *
 * @param since when the stop began, by `performance.now()`
 */
export async function leave(
  { server, adapter, closed }: HttpServer,
  since: number = performance.now(),
): Promise<void> {
  adapter.startDraining();
  const began = performance.now();
  const { bySocket } = adapter.connections;
  const readAtStart = new Map([...bySocket.keys()].map((socket) => [socket, socket.bytesRead]));
  while (bySocket.size > 0 && performance.now() - since < DEADLINE_MS) {
    await sleep(LOOK_MS);
    if (performance.now() - since > GIVE_UP_MS) adapter.giveUpWork();
    if (performance.now() - began < GRACE_MS) continue;
    await readArrived();
    for (const [socket, connection] of bySocket) {
      const isArriving = socket.bytesRead !== (readAtStart.get(socket) ?? 0);
      if (!isArriving) endIfIdle(connection);
    }
  }
  for (const socket of bySocket.keys()) socket.destroy();
  server.closeAllConnections();
  await closed;
}
