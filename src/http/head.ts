/**
 * Reads the head of one HTTP/1.x request, given as one-byte ("latin1") text, by a strict grammar (RFC 9112):
 *
 *     head = method SP target SP "HTTP/1." ("0" / "1") CRLF *(name ":" OWS value OWS CRLF) CRLF
 *
 * docs/http.md lists the differences from the parser of node:http, which accepts every head that this accepts.
 *
 * Long: the whole grammar, read from top to bottom.
 */

import type { FaultName } from "../model/fault.ts";
import { listElements } from "../model/message.ts";

export const MAX_FIELDS = 128;
/** Of a head, and of the end of a chunked body. A URL of 8 KiB and the fields of any browser or proxy fit. */
export const MAX_HEAD_BYTES = 16_384;

/** The methods that node's parser knows; any other is refused. */
const METHODS = new Set(
  (
    "ACL BIND CHECKOUT CONNECT COPY DELETE GET HEAD LINK LOCK M-SEARCH MERGE MKACTIVITY MKCALENDAR MKCOL MOVE NOTIFY " +
    "OPTIONS PATCH POST PROPFIND PROPPATCH PURGE PUT QUERY REBIND REPORT SEARCH SOURCE SUBSCRIBE TRACE UNBIND UNLINK " +
    "UNLOCK UNSUBSCRIBE"
  ).split(" "),
);

const LONGEST_METHOD = Math.max(...[...METHODS].map(({ length }) => length));

/** Field lines, each with its CRLF. Names are tokens; values are visible characters, blanks and bytes from 0x80 on. */
const FIELD_LINES = /^(?:[!#$%&'*+\-.^_`|~0-9A-Za-z]+:[\t\x20-\x7e\x80-\xff]*\r\n)*$/;

/** The start of a line whose end has not arrived. */
const LINE_START = /^[\t\x20-\x7e\x80-\xff]*\r?$/;

const PATH = /^\/[\x21-\x7e]*$/;

/** Bytes that a target must not contain, but that many clients send. */
const RAW = /[\x80-\xff]/g;

const AUTHORITY = String.raw`(?:[\w\-.!~*'()%;:&=+$,[\]]*@)?[\w\-.!~*'()%;:&=+$,[\]]*(?:[/?][\x21-\x7e]*)?`;

const ABSOLUTE = new RegExp(`^[A-Za-z]+://${AUTHORITY}$`);
const TUNNEL = new RegExp(`^(?=.)${AUTHORITY}$`);

/** Content-Length in digits; more digits are no real size. */
const LENGTH = /^\d{1,15}$/;

/** A list of codings in which another follows `chunked`. */
const CHUNKED_INSIDE = /(?:^|,)[\t ]*chunked[\t ]*,/i;

/** The fields of a head, read once; a connection reuses them while its requests send the same bytes. */
export class Fields {
  /** All lines and the empty line, as sent. */
  readonly text: string;
  /** What is wrong with the lines, if anything is. */
  fault: FaultName | undefined;
  /** If sent more than once, the first counts. */
  authorization: string | undefined;
  /** If sent more than once, the values are joined. */
  ifNoneMatch: string | undefined;
  ifMatch: string | undefined;
  hosts = 0;
  count = 0;
  /** The body by `Content-Length`, in bytes. */
  bodyBytes = 0;
  /** Whether `Transfer-Encoding` announces a body, and whether it is chunked and nothing else. */
  isCoded = false;
  isChunked = false;
  /** Whether `Connection` lists `close`, or `keep-alive`. */
  closes = false;
  keepsAlive = false;
  expect: string | undefined;
  readonly #lines: string;
  #codings: string | undefined;
  #hasLength = false;
  /** The access log needs them with every request; values of several lines are joined. */
  #requestId: string | undefined;
  #traceparent: string | undefined;

  /** @param text lines, the last one empty */
  constructor(text: string) {
    this.text = text;
    const lines = firstLines(text);
    this.#lines = lines;
    if (!FIELD_LINES.test(lines)) {
      this.fault = "field";
      return;
    }
    for (let at = 0; at < lines.length; this.count++) {
      const colon = lines.indexOf(":", at);
      const end = lines.indexOf("\r\n", colon);
      this.#read(lines, at, colon, end);
      at = end + 2;
    }
    if (this.#codings === undefined) return;
    this.isCoded = true;
    this.isChunked = this.#codings.toLowerCase() === "chunked";
    if (this.#hasLength) this.fault = "length";
    // A body that is coded after chunking has no recognizable end.
    else if (CHUNKED_INSIDE.test(this.#codings)) this.fault = "coding";
  }

  /** Reads one line. Compares lengths first: most fields are not needed, and lower-casing their names would cost time. */
  #read(lines: string, at: number, colon: number, end: number): void {
    switch (colon - at) {
      case 4:
        if (isName(lines, at, "host")) this.hosts++;
        break;
      case 6:
        if (isName(lines, at, "expect")) this.expect = trimmed(lines, colon, end).toLowerCase();
        break;
      case 8:
        if (isName(lines, at, "if-match")) this.ifMatch = joined(this.ifMatch, trimmed(lines, colon, end));
        break;
      case 10:
        if (isName(lines, at, "connection")) this.#readConnection(trimmed(lines, colon, end));
        break;
      case 11:
        if (isName(lines, at, "traceparent"))
          this.#traceparent = joined(this.#traceparent, trimmed(lines, colon, end));
        break;
      case 12:
        if (isName(lines, at, "x-request-id"))
          this.#requestId = joined(this.#requestId, trimmed(lines, colon, end));
        break;
      case 13:
        if (isName(lines, at, "authorization")) this.authorization ??= trimmed(lines, colon, end);
        else if (isName(lines, at, "if-none-match"))
          this.ifNoneMatch = joined(this.ifNoneMatch, trimmed(lines, colon, end));
        break;
      case 14:
        if (isName(lines, at, "content-length")) this.#readLength(trimmed(lines, colon, end));
        break;
      case 17:
        if (isName(lines, at, "transfer-encoding")) this.#readCodings(trimmed(lines, colon, end));
        break;
    }
  }

  #readConnection(value: string): void {
    if (value === "keep-alive") {
      this.keepsAlive = true;
      return;
    }
    for (const option of listElements(value)) {
      const name = option.trim().toLowerCase();
      if (name === "close") this.closes = true;
      else if (name === "keep-alive") this.keepsAlive = true;
    }
  }

  #readLength(value: string): void {
    if (this.#hasLength || !LENGTH.test(value)) this.fault = "length";
    this.#hasLength = true;
    this.bodyBytes = Number(value);
  }

  #readCodings(value: string): void {
    if (value === "") this.fault = "coding";
    this.#codings = joined(this.#codings, value);
  }

  /** The value of a field, all of its lines joined; null if absent. @param name in lower case */
  get(name: string): string | null {
    if (name === "x-request-id") return this.#requestId ?? null;
    if (name === "traceparent") return this.#traceparent ?? null;
    const lines = this.#lines;
    let value: string | undefined;
    for (let at = 0; at < lines.length; ) {
      const colon = lines.indexOf(":", at);
      const end = lines.indexOf("\r\n", colon);
      if (colon - at === name.length && isName(lines, at, name))
        value = joined(value, trimmed(lines, colon, end));
      at = end + 2;
    }
    return value ?? null;
  }
}

/** The whole field lines at the start of a text, one more than are allowed at most: then the head is refused. */
function firstLines(text: string): string {
  let end = 0;
  for (let count = 0; count <= MAX_FIELDS; count++) {
    const next = text.indexOf("\r\n", end);
    if (next <= end) break;
    end = next + 2;
  }
  return text.slice(0, end);
}

function isName(lines: string, at: number, name: string): boolean {
  for (let index = 0; index < name.length; index++) {
    // Letters differ from lower case in one bit; for the hyphen that bit is set already.
    if ((lines.charCodeAt(at + index) | 0x20) !== name.charCodeAt(index)) return false;
  }
  return true;
}

function joined(before: string | undefined, value: string): string {
  return before === undefined ? value : `${before}, ${value}`;
}

const TAB = 9;
const LF = 10;
const CR = 13;
const SPACE = 32;

function isBlank(code: number): boolean {
  return code === SPACE || code === TAB;
}

/** The value between a colon and the end of its line, without the blanks around it. */
function trimmed(lines: string, colon: number, end: number): string {
  let from = colon + 1;
  let to = end;
  while (from < to && isBlank(lines.charCodeAt(from))) from++;
  while (to > from && isBlank(lines.charCodeAt(to - 1))) to--;
  return lines.slice(from, to);
}

/** A slice of a longer text keeps the whole text in memory; fields outlive the read that brought them. */
const LONG_TEXT = 4096;

function ownText(text: string, from: number, to: number): string {
  const slice = text.slice(from, to);
  return text.length < LONG_TEXT ? slice : Buffer.from(slice, "latin1").toString("latin1");
}

export interface Head {
  readonly method: string;
  readonly target: string;
  readonly minor: 0 | 1;
  readonly fields: Fields;
  /** Index after its last byte in the text. */
  readonly end: number;
}

/** Why no head was read: more bytes are needed, or the fault to answer. */
export type NoHead = "partial" | FaultName;

const NO_FIELDS = new Fields("\r\n");

/** Reads the head at an index. @param before fields of the previous head: equal bytes are not read again @param most its bytes */
export function readHead(
  text: string,
  from: number,
  before: Fields = NO_FIELDS,
  most = 16_384,
): Head | NoHead {
  const lineEnd = text.indexOf("\r\n", from);
  if (lineEnd < 0) return partial(text, from, most);
  const fieldsAt = lineEnd + 2;
  let fields = before;
  if (text.slice(fieldsAt, fieldsAt + before.text.length) !== before.text) {
    // The empty line may follow the request line immediately.
    const last = text.indexOf("\r\n\r\n", lineEnd);
    if (last < 0) return partial(text, from, most);
    fields = new Fields(ownText(text, fieldsAt, last + 4));
  }
  const end = fieldsAt + fields.text.length;
  if (end - from > most) return partial(text, from, most);
  const line = readRequestLine(text, from, lineEnd);
  if (typeof line === "string") return whyNoRequest(text, from);
  if (fields.fault !== undefined) return fields.fault;
  return { method: line.method, target: line.target, minor: line.minor, fields, end };
}

/** The fault of a line that begins no request. Of the PROXY protocol's version 2, two empty lines have been skipped. */
function whyNoRequest(text: string, at: number): "requestLine" | "proxyProtocol" {
  const isProxyLine = text.startsWith("PROXY ", at) || text.startsWith("\0\r\nQUIT\n", at);
  return isProxyLine ? "proxyProtocol" : "requestLine";
}

type RequestLine = Pick<Head, "method" | "target" | "minor">;

function readRequestLine(text: string, at: number, end: number): RequestLine | "requestLine" {
  const methodEnd = text.indexOf(" ", at);
  const targetEnd = end - " HTTP/1.1".length;
  if (methodEnd < 0 || methodEnd >= targetEnd) return "requestLine";
  const isNew = text.startsWith(" HTTP/1.1", targetEnd);
  if (!isNew && !text.startsWith(" HTTP/1.0", targetEnd)) return "requestLine";
  const method = text.startsWith("GET ", at) ? "GET" : text.slice(at, methodEnd);
  if (method !== "GET" && !METHODS.has(method)) return "requestLine";
  const target = readTarget(text.slice(methodEnd + 1, targetEnd), method);
  return target === undefined ? "requestLine" : { method, target, minor: isNew ? 1 : 0 };
}

/** A target with its raw bytes, as of UTF-8, percent-encoded; undefined if it is none. */
function readTarget(sent: string, method: string): string | undefined {
  if (PATH.test(sent)) return sent;
  const target = sent.replace(RAW, (byte) => `%${byte.charCodeAt(0).toString(16).toUpperCase()}`);
  if (PATH.test(target)) return target;
  const isValid = method === "CONNECT" ? TUNNEL.test(target) : target === "*" || ABSOLUTE.test(target);
  return isValid ? target : undefined;
}

/** Judges a request that another parser has read. @param raw alternating names and values */
export function headOf(
  method: string,
  target: string,
  version: string,
  raw: readonly string[],
): Head | FaultName {
  let lines = "";
  for (let at = 0; at < raw.length; at += 2) lines += `${raw[at]}: ${raw[at + 1]}\r\n`;
  const text = `${method} ${target} HTTP/${version}\r\n${lines}\r\n`;
  const head = readHead(text, 0, NO_FIELDS, Number.POSITIVE_INFINITY);
  return head === "partial" ? "badRequest" : head;
}

/**
 * Judges a head without an end in the bytes that are allowed: refuses those that cannot become a head, however many bytes
 * have arrived, without waiting for the rest.
 */
function partial(text: string, from: number, most: number): NoHead {
  const start = text.slice(from, from + most);
  const lineEnd = start.indexOf("\r\n");
  const why = whyNoRequest(start, 0);
  if (why === "proxyProtocol" || (lineEnd < 0 && !mayBeMethod(start, 0))) return why;
  const rest = lineEnd < 0 ? 0 : start.lastIndexOf("\r\n") + 2;
  if (!LINE_START.test(start.slice(rest))) return lineEnd < 0 ? "requestLine" : "field";
  if (lineEnd >= 0) {
    const line = readRequestLine(start, 0, lineEnd);
    if (typeof line === "string") return why;
    const lines = firstLines(start.slice(lineEnd + 2, rest));
    if (!FIELD_LINES.test(lines)) return "field";
    if (lines.length < rest - lineEnd - 2) return "headTooLarge";
  }
  return text.length - from > most ? "headTooLarge" : "partial";
}

/** Whether the text at an index can become a request line, or an empty line before one. */
function mayBeMethod(text: string, from: number): boolean {
  const word = text.slice(from, from + LONGEST_METHOD + 1);
  if (word === "" || word === "\r") return true;
  for (const method of METHODS) if (word.startsWith(`${method} `) || method.startsWith(word)) return true;
  return false;
}

/** Index after the empty lines at an index; some clients send one before a request (RFC 9112, 2.2). */
export function skipEmptyLines(text: string, from: number): number {
  let at = from;
  while (text.charCodeAt(at) === CR && text.charCodeAt(at + 1) === LF) at += 2;
  return at;
}

/** Most bytes of a body by `Content-Length`: no operation takes one, but gateways and clients send them. */
const MOST_BODY_BYTES = 65_536;

/** The line of the last chunk, or its beginning: zeros, and extensions, which mean nothing here. */
const LAST_CHUNK = /^0+[\t ]*(?:;[\t\x20-\x7e\x80-\xff]*)?$/;

/** Whether a body follows a head, of which the answer need not know more than that it has ended. */
export function hasBody({ fields }: Head): boolean {
  return fields.bodyBytes > 0 || fields.isCoded;
}

/**
 * The end of a chunked body without a byte (RFC 9112, 7.1): a chunk of size zero, trailers, an empty line.
 * @returns the index behind it; "partial" if it has not arrived; the fault of any other body
 */
export function endOfChunks(text: string, from: number): number | "partial" | "bodyNotAllowed" {
  const lineEnd = text.indexOf("\r\n", from);
  // Without trailers this is the end of the line, too.
  const end = lineEnd < 0 ? -1 : text.indexOf("\r\n\r\n", lineEnd);
  if ((end < 0 ? text.length : end) - from > MAX_HEAD_BYTES) return "bodyNotAllowed";
  const line = lineEnd < 0 ? text.slice(from).replace(/\r$/, "") : text.slice(from, lineEnd);
  const isNothing = line === "" && text.length === from;
  if (!isNothing && !LAST_CHUNK.test(line)) return "bodyNotAllowed";
  if (end < 0) return "partial";
  return FIELD_LINES.test(text.slice(lineEnd + 2, end + 2)) ? end + 4 : "bodyNotAllowed";
}

/** Whether the client keeps the connection open after the answer. */
export function staysOpen({ minor, fields }: Head): boolean {
  // A client that expects a 100 may send its body without one.
  if (fields.closes || fields.expect !== undefined) return false;
  return minor === 1 || fields.keepsAlive;
}

/** The reason to refuse a head that is well-formed. */
export function faultOf({ method, target, minor, fields }: Head): FaultName | undefined {
  if (fields.count > MAX_FIELDS) return "headTooLarge";
  if (fields.hosts > 1) return "twoHosts";
  if (minor === 1 && fields.hosts === 0) return "noHost";
  if (method === "CONNECT") return "methodNotAllowed";
  if (target === "*" && method !== "OPTIONS") return "requestLine";
  if (fields.bodyBytes > MOST_BODY_BYTES) return "bodyNotAllowed";
  if (fields.isCoded && !(fields.isChunked && minor === 1)) return "bodyNotAllowed";
  if (fields.expect !== undefined && fields.expect !== "100-continue") return "expectation";
  return undefined;
}
