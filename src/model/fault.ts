/**
 * Every error a client can be sent, as plain values: a status, a message and
 * what it means. Nothing throws these; a throw is a defect and answers
 * {@link FAULTS.internal}.
 */

import type { Scope } from "./model.ts";

/** One error: HTTP status, the text under `error`, and when it is sent. */
export interface Fault {
  readonly status: number;
  readonly message: string;
  readonly when: string;
}

/** The table of errors, in the order in which they are judged. */
export const FAULTS = {
  badRequest: {
    status: 400,
    message: "Bad request",
    when: "The bytes sent are not valid HTTP, or an HTTP/1.1 request has no single `Host`.",
  },
  bodyNotAllowed: {
    status: 400,
    message: "Request body not allowed",
    when: "A GET or HEAD request has a body.",
  },
  headTooLarge: {
    status: 431,
    message: "Request header fields too large",
    when: "The request head exceeds 16 KiB or has more than 64 headers.",
  },
  timeout: {
    status: 408,
    message: "Request timeout",
    when: "The request did not arrive in time.",
  },
  expectation: {
    status: 417,
    message: "Expectation failed",
    when: "`Expect` asks for anything but `100-continue`.",
  },
  notFound: { status: 404, message: "Not found", when: "The path does not exist." },
  methodNotAllowed: {
    status: 405,
    message: "Method not allowed",
    when: "The path exists, but the method is not GET, HEAD or OPTIONS.",
  },
  noToken: { status: 401, message: "Authentication required", when: "There is no `Authorization` header." },
  tokenFormat: {
    status: 401,
    message: "Invalid token format",
    when: "The header is not `Bearer` followed by a token with a known prefix.",
  },
  apiKeyUnknown: { status: 401, message: "Invalid API key", when: "No such API key." },
  apiKeyInactive: { status: 401, message: "API key is deactivated", when: "The API key was disabled." },
  apiKeyExpired: {
    status: 401,
    message: "API key has expired",
    when: "The API key has passed its expiry time.",
  },
  cliTokenUnknown: {
    status: 401,
    message: "Invalid CLI token",
    when: "No such CLI token, or it was disabled.",
  },
  cliTokenExpired: {
    status: 401,
    message: "CLI token has expired",
    when: "The CLI token has passed its expiry time.",
  },
  rateLimited: {
    status: 429,
    message: "Rate limit exceeded",
    when: "The API key has used all its requests in this window.",
  },
  scopeWorlds: {
    status: 403,
    message: "Insufficient scope. Required: read:worlds",
    when: "The API key lacks `read:worlds`.",
  },
  scopeUsers: {
    status: 403,
    message: "Insufficient scope. Required: read:users",
    when: "The API key lacks `read:users`.",
  },
  scopeInstances: {
    status: 403,
    message: "Insufficient scope. Required: read:instances",
    when: "The API key lacks `read:instances`.",
  },
  noQuery: {
    status: 400,
    message: 'Query parameter "q" is required',
    when: "`q` is missing or has nothing to search for.",
  },
  worldMissing: { status: 404, message: "World not found", when: "No visible world has this id." },
  userMissing: { status: 404, message: "User not found", when: "No user has this id." },
  instanceMissing: { status: 404, message: "Instance not found", when: "No visible instance has this id." },
  busy: {
    status: 503,
    message: "Server is busy",
    when: "Too many searches are waiting, in total or for this key. Send it again after the seconds in `Retry-After`.",
  },
  closed: {
    status: 503,
    message: "Server is closed",
    when: "The program that embeds orrery has closed it.",
  },
  snapshotChanged: {
    status: 412,
    message: "Snapshot has changed",
    when: "`If-Match` names a generation other than the one being served.",
  },
  internal: { status: 500, message: "Internal server error", when: "A defect; the log has the details." },
} as const satisfies Record<string, Fault>;

/** Name of an error in {@link FAULTS}. */
export type FaultName = keyof typeof FAULTS;

/** Errors of what is no request of any operation yet. They are judged first, and carry neither CORS headers nor those of a limit. */
export const BARE_FAULTS: readonly FaultName[] = [
  "badRequest",
  "bodyNotAllowed",
  "headTooLarge",
  "timeout",
  "expectation",
];

/** The error of a key that lacks a scope. */
export const SCOPE_FAULTS: Readonly<Record<Scope, FaultName>> = {
  "read:worlds": "scopeWorlds",
  "read:users": "scopeUsers",
  "read:instances": "scopeInstances",
};
