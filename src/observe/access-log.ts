/** The access log: one line per request, or an object for embedders, and the id that links the answer to the line. */

import { randomBytes } from "node:crypto";
import type { ClientOf } from "../model/client-address.ts";
import { type Ask, type Reply, splitTarget } from "../model/message.ts";
import { requestIdOf, traceOf } from "../model/request-ids.ts";
import { escaped } from "../util/escaped.ts";
import type { Observe } from "./events.ts";
import { timeOf } from "./log/log.ts";
import { holdsToken, maskedTokens, type TokenPrefixes } from "./mask.ts";

export interface AccessLogOptions {
  /** Receives one object per request, unless `write` takes a line with its end. */
  readonly observe: Observe;
  readonly write?: ((line: string) => void) | undefined;
  readonly prefixes: TokenPrefixes;
  readonly clientOf: ClientOf;
}

/** Ids of requests: different from the ids of other runs, and in order within one thread. */
const RUN = randomBytes(4).toString("hex");
const LOW = Array.from({ length: 36 * 36 }, (_, n) => n.toString(36).padStart(2, "0"));
let requests = 0;
let high = "";

function nextId(): string {
  const low = ++requests % LOW.length;
  if (low === 0 || high === "") high = `${RUN}-${Math.floor(requests / LOW.length).toString(36)}`;
  return high + LOW[low]!;
}

/** Maximum length of a client's text in the log, and of a method, in characters. */
const MAX_TEXT = 512;
const MAX_METHOD = 32;

const AFTER_TIME = `","pid":${process.pid},"event":"request","id":"`;

const SCHEME_AND_AUTHORITY = /^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i;

/** Texts that are logged unchanged unless they contain a token: visible ASCII and spaces without `"`, `#`, `%` and backslash. */
const PLAIN = /^[ !$&-[\]-~]*$/;

function isPlain(text: string, prefixes: TokenPrefixes): boolean {
  return text.length <= MAX_TEXT && PLAIN.test(text) && !holdsToken(text, prefixes);
}

/** A client's text, safe to log: no token, only visible ASCII and spaces, bounded. @param separator of parts */
function loggedText(text: string, separator: string, prefixes: TokenPrefixes): string {
  if (isPlain(text, prefixes)) return text;
  // Cut first: splitting and masking a long text would cost more than the rest of its request.
  const start = text.slice(0, MAX_TEXT + 1);
  const safe = maskedTokens(start, separator, prefixes)
    .slice(0, MAX_TEXT + 1)
    .replace(/[^ -~]/g, encodeUnit);
  return safe.length > MAX_TEXT || start !== text ? `${safe.slice(0, MAX_TEXT)}...` : safe;
}

/** The path of a target, safe to log: no query, authority or token, bounded. @param route that it matched, or "" */
export function loggedPath(target: string, route: string, prefixes: TokenPrefixes): string {
  const { path } = splitTarget(target.startsWith("/") ? target : target.replace(SCHEME_AND_AUTHORITY, ""));
  // Only one path matches a route without a parameter.
  if (route !== "" && !route.includes(":")) return path;
  if (isPlain(path, prefixes)) return path.replaceAll(" ", "%20");
  return loggedText(path.split("#", 1)[0]!, "/", prefixes).replaceAll(" ", "%20");
}

function encodeUnit(unit: string): string {
  const code = unit.charCodeAt(0);
  return code < 256 ? `%${code.toString(16).toUpperCase().padStart(2, "0")}` : "?";
}

/** Quotes a text of visible ASCII and spaces for JSON. */
function quotedVisible(text: string): string {
  return text.includes('"') || text.includes("\\") ? JSON.stringify(text) : `"${text}"`;
}

function withId(reply: Reply, id: string): Reply {
  const { status, headers, body, route, keyId, fault, etag } = reply;
  return { status, headers: `${headers}X-Request-Id: ${id}\r\n`, body, route, keyId, fault, etag };
}

/** A field of a line, or "" without a value. @param value visible ASCII and spaces */
function optional(name: string, value: string | undefined): string {
  return value === undefined ? "" : `,"${name}":${quotedVisible(value)}`;
}

/** Caches the last result of a part of a line: most lines share it with the line before. */
function createPart<One, Other>(make: (one: One, other: Other) => string): typeof make {
  let last: { readonly one: One; readonly other: Other; readonly text: string } | undefined;
  return (one, other) => {
    if (last === undefined || last.one !== one || last.other !== other)
      last = { one, other, text: make(one, other) };
    return last.text;
  };
}

/** The access log of one thread. */
export class AccessLog {
  readonly #options: AccessLogOptions;
  readonly #outcome = createPart(
    (route: string, status: number) => `,"route":"${route}","status":${status},"bytes":`,
  );
  readonly #caller = createPart(
    (keyId: string, client: string | undefined) =>
      `,"keyId":${escaped(JSON.stringify(keyId))}${optional("client", client)}`,
  );

  constructor(options: AccessLogOptions) {
    this.#options = options;
  }

  /** Logs a request. @param began its time by `performance.now()` @returns the reply with an id */
  record(ask: Ask, reply: Reply, began: number): Reply {
    const { prefixes, write } = this.#options;
    const ms = Math.round((performance.now() - began) * 1000) / 1000;
    const id = requestIdOf(ask.headers, prefixes) ?? nextId();
    if (write === undefined) this.#observe(ask, reply, id, ms);
    else write(this.#line(ask, reply, id, ms));
    return withId(reply, id);
  }

  #query({ target }: Ask): string | undefined {
    const query = splitTarget(target).query.split("#", 1)[0];
    return query ? loggedText(query, "&", this.#options.prefixes).replaceAll(" ", "%20") : undefined;
  }

  #userAgent({ headers }: Ask): string | undefined {
    const text = headers?.get("user-agent");
    return text ? loggedText(text, " ", this.#options.prefixes) : undefined;
  }

  /** Builds the line directly as text: an intermediate object would double the cost. */
  #line(ask: Ask, reply: Reply, id: string, ms: number): string {
    const { clientOf, prefixes } = this.#options;
    const { route, status, body, keyId, fault } = reply;
    const trace = traceOf(ask.headers);
    const method = ask.method === "GET" ? '"GET"' : JSON.stringify(ask.method.slice(0, MAX_METHOD));
    return (
      `{"level":"info","time":"${timeOf(ask.now + Math.floor(ms))}${AFTER_TIME}${id}","method":${method},"path":` +
      quotedVisible(loggedPath(ask.target, route, prefixes)) +
      optional("query", this.#query(ask)) +
      `${this.#outcome(route, status)}${body.length},"ms":${ms}${this.#caller(keyId, clientOf(ask))}` +
      optional("fault", fault) +
      optional("userAgent", this.#userAgent(ask)) +
      (trace === undefined ? "" : `,"traceId":"${trace.traceId}","parentId":"${trace.parentId}"`) +
      ',"msg":"request"}\n'
    );
  }

  #observe(ask: Ask, reply: Reply, id: string, ms: number): void {
    const { clientOf, prefixes, observe } = this.#options;
    const { route, status, body, keyId, fault } = reply;
    const query = this.#query(ask);
    const client = clientOf(ask);
    const userAgent = this.#userAgent(ask);
    observe({
      kind: "request",
      id,
      method: ask.method.slice(0, MAX_METHOD),
      path: loggedPath(ask.target, route, prefixes),
      ...(query === undefined ? {} : { query }),
      route,
      status,
      bytes: body.length,
      ms,
      keyId,
      ...(client === undefined ? {} : { client }),
      ...(fault === undefined ? {} : { fault }),
      ...(userAgent === undefined ? {} : { userAgent }),
      ...traceOf(ask.headers),
    });
  }
}
