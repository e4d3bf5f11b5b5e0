/**
 * What the HTTP door remembers of its connections, so that each request gets
 * exactly one answer, an answer that ends a connection arrives, and a shutdown
 * loses nothing.
 */

import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** One connection. */
export interface Connection {
  readonly socket: Socket;
  /** Requests taken from it. */
  requests: number;
  /** The newest response begun; when it is finished, all before it are. */
  newest: ServerResponse | undefined;
  /** The response that says that it ends the connection. */
  last: ServerResponse | undefined;
  /** Responses begun since it was last without any under way, and the bytes of their bodies so far. */
  begun: number;
  unsent: number;
  /** What came in while too much was under way. */
  readonly waiting: (() => void)[];
  /** Whether nobody reads its answers any more; made with its first request. */
  isGone: (() => boolean) | undefined;
  /** What ends this connection is decided: a last response, a refusal, or silence. Nothing more is taken from it. */
  closing: boolean;
}

/** All open connections. */
export type Connections = Map<Socket, Connection>;

/**
 * How much may be under way on one connection before its next request waits.
 * One read can bring a thousand requests; answered all at once for a peer that
 * takes nothing, their pages would fill the memory.
 */
const MAX_BEGUN = 32;
const MAX_UNSENT_BYTES = 262_144;

/** How long a peer gets to take its last answer before the connection is destroyed. */
const LINGER_MS = 2000;

/** The record of a socket; made at first sight. */
export function connectionOf(connections: Connections, socket: Socket): Connection {
  const known = connections.get(socket);
  if (known !== undefined) return known;
  const connection: Connection = {
    socket,
    requests: 0,
    newest: undefined,
    last: undefined,
    begun: 0,
    unsent: 0,
    waiting: [],
    isGone: undefined,
    closing: false,
  };
  connections.set(socket, connection);
  socket.once("close", () => connections.delete(socket));
  // What node:http does behind the last response of a connection; by itself it would destroy the socket.
  socket.destroySoon = () => linger(socket);
  return connection;
}

/** Whether a response is still on its way out. */
export function isBusy({ newest }: Connection): boolean {
  return newest !== undefined && !newest.writableFinished && !newest.destroyed;
}

function isFull(connection: Connection): boolean {
  if (connection.begun < MAX_BEGUN && connection.unsent < MAX_UNSENT_BYTES) return false;
  if (isBusy(connection)) return true;
  connection.begun = 0;
  connection.unsent = 0;
  return false;
}

/** Whether a request can be taken at once. */
export function isFree(connection: Connection): boolean {
  return connection.waiting.length === 0 && !isFull(connection);
}

/** Runs a task, or keeps it until what is under way is sent; meanwhile nothing more is read. */
export function inTurn(connection: Connection, task: () => void): void {
  const { waiting, socket } = connection;
  if (isFree(connection)) {
    task();
    return;
  }
  waiting.push(task);
  if (waiting.length > 1) return;
  const hold = (): void => {
    socket.pause();
  };
  hold();
  // node:http resumes a socket behind each response.
  socket.on("resume", hold);
  proceedLater(connection, () => {
    socket.off("resume", hold);
    socket.resume();
  });
}

function proceedLater(connection: Connection, release: () => void): void {
  const { waiting, socket } = connection;
  connection.newest!.once("close", () => {
    // Closed with its connection: nobody is left to answer.
    if (socket.destroyed) waiting.length = 0;
    while (waiting.length > 0 && !isFull(connection)) waiting.shift()!();
    if (waiting.length > 0) proceedLater(connection, release);
    else release();
  });
}

/**
 * Ends a connection so that what was sent arrives: half-closes, drops what
 * still comes in, and waits a little for the peer. Destroying a socket with
 * unread bytes resets it, and a reset can overtake the answer.
 */
export function linger(socket: Socket): void {
  socket.end();
  socket.resume();
  const timer = setTimeout(() => socket.destroy(), LINGER_MS);
  timer.unref();
  socket.once("close", () => clearTimeout(timer));
}
