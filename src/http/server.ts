/** The HTTP server: listening, limits, one sweep for all timeouts, and a stop that loses no request. */

import { type AddressInfo, createServer, type ListenOptions, type Server, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { descriptorOf, socketPathOf } from "../model/socket-place.ts";
import type { Observe } from "../observe/events.ts";
import { collectGarbage } from "../util/process/collect.ts";
import { Connection } from "./connection.ts";
import type { ConnectionApp, ConnectionHost, ConnectionLimits } from "./connection-host.ts";
import { type Sharing, whileAlone } from "./port.ts";
import { startListening } from "./start-listening.ts";
import { Turns } from "./turns.ts";
import { listenAtDescriptor, listenAtPath, removeSocket } from "./unix.ts";
import { Unsent } from "./unsent.ts";
import { keepAliveLines } from "./write.ts";

export interface HttpLimits extends ConnectionLimits {
  /** Seconds between two checks of the timeouts; 1 when absent, and 2 over node:http. */
  readonly timeoutCheckInterval?: number;
  /** A connection beyond the limit is closed at once, or replaces another; no limit when absent. */
  readonly maxConnections?: number | undefined;
  /** Most unsent bytes of all connections together; 256 MiB when absent. */
  readonly maxUnsentBytes?: number;
  /** Whether a connection beyond the limit is accepted and the oldest idle one ends; false when absent. */
  readonly makesRoom?: boolean;
}

export interface Listener {
  /** Listens. @returns the address in use @throws the error of the system, such as EADDRINUSE */
  readonly listen: (host: string, port: number, sharing: Sharing) => Promise<AddressInfo>;
  /** Takes no new connections from now on. If several servers share a port, all stop listening before one leaves. */
  readonly stopListening: () => Promise<void>;
  /** Resolves when every request that arrived was answered and all connections have ended. */
  readonly leave: () => Promise<void>;
}

export interface HttpApp extends ConnectionApp {
  /** Receives errors of the listener while it listens, and refused connections. */
  readonly observe: Observe;
  /** Name of the listener in the log; "listener" when absent. */
  readonly where?: string;
}

/** Seconds between two checks of the timeouts, which are whole seconds: a shorter one would cost more than it gains. */
const SWEEP_SECONDS = 1;

/** Bytes discarded with their connections that trigger a garbage collection. */
const MAX_DISCARDED = 16_777_216;

/** Delay of that collection, in milliseconds: no client can make the server collect more often, which delays other requests. */
const COLLECT_DISCARDED_MS = 10_000;

/** A connection younger than this, in milliseconds, may have sent a request that was not read yet. */
const YOUNG_MS = 250;

/** Shortest interval between reports of refused connections, in milliseconds. */
const TELL_OF_REFUSED_MS = 10_000;

/** How long a stopping server still serves connections without a request, when none is busy and none has ended meanwhile. */
export const GRACE_MS = 500;
/** The longest grace: clients that are slow on a busy machine send their next request in it. */
const LONGEST_GRACE_MS = 1500;
/** Seconds that the peers of idle connections then have to close. With the grace, a stop takes less than one when all are idle. */
const IDLE_LINGER = 0.25;
/** Time in a stop at which unfinished searches are answered with 503. */
export const GIVE_UP_MS = 5000;
/** Time in a stop at which the remaining connections are destroyed. Then the last lines are written, all within 10 s. */
export const DEADLINE_MS = 6500;
/** Pause between two checks of a stop. */
export const CHECK_MS = 50;

/** How long connections that still arrive can delay the end. */
const QUEUE_MS = 1000;

/** The queue counts as empty if no connection arrives for this time. */
const QUIET_MS = 10;

/** Resolves when all connections and bytes that the system has now were read: in a turn, timers run before I/O. */
async function readArrived(): Promise<void> {
  // The first turn may have begun before.
  for (let turn = 0; turn < 2; turn++) await new Promise((resolve) => setImmediate(resolve));
}

/**
 * Accepts the connections that the system has accepted already. They wait in the listener's queue: each turn of the event
 * loop takes one, and closing the listener resets the rest, whole requests included.
 */
export async function emptyQueue(server: Server): Promise<void> {
  let accepted = 0;
  const count = (): void => {
    accepted++;
  };
  server.on("connection", count);
  const began = performance.now();
  for (let before = -1; before !== accepted && performance.now() - began < QUEUE_MS; ) {
    before = accepted;
    // Deno takes them in the background, so counting turns of the event loop is not enough.
    await sleep(QUIET_MS);
    await readArrived();
  }
  server.off("connection", count);
}

/** Makes a server listen at a host, at `unix:/PATH`, or at the inherited socket `fd:N`. @returns the address in use @throws the error of the system, such as EADDRINUSE */
export function bind(server: Server, host: string, port: number, sharing: Sharing): Promise<AddressInfo> {
  const path = socketPathOf(host);
  if (path !== undefined) return listenAtPath(server, path);
  const descriptor = descriptorOf(host);
  if (descriptor !== undefined) return listenAtDescriptor(server, descriptor);
  const listen = async (): Promise<AddressInfo> => {
    // Node takes `reusePort` from 22.12 on; the types of the oldest supported Node do not know it.
    const more = sharing === "alone" ? {} : { reusePort: true };
    await startListening(server, { host, port, ...more } as ListenOptions);
    return server.address() as AddressInfo;
  };
  return sharing === "threads" ? whileAlone(host, port, listen) : listen();
}

export class HttpServer implements ConnectionHost, Listener {
  readonly app: HttpApp;
  readonly limits: HttpLimits;
  readonly keepAlive: string;
  readonly turns = new Turns();
  readonly unsent: Unsent;
  clock = performance.now();
  isDraining = false;
  givesUpWork = false;
  isLocal = false;
  readonly connections = new Set<Connection>();
  readonly #server: Server;
  readonly #sweepMs: number;
  #sweeper: NodeJS.Timeout | undefined;
  #discarded = 0;
  #collectIsDue = false;
  #stopBegan: number | undefined;
  #toldOfRefused = Number.NEGATIVE_INFINITY;

  constructor(app: HttpApp, limits: HttpLimits) {
    this.app = app;
    this.limits = limits;
    this.unsent = new Unsent(limits.maxUnsentBytes);
    this.keepAlive = keepAliveLines(limits.keepAliveTimeout);
    this.#sweepMs = (limits.timeoutCheckInterval ?? SWEEP_SECONDS) * 1000;
    // A peer that half-closes sends no more requests, but still gets its answers.
    this.#server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => this.#accept(socket));
  }

  #accept(socket: Socket): void {
    this.turns.hurry();
    const { maxConnections = Number.POSITIVE_INFINITY, makesRoom } = this.limits;
    if (makesRoom) this.#makeRoom(maxConnections);
    else if (this.connections.size >= maxConnections) {
      this.#refuseConnection(socket, maxConnections);
      return;
    }
    const connection: Connection = new Connection(socket, this, (discarded) => {
      this.connections.delete(connection);
      this.#discard(discarded);
    });
    this.connections.add(connection);
  }

  /**
   * From half of the limit on, a new connection ends an older one: the oldest idle one, else the one with most requests.
   * Young ones are spared unless the limit is reached; then one with requests goes first, since the first request of
   * another may be on its way.
   */
  #makeRoom(limit: number): void {
    if (this.connections.size < limit / 2) return;
    const isFull = this.connections.size >= limit;
    const grown = performance.now() - YOUNG_MS;
    let [victim] = isFull ? this.connections : [];
    let most = 0;
    for (const connection of this.connections) {
      const isYoung = connection.acceptedAt > grown;
      if (isYoung && !isFull) break;
      if (!isYoung && connection.isIdle) {
        victim = connection;
        break;
      }
      if (connection.requests <= most) continue;
      victim = connection;
      most = connection.requests;
    }
    if (victim === undefined) return;
    // The socket emits `close` only after the next connection is accepted.
    this.connections.delete(victim);
    victim.socket.destroy();
  }

  /** Counted here, since Deno closes connections beyond `maxConnections` without a `drop` event. */
  #refuseConnection(socket: Socket, limit: number): void {
    socket.on("error", () => {});
    socket.destroy();
    const now = performance.now();
    if (now - this.#toldOfRefused < TELL_OF_REFUSED_MS) return;
    this.#toldOfRefused = now;
    this.app.observe({ kind: "connections-refused", limit });
  }

  #discard(discarded: number): void {
    this.#discarded += discarded;
    // Requests of a connection are discarded with it.
    if (this.#discarded < MAX_DISCARDED || this.#collectIsDue) return;
    this.#collectIsDue = true;
    const collect = (): void => {
      this.#collectIsDue = false;
      this.#discarded = 0;
      collectGarbage();
    };
    setTimeout(collect, COLLECT_DISCARDED_MS).unref();
  }

  #sweep(slack: number): void {
    this.clock = performance.now();
    for (const connection of this.connections) connection.sweep(this.clock, slack);
  }

  async listen(host: string, port: number, sharing: Sharing = "alone"): Promise<AddressInfo> {
    const address = await bind(this.#server, host, port, sharing);
    this.isLocal = address.family === "unix";
    this.#sweeper = setInterval(() => this.#sweep(this.#sweepMs), this.#sweepMs);
    this.#sweeper.unref();
    // From here on an error of the listener, such as EMFILE at accept, must not end the process.
    const { observe, where = "listener" } = this.app;
    this.#server.on("error", (error) => observe({ kind: "defect", where, error }));
    return address;
  }

  async stopListening(): Promise<void> {
    this.#stopBegan = performance.now();
    await emptyQueue(this.#server);
    this.#server.close();
    await removeSocket(this.#server);
  }

  /**
   * Leaves without losing a request: requests in flight, and requests that arrive within the grace period, are answered
   * and end their connections; then idle connections are half-closed, so that a request that crosses the close meets an
   * end of file, not a reset. Clients are told to leave only after all listeners stopped: earlier, they would reconnect at
   * once, into the queue of a listener that is about to close, and be reset there.
   */
  async leave(): Promise<void> {
    const began = performance.now();
    const since = this.#stopBegan ?? began;
    this.isDraining = true;
    clearInterval(this.#sweeper);
    let quietSince = began;
    for (let count = 0; this.connections.size > 0 && performance.now() - since < DEADLINE_MS; ) {
      await sleep(CHECK_MS);
      this.#sweep(CHECK_MS);
      const now = performance.now();
      this.givesUpWork = now - since > GIVE_UP_MS;
      const isBusy = [...this.connections].some((connection) => !connection.isIdle);
      if (isBusy || this.connections.size < count) quietSince = now;
      count = this.connections.size;
      if (now - quietSince < GRACE_MS && now - began < LONGEST_GRACE_MS) continue;
      await readArrived();
      for (const connection of this.connections) if (connection.isIdle) connection.finish(IDLE_LINGER);
    }
    for (const { socket } of this.connections) socket.destroy();
  }

  /** Stops at once, but waits up to `graceMs` for unfinished answers. */
  async close(graceMs: number): Promise<void> {
    this.#server.close();
    await removeSocket(this.#server);
    clearInterval(this.#sweeper);
    this.isDraining = true;
    const began = performance.now();
    const isBusy = ({ state }: Connection): boolean => state === "busy" || state === "closing";
    while ([...this.connections].some(isBusy) && performance.now() - began < graceMs) await sleep(10);
    for (const { socket } of this.connections) socket.destroy();
  }
}
