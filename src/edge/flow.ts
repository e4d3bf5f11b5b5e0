/** How much of what a connection sends is taken at a time: what waits, and when reading and parsing go on. */

import { type Connection, isBusy, isDrained } from "./connection.ts";
import { pauseParsing } from "./parser.ts";

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

/** Longer than this, in milliseconds, is long for a turn of the event loop. */
const LONG_MS = 2;

/** When the current turn was first asked for. */
let began: number | undefined;

/** Whether it is longer than that since this was first asked in the current turn of the event loop. */
function isTurnLong(): boolean {
  const now = performance.now();
  if (began === undefined) {
    began = now;
    setImmediate(() => {
      began = undefined;
    });
  }
  return now - began > LONG_MS;
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
