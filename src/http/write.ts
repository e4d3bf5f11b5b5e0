/**
 * Writes replies to a socket: head and body in one write, as text or as bytes, whichever costs less.
 *
 * A page is copied once, into one buffer that all connections use in turn. Views of the packed rows in one `writev` would
 * cost more below 10 kB, and a slow reader would keep the generation in memory.
 */

import { STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import { areCheaperAsText, bodyText, copyBody, type Parts } from "../model/body.ts";
import type { Reply } from "../model/message.ts";
import type { Turns } from "./turns.ts";

let second = 0;
let date = "";

/** The Date header's value, made at most once a second. */
function dateNow(): string {
  const now = Math.floor(Date.now() / 1000);
  if (now !== second) {
    second = now;
    date = new Date(now * 1000).toUTCString();
  }
  return date;
}

const CLOSE = "Connection: close\r\n";

/** A whole response that ends its connection, as one-byte text. */
export function responseText(reply: Reply): string {
  return headText(reply, CLOSE) + bodyText(reply.body);
}

function headText({ status, headers }: Reply, connection: string): string {
  return `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}\r\n${headers}Date: ${dateNow()}\r\n${connection}\r\n`;
}

/** Header lines of a connection that stays open. @param timeout seconds until an idle one is closed */
export function keepAliveLines(timeout: number): string {
  const seconds = Math.floor(timeout);
  return `Connection: keep-alive\r\n${seconds > 0 ? `Keep-Alive: timeout=${seconds}\r\n` : ""}`;
}

/** Maximum size of a response built in {@link scratch}: copying a longer one costs as much as new memory. */
const SCRATCH_BYTES = 262_144;

/** Maximum size of one write of a page: a runtime reports only whole writes as read by the peer. */
const PIECE_BYTES = 65_536;

/** Most pieces written in a turn: the others go on in turns of their own. */
const PIECES = 4;

let scratch = Buffer.alloc(0);

/** Whether memory can be reused as soon as the system took the whole write: in Node alone. */
const TAKES_AT_ONCE = process.versions.deno === undefined && process.versions.bun === undefined;

/** Collects the replies of one visit to a connection, so that several short ones leave in one write. */
export class ReplyWriter {
  readonly #socket: Socket;
  readonly #keepAlive: string;
  #text = "";
  /** Bytes that wait until the system has taken those before them, and their number. */
  readonly #waiting: Buffer[] = [];
  #waitingBytes = 0;
  #hasEnded = false;
  readonly #turns: Turns;
  /** Whether a turn for the next piece is due. */
  #isDue = false;
  readonly #onWritten: () => void;

  /**
   * @param keepAlive header lines of a response after which the connection stays open
   * @param onWritten called after a piece of a large reply that was written later
   */
  constructor(socket: Socket, keepAlive: string, turns: Turns, onWritten: () => void) {
    this.#socket = socket;
    this.#keepAlive = keepAlive;
    this.#turns = turns;
    this.#onWritten = onWritten;
  }

  /** Bytes that the system has not taken yet. */
  get unsent(): number {
    return this.#socket.writableLength + this.#waitingBytes + this.#text.length;
  }

  /** Adds a reply. @param closes whether it announces the end of the connection */
  add(reply: Reply, closes: boolean): void {
    const { body } = reply;
    this.#text += headText(reply, closes ? CLOSE : this.#keepAlive);
    if (typeof body === "string") this.#text += body;
    else if (body.isShared) this.#writeShared(body.slices.bytes);
    else if (areCheaperAsText(body)) this.#text += bodyText(body);
    else this.#writeParts(body);
  }

  flush(): void {
    if (this.#text === "") return;
    const text = this.#text;
    this.#text = "";
    if (this.#waitingBytes > 0) this.#send(Buffer.from(text, "latin1"));
    else this.#socket.write(text, "latin1");
  }

  /** Ends the socket after all bytes. */
  end(): void {
    this.flush();
    this.#hasEnded = true;
    this.#proceed();
  }

  /** Writes what waits in a turn of its own, so that other connections go first; a full socket must drain before. */
  proceedLater(): void {
    const canProceed = this.#waitingBytes > 0 && !this.#socket.destroyed && !this.#socket.writableNeedDrain;
    if (!canProceed || this.#isDue) return;
    this.#isDue = true;
    const proceed = (): void => {
      this.#isDue = false;
      this.#proceed();
      this.#onWritten();
      this.proceedLater();
    };
    this.#turns.add({ proceed }, false);
  }

  /** Writes some pieces of the bytes that wait, as far as the system takes them. */
  #proceed(): void {
    const socket = this.#socket;
    for (let left = PIECES; left > 0 && this.#waitingBytes > 0 && !socket.destroyed; left--) {
      if (socket.writableLength > 0 && socket.writableNeedDrain) return;
      const bytes = this.#waiting.shift()!;
      const piece = bytes.subarray(0, PIECE_BYTES);
      this.#waitingBytes -= piece.length;
      const isLast = piece.length === bytes.length;
      if (!isLast) this.#waiting.unshift(bytes.subarray(piece.length));
      // A peer that reads all but the last piece must not keep the memory of a whole large page.
      socket.write(isLast && bytes.buffer.byteLength > SCRATCH_BYTES ? Buffer.from(piece) : piece);
    }
    if (this.#hasEnded && this.#waitingBytes === 0) socket.end();
  }

  #send(bytes: Buffer): void {
    if (this.#waitingBytes === 0 && bytes.length <= PIECE_BYTES) {
      this.#socket.write(bytes);
      return;
    }
    this.#waiting.push(bytes);
    this.#waitingBytes += bytes.length;
    this.#proceed();
  }

  /** Writes shared bytes without a copy: slow readers, even many, share one memory. */
  #writeShared(bytes: Buffer): void {
    this.#socket.cork();
    this.flush();
    this.#send(bytes);
    this.#socket.uncork();
  }

  /** One copy into recently used memory costs less than handing several views to the system, or than new memory. */
  #writeParts(body: Parts): void {
    const text = this.#text;
    this.#text = "";
    const length = text.length + body.length;
    // If earlier bytes are unsent, the write would keep the scratch.
    const canReuse = TAKES_AT_ONCE && length <= SCRATCH_BYTES && this.unsent === 0;
    if (canReuse && scratch.length === 0) scratch = Buffer.allocUnsafeSlow(SCRATCH_BYTES);
    const bytes = canReuse ? scratch.subarray(0, length) : Buffer.allocUnsafeSlow(length);
    copyBody(body, bytes, text);
    this.#send(bytes);
    // If the system did not take all bytes at once, a write still reads the scratch, so give it up.
    if (canReuse && this.unsent > 0) scratch = Buffer.alloc(0);
  }
}
