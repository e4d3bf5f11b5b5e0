/** Header lists that are made once and sent many times: names and values in turn. */

import { FAULTS, type FaultName } from "./fault.ts";

/** Methods that every operation answers. */
export const ALLOWED_METHODS = "GET, HEAD, OPTIONS";

const JSON_TYPE = ["Content-Type", "application/json; charset=utf-8"] as const;

const CORS = [
  "Access-Control-Allow-Origin",
  "*",
  "Access-Control-Expose-Headers",
  "X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, Retry-After, ETag",
] as const;

const CORS_PREFLIGHT = [
  "Access-Control-Allow-Origin",
  "*",
  "Access-Control-Allow-Methods",
  ALLOWED_METHODS,
  "Access-Control-Allow-Headers",
  "Authorization, If-Match, If-None-Match",
  "Access-Control-Max-Age",
  "86400",
] as const;

/** Header lists that depend on the CORS setting alone. */
export interface FixedHeaders {
  readonly cors: readonly string[];
  readonly options: readonly string[];
  readonly faults: Readonly<Record<FaultName, readonly string[]>>;
}

/** Bodies of the errors, by name. */
export const FAULT_BODIES = Object.fromEntries(
  Object.entries(FAULTS).map(([name, { message }]) => [name, JSON.stringify({ error: message })]),
) as Readonly<Record<FaultName, string>>;

function faultHeaders(name: FaultName, cors: readonly string[]): string[] {
  const { status } = FAULTS[name];
  const headers = [...JSON_TYPE, "Cache-Control", "no-store", ...cors];
  if (status === 401) headers.push("WWW-Authenticate", "Bearer");
  if (status === 405) headers.push("Allow", ALLOWED_METHODS);
  headers.push("Content-Length", String(FAULT_BODIES[name].length));
  return headers;
}

/** Makes the fixed lists. */
export function createFixedHeaders(corsOn: boolean): FixedHeaders {
  const cors = corsOn ? CORS : [];
  const faults = Object.keys(FAULTS).map((name) => [name, faultHeaders(name as FaultName, cors)]);
  return {
    cors,
    options: ["Allow", ALLOWED_METHODS, ...(corsOn ? CORS_PREFLIGHT : [])],
    faults: Object.fromEntries(faults) as FixedHeaders["faults"],
  };
}

/** Headers of an answer from a generation, without its length. */
export function okHeaders(etag: string, fixed: FixedHeaders): string[] {
  return [...JSON_TYPE, ...notModifiedHeaders(etag, fixed)];
}

/** Headers of a 304. */
export function notModifiedHeaders(etag: string, fixed: FixedHeaders): string[] {
  return ["ETag", etag, "Cache-Control", "private, no-cache", ...fixed.cors];
}
