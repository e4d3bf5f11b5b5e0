/** Ways to write a reply to a response of node:http. */

import { type ServerResponse, STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import { areCheaperAsText, bodyBytes, bodyText, copyBody, type Parts } from "../body.ts";
import { splitHeaders } from "../headers.ts";
import type { Reply } from "../message.ts";

/**
 * Writes a reply as the whole response.
 *
 * @param closes whether the response says that it ends its connection
 */
export type Respond = (response: ServerResponse, reply: Reply, closes: boolean) => void;

/** By the public means of node:http: what others put on the response is sent too. */
export function respondByHead(response: ServerResponse, reply: Reply, closes: boolean): void {
  const headers = splitHeaders(reply.headers);
  if (closes) headers.push("Connection", "close");
  response.writeHead(reply.status, headers);
  if (typeof reply.body === "string") response.end(reply.body, "latin1");
  else response.end(reply.body.isShared ? reply.body.slices.bytes : bodyBytes(reply.body));
}

/** What node:http keeps of a response's head. Not documented, and the same in Node 20 to 24. */
interface Underneath {
  /** The head's text; once it is there, no other is made. */
  _header: string;
  /** Whether the head is sent. */
  _headerSent: boolean;
  /** Whether the connection ends behind the response. */
  _last: boolean;
}

/** In place of a head that was sent: `headersSent` stays true. */
const SENT = "HTTP/1.1";

/**
 * Most bytes of a response that is put together in {@link scratch}. Of longer
 * ones the copy no longer costs less than memory of their own.
 */
const SCRATCH_BYTES = 262_144;

/** Where responses are put together, used again as soon as the system has taken one. */
let scratch = Buffer.alloc(0);

/**
 * Writes head and body to a socket, in one write.
 *
 * One copy into memory that was used a moment ago costs less than handing
 * several views to the system, and far less than new memory for each response.
 */
function writeParts(socket: Socket, head: string, body: Parts): void {
  const length = head.length + body.length;
  // Behind something that is not sent yet it would keep the scratch.
  const canReuse = length <= SCRATCH_BYTES && socket.writableLength === 0;
  if (canReuse && scratch.length === 0) scratch = Buffer.allocUnsafeSlow(SCRATCH_BYTES);
  const bytes = canReuse ? scratch.subarray(0, length) : Buffer.allocUnsafeSlow(length);
  copyBody(body, bytes, head);
  socket.write(bytes);
  // What the system did not take at once will be read from there: it goes with the write.
  if (canReuse && socket.writableLength > 0) scratch = Buffer.alloc(0);
}

/**
 * The quickest way that there is: the whole response in one write, as a text or
 * as bytes.
 *
 * For servers that are only ours. `writeHead` would look at every name and
 * value and put the same lines together again, and Node 20 would write head and
 * body one by one: without that a lookup takes 21 % less of the server's time.
 * A 204 or 304 leaves the connection of an HTTP/1.0 peer open that asked for
 * that, which writeHead would not.
 *
 * @param keepAliveTimeout of the server, in milliseconds
 */
function respondAtOnce(keepAliveTimeout: number): Respond {
  const seconds = Math.floor(keepAliveTimeout / 1000);
  const keepAlive = `Connection: keep-alive\r\n${seconds > 0 ? `Keep-Alive: timeout=${seconds}\r\n` : ""}`;
  return (response, { status, headers, body }, closes) => {
    const underneath = response as unknown as Underneath;
    const { socket } = response;
    // A peer that half-closed was answered for the last time, too.
    underneath._last ||= closes;
    const head = headText(status, headers, underneath._last ? CLOSE : keepAlive);
    if (typeof body !== "string" && body.isShared) {
      underneath._header = head;
      response.statusCode = status;
      // Its reader may be slow, and many: the memory is the same of all.
      response.end(body.slices.bytes);
      underneath._header = SENT;
      return;
    }
    // In a pipeline it has no socket before its turn; node keeps what it is given until then.
    if (typeof body === "string" || areCheaperAsText(body) || !socket?.writable) {
      underneath._header = head + bodyText(body);
    } else {
      writeParts(socket, head, body);
      underneath._header = SENT;
      underneath._headerSent = true;
    }
    response.statusCode = status;
    response.end();
    // The text is on its way. Node keeps it with the response, and an idle connection keeps its last response.
    underneath._header = SENT;
  };
}

/** Says that the connection ends behind the response. */
export const CLOSE = "Connection: close\r\n";

/** Deno and Bun have a node:http of their own, which keeps its heads elsewhere. */
export const IS_NODE = process.versions.deno === undefined && process.versions.bun === undefined;

/**
 * How a server that is only ours responds.
 *
 * @param keepAliveTimeout of the server, in milliseconds
 */
export function respondAs(keepAliveTimeout: number): Respond {
  return IS_NODE ? respondAtOnce(keepAliveTimeout) : respondByHead;
}

const STATUS_LINES = new Map(
  Object.entries(STATUS_CODES).map(([status, reason]) => [
    Number(status),
    `HTTP/1.1 ${status} ${reason}\r\n`,
  ]),
);

let second = 0;
let date = "";

/** The Date header's value, made once a second. */
export function dateNow(): string {
  const now = Math.floor(Date.now() / 1000);
  if (now !== second) {
    second = now;
    date = new Date(now * 1000).toUTCString();
  }
  return date;
}

/**
 * A whole head.
 *
 * @param connection header lines about the connection
 */
export function headText(status: number, headers: string, connection: string): string {
  return `${STATUS_LINES.get(status)}${headers}Date: ${dateNow()}\r\n${connection}\r\n`;
}
