/** Every error that a client can get. No code throws these: a throw is a defect and answers {@link FAULTS.internal}. */

import type { Scope } from "./model.ts";

/** One error: HTTP status, the text under `error`, and when it is sent. */
interface Fault {
  readonly status: number;
  readonly message: string;
  readonly when: string;
}

const fault = (status: number, message: string, when: string): Fault => ({ status, message, when });

/** Bytes that are not valid HTTP, for a reason that quotes nothing of them. */
const malformed = (reason: string, when: string): Fault => fault(400, `Bad request: ${reason}`, when);

/** The table of errors, in the order in which they are judged. */
export const FAULTS = {
  badRequest: fault(
    400,
    "Bad request",
    "The bytes sent are not valid HTTP. Of the kinds below, the reason follows a colon.",
  ),
  requestLine: malformed(
    "malformed request line",
    "The first line is not a known method, a target and the version 1.0 or 1.1.",
  ),
  proxyProtocol: malformed(
    "a line of the PROXY protocol",
    "A proxy sends the PROXY protocol, version 1 or 2, before the request: switch it off there; `X-Forwarded-For` has the address.",
  ),
  field: malformed("malformed header field", "A line of the head is no name, a colon and a value."),
  length: malformed(
    "malformed Content-Length",
    "`Content-Length` is no number, is sent twice, or is sent with `Transfer-Encoding`.",
  ),
  coding: malformed(
    "malformed Transfer-Encoding",
    "`Transfer-Encoding` is empty, or lists a coding after `chunked`.",
  ),
  noHost: malformed("no Host header", "An HTTP/1.1 request has no `Host`."),
  twoHosts: malformed("two Host headers", "A request has more than one `Host`."),
  incomplete: malformed("incomplete request", "The connection ended within a request."),
  bodyNotAllowed: fault(
    400,
    "Request body not allowed",
    "The request has a body other than one of at most 65,536 bytes by `Content-Length`, or a chunked one without a byte.",
  ),
  headTooLarge: fault(
    431,
    "Request header fields too large",
    "The request head exceeds 16 KiB or has more than 128 headers.",
  ),
  timeout: fault(408, "Request timeout", "The request did not arrive in time."),
  expectation: fault(417, "Expectation failed", "`Expect` asks for anything but `100-continue`."),
  closed: fault(503, "Server is closed", "The program that embeds orrery has closed it."),
  notFound: fault(404, "Not found", "The path does not exist."),
  methodNotAllowed: fault(
    405,
    "Method not allowed",
    "The path exists, but the method is not GET, HEAD or OPTIONS.",
  ),
  noToken: fault(401, "Authentication required", "There is no `Authorization` header."),
  tokenFormat: fault(
    401,
    "Invalid token format",
    "The header is not `Bearer` followed by a token with a known prefix.",
  ),
  apiKeyUnknown: fault(401, "Invalid API key", "No such API key."),
  apiKeyInactive: fault(401, "API key is deactivated", "The API key was disabled."),
  apiKeyExpired: fault(401, "API key has expired", "The API key has passed its expiry time."),
  cliTokenUnknown: fault(401, "Invalid CLI token", "No such CLI token, or it was disabled."),
  cliTokenExpired: fault(401, "CLI token has expired", "The CLI token has passed its expiry time."),
  rateLimited: fault(429, "Rate limit exceeded", "The API key has used all its requests in this window."),
  scopeWorlds: fault(403, "Insufficient scope. Required: read:worlds", "The API key lacks `read:worlds`."),
  scopeUsers: fault(403, "Insufficient scope. Required: read:users", "The API key lacks `read:users`."),
  scopeInstances: fault(
    403,
    "Insufficient scope. Required: read:instances",
    "The API key lacks `read:instances`.",
  ),
  noQuery: fault(400, 'Query parameter "q" is required', "`q` is missing or has nothing to search for."),
  worldMissing: fault(404, "World not found", "No visible world has this id."),
  userMissing: fault(404, "User not found", "No user has this id."),
  instanceMissing: fault(404, "Instance not found", "No visible instance has this id."),
  busy: fault(
    503,
    "Server is busy",
    "Too many searches are waiting, in total or for this key. Send it again after the seconds in `Retry-After`.",
  ),
  snapshotChanged: fault(
    412,
    "Snapshot has changed",
    "`If-Match` names a generation other than the one being served.",
  ),
  internal: fault(500, "Internal server error", "A defect; the log has the details."),
} as const;

export type FaultName = keyof typeof FAULTS;

export const SCOPE_FAULTS: Readonly<Record<Scope, FaultName>> = {
  "read:worlds": "scopeWorlds",
  "read:users": "scopeUsers",
  "read:instances": "scopeInstances",
};
