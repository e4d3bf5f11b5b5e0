/**
 * The life of an HTTP connection: the one place that says in which state it is,
 * so that each request gets exactly one answer, an answer that ends a connection
 * arrives, and a shutdown loses nothing.
 *
 *     connectionOf
 *          │      take             drain
 *          ▼  ┌──────────▶ busy ───────────┐
 *         open│◀──────────             sent│
 *          │  drain ─────────▶ draining ◀──┘
 *          │                      │
 *          └───────────┬──────────┘      (busy, too)
 *         endBehind: the last response is decided,
 *         end: a refusal, or silence after the grace
 *                      ▼
 *                   closing      nothing more is taken; what comes in is dropped unparsed
 *                      │ linger: the last byte was written (node may do so in any state above)
 *                      ▼
 *                  lingering     half-closed; the peer gets a moment to read and to close
 *                      │ the peer closes, or the moment is over
 *                      ▼
 *                    gone        from any state, when the socket is destroyed
 *
 * `busy` is not stored, node:http knows it: some response is not sent. A
 * connection that drains serves like an open one, idle or busy; the answer to
 * the newest request of all that were read is its last.
 */

import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { type ParserPause, stopParsing } from "./parser.ts";

/** Where a connection is in its life. */
export type LifeState = "open" | "busy" | "draining" | "closing" | "lingering" | "gone";

/** One connection. */
export interface Connection {
  readonly socket: Socket;
  /** Ask {@link stateOf}; set here alone. */
  state: Exclude<LifeState, "busy">;
  /** Requests taken from it. */
  requests: number;
  /** The newest response begun; when it is finished, all before it are. */
  newest: ServerResponse | undefined;
  /** The response that says that it ends the connection. */
  last: ServerResponse | undefined;
  /** Responses begun since it was last without any under way, and the bytes of their bodies so far. */
  begun: number;
  unsent: number;
  /** Whether its newest request was refused. */
  wasRefused: boolean;
  /** What came in while too much was under way. */
  readonly waiting: (() => void)[];
  /** Holds what was read behind that; undefined where the parser is not ours to pause. */
  pause: ParserPause | undefined;
  /** Whether nobody reads its answers any more; made with its first request. */
  isGone: (() => boolean) | undefined;
}

/** The connections of a server. */
export interface Connections {
  readonly bySocket: Map<Socket, Connection>;
  /** Whether the server stops. */
  isDraining: boolean;
}

/** None yet. */
export function createConnections(): Connections {
  return { bySocket: new Map(), isDraining: false };
}

/** How long a peer gets to take its last answer before the connection is destroyed. */
export const LINGER_MS = 2000;

/** The record of a socket; made at first sight. */
export function connectionOf(connections: Connections, socket: Socket): Connection {
  const known = connections.bySocket.get(socket);
  if (known !== undefined) return known;
  const connection: Connection = {
    socket,
    state: connections.isDraining ? "draining" : "open",
    requests: 0,
    newest: undefined,
    last: undefined,
    begun: 0,
    unsent: 0,
    wasRefused: false,
    waiting: [],
    pause: undefined,
    isGone: undefined,
  };
  connections.bySocket.set(socket, connection);
  socket.once("close", () => {
    connection.state = "gone";
    connections.bySocket.delete(socket);
  });
  // What node:http does behind the last response of a connection; by itself it would destroy the socket.
  socket.destroySoon = () => linger(connection);
  return connection;
}

/** Where it is. */
export function stateOf(connection: Connection): LifeState {
  return connection.state === "open" && isBusy(connection) ? "busy" : connection.state;
}

/** Whether a response is still on its way out. */
export function isBusy({ newest }: Connection): boolean {
  return newest !== undefined && !newest.writableFinished && !newest.destroyed;
}

/** Whether nothing that came in waits to be taken. */
export function isDrained({ waiting, pause }: Connection): boolean {
  return waiting.length === 0 && pause?.holds() !== true;
}

/** Whether requests are taken from it: it is open, busy or draining. */
export function isServing({ state }: Connection): boolean {
  return state === "open" || state === "draining";
}

/**
 * Begins a response.
 *
 * @returns false when it is too late: bytes behind the last answer of a connection are no request any more
 */
export function take(connection: Connection, response: ServerResponse): boolean {
  if (!isServing(connection)) return false;
  connection.newest = response;
  connection.requests++;
  connection.begun++;
  return true;
}

/** The server stops: all that serve drain, and whoever still comes. */
export function drain(connections: Connections): void {
  connections.isDraining = true;
  for (const connection of connections.bySocket.values()) {
    if (connection.state === "open") connection.state = "draining";
  }
}

/** Decides that the connection ends: what comes behind is dropped unparsed. False when that was decided before. */
export function end(connection: Connection): boolean {
  if (!isServing(connection)) return false;
  connection.state = "closing";
  stopParsing(connection.socket);
  return true;
}

/** Decides that it ends behind a response, which says so. */
export function endBehind(connection: Connection, response: ServerResponse): void {
  connection.last = response;
  end(connection);
}

/**
 * To be called before a response is sent: of a connection that drains it may be the last.
 * Those that have others behind them are not.
 */
export function endIfDrained(connection: Connection, response: ServerResponse): void {
  if (connection.state !== "draining") return;
  if (connection.newest === response && isDrained(connection)) endBehind(connection, response);
}

/** Ends a connection on which nothing is under way, if it is one. */
export function endIfIdle(connection: Connection): void {
  if (!isBusy(connection) && isDrained(connection) && end(connection)) linger(connection);
}

/**
 * Ends a connection so that what was sent arrives: half-closes, drops what
 * still comes in, and waits a little for the peer. Destroying a socket with
 * unread bytes resets it, and a reset can overtake the answer.
 */
export function linger(connection: Connection): void {
  const { socket, state } = connection;
  if (state === "lingering" || state === "gone") return;
  connection.state = "lingering";
  socket.end();
  socket.resume();
  const timer = setTimeout(() => socket.destroy(), LINGER_MS);
  timer.unref();
  socket.once("close", () => clearTimeout(timer));
}
