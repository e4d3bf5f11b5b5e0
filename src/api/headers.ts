/** Header lines in wire format, `Name: value` and CRLF each, as one-byte ("latin1") texts. Most are made once and sent many times. */

import type { Quota } from "../auth/limit.ts";
import { FAULTS, type FaultName } from "../model/fault.ts";

const ALLOWED_METHODS = "GET, HEAD, OPTIONS";

const JSON_TYPE = "Content-Type: application/json; charset=utf-8\r\n";

const CORS =
  "Access-Control-Allow-Origin: *\r\n" +
  "Access-Control-Expose-Headers: X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, Retry-After, ETag, " +
  "X-Request-Id\r\n";

const CORS_PREFLIGHT =
  "Access-Control-Allow-Origin: *\r\n" +
  `Access-Control-Allow-Methods: ${ALLOWED_METHODS}\r\n` +
  // Browsers read `*` as every header but Authorization; the others are named for browsers that do not know it.
  "Access-Control-Allow-Headers: Authorization, If-Match, If-None-Match, Content-Type, X-Request-Id, traceparent, " +
  "tracestate, *\r\n" +
  "Access-Control-Max-Age: 86400\r\n";

/** Header lines that depend on the CORS setting alone. */
export type FixedHeaders = ReturnType<typeof createFixedHeaders>;

export const FAULT_BODIES = Object.fromEntries(
  Object.entries(FAULTS).map(([name, { message }]) => [name, JSON.stringify({ error: message })]),
) as Readonly<Record<FaultName, string>>;

function faultHeaders(name: FaultName, cors: string): string {
  const { status } = FAULTS[name];
  let lines = `${JSON_TYPE}Cache-Control: no-store\r\n${cors}`;
  if (status === 401) lines += "WWW-Authenticate: Bearer\r\n";
  if (status === 405) lines += `Allow: ${ALLOWED_METHODS}\r\n`;
  if (status === 503) lines += "Retry-After: 1\r\n";
  return `${lines}Content-Length: ${FAULT_BODIES[name].length}\r\n`;
}

function allFaultHeaders(cors: string) {
  const faults = Object.keys(FAULTS).map((name) => [name, faultHeaders(name as FaultName, cors)]);
  return Object.fromEntries(faults) as Readonly<Record<FaultName, string>>;
}

/** Headers of errors outside the API. */
export const BARE_FAULT_HEADERS = allFaultHeaders("");

export function createFixedHeaders(corsOn: boolean) {
  const cors = corsOn ? CORS : "";
  return {
    cors,
    options: `Allow: ${ALLOWED_METHODS}\r\n${corsOn ? CORS_PREFLIGHT : ""}`,
    faults: allFaultHeaders(cors),
  };
}

/** Headers of a 200 without {@link quotaHeaders}. */
export function okHeaders(etag: string, length: number, fixed: FixedHeaders): string {
  return `${JSON_TYPE}${notModifiedHeaders(etag, fixed)}Content-Length: ${length}\r\n`;
}

/** Headers of a 200 with a body that its generation's ETag does not name. */
export function untaggedHeaders(length: number, { cors }: FixedHeaders): string {
  return `${JSON_TYPE}Cache-Control: no-store\r\n${cors}Content-Length: ${length}\r\n`;
}

export function notModifiedHeaders(etag: string, { cors }: FixedHeaders): string {
  return `ETag: ${etag}\r\nCache-Control: private, no-cache\r\n${cors}`;
}

/** Headers of a key's limit; none for other keys. */
export function quotaHeaders(quota: Quota | undefined): string {
  if (quota === undefined) return "";
  const { limit, remaining, reset } = quota;
  return `X-RateLimit-Limit: ${limit}\r\nX-RateLimit-Remaining: ${remaining}\r\nX-RateLimit-Reset: ${reset}\r\n`;
}

/** Names and values of header lines, alternating. */
export function splitHeaders(lines: string): string[] {
  const list: string[] = [];
  for (let at = 0; at < lines.length; ) {
    const colon = lines.indexOf(":", at);
    const end = lines.indexOf("\r\n", colon);
    list.push(lines.slice(at, colon), lines.slice(colon + 2, end));
    at = end + 2;
  }
  return list;
}
