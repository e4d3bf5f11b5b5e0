/** The access log: what a request came to, as one observation, and the id by which its answer and that line can be matched. */

import { randomBytes } from "node:crypto";
import { splitTarget } from "../api/router.ts";
import type { FaultName } from "../model/fault.ts";
import type { Ask, Peer, Reply } from "../model/message.ts";
import { requestIdOf, traceOf } from "../model/request-ids.ts";
import type { Keeps } from "../util/sampling.ts";
import type { Observation, Observe } from "./events.ts";

type RequestObservation = Extract<Observation, { kind: "request" }>;

/** Where accesses are reported to, and what tokens begin with, so that none is. */
export interface AccessLog {
  readonly observe: Observe;
  readonly prefixes: Readonly<Record<"api" | "cli", string>>;
  /** Which of them; all when absent. */
  readonly keeps?: Keeps | undefined;
}

/** Ids of requests: unlike those of other runs, and in order within one thread. */
const RUN = randomBytes(4).toString("hex");
let requests = 0;

function nextId(): string {
  return `${RUN}-${(++requests).toString(36)}`;
}

/** The id that a request brought, or a new one. */
function idFor(headers: Ask["headers"], prefixes: AccessLog["prefixes"]): string {
  return requestIdOf(headers, prefixes) ?? nextId();
}

/** Longest path and method that are logged, in characters. */
const MAX_PATH = 512;
const MAX_METHOD = 32;

const SCHEME_AND_AUTHORITY = /^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i;
const NOT_VISIBLE_ASCII = /[^\x21-\x7e]/g;

/** A segment of a path without what may be a token: from a prefix on nothing is left. */
function redacted(segment: string, prefixes: AccessLog["prefixes"]): string {
  let text = segment;
  for (const prefix of [prefixes.api, prefixes.cli]) {
    const at = text.indexOf(prefix);
    if (at >= 0) text = `${text.slice(0, at + prefix.length)}***`;
  }
  return text;
}

/**
 * The path of a target as it may be logged: no query, no authority, no token,
 * visible ASCII alone, of bounded length.
 *
 * @param route pattern that it matched, or ""
 */
export function loggedPath(target: string, route: string, prefixes: AccessLog["prefixes"]): string {
  const { path } = splitTarget(target.replace(SCHEME_AND_AUTHORITY, ""));
  // A route without a parameter is matched by one path only.
  if (route !== "" && !route.includes(":")) return path;
  const safe = path
    .split("#", 1)[0]!
    .split("/")
    .map((segment) => redacted(segment, prefixes))
    .join("/")
    .slice(0, MAX_PATH + 1)
    .replace(NOT_VISIBLE_ASCII, encodeUnit);
  return safe.length > MAX_PATH ? `${safe.slice(0, MAX_PATH)}...` : safe;
}

function encodeUnit(unit: string): string {
  const code = unit.charCodeAt(0);
  return code < 256 ? `%${code.toString(16).toUpperCase().padStart(2, "0")}` : "?";
}

function requestIdHeader(id: string): string {
  return `X-Request-Id: ${id}\r\n`;
}

/**
 * Begins to observe a request.
 *
 * @returns what observes its reply, and gives it back with the id in its headers, whether it is kept or not
 */
export function observeAccess(ask: Ask, log: AccessLog): (reply: Reply) => Reply {
  const { headers } = ask;
  const id = idFor(headers, log.prefixes);
  const began = performance.now();
  // Once a connection is gone its address is, too.
  const client = ask.peer?.remoteAddress;
  return (reply) => {
    const { route, status, keyId, body, fault } = reply;
    const ms = Math.round((performance.now() - began) * 1000) / 1000;
    const sample = log.keeps?.(status, ms) ?? 1;
    const withId: Reply = { ...reply, headers: reply.headers + requestIdHeader(id), etag: undefined };
    if (sample === 0) return withId;
    const observation: RequestObservation = {
      kind: "request",
      id,
      method: ask.method.slice(0, MAX_METHOD),
      path: loggedPath(ask.target, route, log.prefixes),
      route,
      status,
      bytes: body.length,
      ms,
      keyId,
      ...(client === undefined ? {} : { client }),
      ...(fault === undefined ? {} : { fault }),
      ...traceOf(headers),
      ...(sample === 1 ? {} : { sample }),
    };
    log.observe(observation);
    return withId;
  };
}

/**
 * Observes what was refused before it became a request.
 *
 * @param heard method and target, where the parser came that far
 * @returns the header line with the id
 */
export function observeRefusal(
  fault: FaultName,
  { status, body }: Pick<Reply, "status" | "body">,
  peer: Peer | undefined,
  heard: Pick<Ask, "method" | "target" | "headers"> | undefined,
  log: AccessLog,
): string {
  const id = idFor(heard?.headers, log.prefixes);
  const sample = log.keeps?.(status, 0) ?? 1;
  if (sample === 0) return requestIdHeader(id);
  const client = peer?.remoteAddress;
  log.observe({
    kind: "request",
    id,
    method: heard?.method.slice(0, MAX_METHOD) ?? "",
    path: heard === undefined ? "" : loggedPath(heard.target, "", log.prefixes),
    route: "",
    status,
    bytes: body.length,
    ms: 0,
    keyId: "",
    ...(client === undefined ? {} : { client }),
    fault,
    ...traceOf(heard?.headers),
    ...(sample === 1 ? {} : { sample }),
  });
  return requestIdHeader(id);
}
