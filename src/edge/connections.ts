/**
 * What the HTTP door remembers of its connections, so that each request gets
 * exactly one answer, an answer that ends a connection arrives, and a shutdown
 * loses nothing.
 */

import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { type ParserPause, pauseParsing, stopParsing } from "./parser.ts";
import { isTurnLong } from "./turn.ts";

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
  /** Whether its newest request was refused. */
  wasRefused: boolean;
  /** What came in while too much was under way. */
  readonly waiting: (() => void)[];
  /** Holds what was read behind that; undefined where the parser is not ours to pause. */
  pause: ParserPause | undefined;
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

/**
 * Most requests that wait on one connection. Where the parser pauses there is
 * one, elsewhere what a read of 64 KiB brings; Deno goes on reading all the same.
 */
const MAX_WAITING = 4096;

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
    wasRefused: false,
    waiting: [],
    pause: undefined,
    isGone: undefined,
    closing: false,
  };
  connections.set(socket, connection);
  socket.once("close", () => connections.delete(socket));
  // What node:http does behind the last response of a connection; by itself it would destroy the socket.
  socket.destroySoon = () => linger(socket);
  return connection;
}

/**
 * From now on the connection's parser pauses behind a request that has to wait:
 * of all that a peer sends without reading, one request and the rest of one
 * read are kept. Without it each request of the read waits.
 *
 * @param maxHeadBytes largest head that the parser takes
 * @param onFailure called for a bad head of which the parser itself does not tell
 */
export function pauseWhenFull(
  connection: Connection,
  maxHeadBytes: number,
  onFailure: (isTooLarge: boolean) => void,
): void {
  connection.pause ??= pauseParsing(connection.socket, maxHeadBytes, {
    mustPause: () => connection.waiting.length > 0,
    onUpgrade: () => queue(connection, () => {}),
    onFailure,
  });
}

/** Decides that the connection ends: what comes behind is dropped unparsed. */
export function close(connection: Connection): void {
  connection.closing = true;
  stopParsing(connection.socket);
}

/**
 * Whether the next request leaves the rest of this turn of the event loop to
 * other connections: it came in one read behind one that was refused, and such
 * have taken long enough. Else a flood of what nobody may ask, sent at once over
 * many connections, would be refused as a whole before anybody else is heard.
 */
export function mustStepBack({ wasRefused, pause }: Connection): boolean {
  return wasRefused && pause?.isPipelined() === true && isTurnLong();
}

/** Whether more requests may follow in bytes that were read before. */
export function isCatchingUp({ pause }: Connection): boolean {
  return pause?.isGoingOn() === true;
}

/** Whether nothing that came in waits to be taken. */
export function isDrained({ waiting, pause }: Connection): boolean {
  return waiting.length === 0 && pause?.holds() !== true;
}

/** Whether a response is still on its way out. */
export function isBusy({ newest }: Connection): boolean {
  return newest !== undefined && !newest.writableFinished && !newest.destroyed;
}

/** Most that one read brings, in bytes. */
const READ_BYTES = 65_536;

/** About how many bytes a connection that is closed held of what was never sent, and of requests that were never answered. */
export function discardedBytes(connection: Connection): number {
  const { newest, unsent } = connection;
  const wasSent = newest === undefined || newest.writableFinished;
  return (wasSent ? 0 : unsent) + (isDrained(connection) ? 0 : READ_BYTES);
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

/** Keeps a task until what is under way is sent; meanwhile nothing more is read. */
export function queue(connection: Connection, task: () => void): void {
  hold(connection, task, proceedLater);
}

/** Keeps a task until the next turn of the event loop; meanwhile nothing more is read. */
export function stepBack(connection: Connection, task: () => void): void {
  hold(connection, task, proceedNextTurn);
}

type Proceed = (connection: Connection, release: () => void) => void;

function hold(connection: Connection, task: () => void, proceed: Proceed): void {
  const { waiting, socket } = connection;
  if (waiting.length === MAX_WAITING) socket.destroy();
  else waiting.push(task);
  if (waiting.length > 1) return;
  socket.pause();
  // node:http resumes a socket behind each request and response.
  const keepPaused = (): void => {
    // Paused since it was told to resume, a socket would not say so again, and node:http would read on.
    if (socket.isPaused()) socket.emit("pause");
    else socket.pause();
  };
  socket.on("resume", keepPaused);
  proceed(connection, () => {
    socket.off("resume", keepPaused);
    // What was held back may have filled it again.
    if (waiting.length === 0) socket.resume();
  });
}

function proceedLater(connection: Connection, release: () => void): void {
  if (isBusy(connection)) connection.newest!.once("close", () => proceed(connection, release));
  else proceedNextTurn(connection, release);
}

function proceedNextTurn(connection: Connection, release: () => void): void {
  setImmediate(() => proceed(connection, release));
}

function proceed(connection: Connection, release: () => void): void {
  const { waiting, socket } = connection;
  // Closed with its connection: nobody is left to answer.
  if (socket.destroyed) waiting.length = 0;
  while (waiting.length > 0 && !isFull(connection)) waiting.shift()!();
  if (waiting.length > 0) proceedLater(connection, release);
  else parseRest(connection, release);
}

/** Goes on with what was read already, and only then with reading. */
function parseRest({ pause, socket }: Connection, release: () => void): void {
  if (pause === undefined || !pause.holds()) {
    release();
    return;
  }
  const goOn = (): void => {
    pause.goOn();
    release();
  };
  // A response can close while the parser is still at work on the read that brought its request.
  setImmediate(() => {
    // Until then node:http has paused the parser, too.
    if (socket.writableNeedDrain) socket.once("drain", () => setImmediate(goOn));
    else goOn();
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
