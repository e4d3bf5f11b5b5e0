/** Ids that a request brings, for finding its access log line from elsewhere: checked before use. */

import type { Ask } from "./message.ts";

/** Refuses ids that a log reader could split or confuse. */
export const REQUEST_ID = /^[A-Za-z0-9._~+/=:@-]{1,128}$/;

/** The `X-Request-Id` of a request, if it may be logged and sent back: an id that contains a prefix may be a token. */
export function requestIdOf(
  headers: Ask["headers"],
  prefixes: Readonly<Record<"api" | "cli", string>>,
): string | undefined {
  const requestId = headers?.get("x-request-id") ?? "";
  if (requestId === "" || !REQUEST_ID.test(requestId)) return undefined;
  return requestId.includes(prefixes.api) || requestId.includes(prefixes.cli) ? undefined : requestId;
}

const TRACEPARENT = /^(?!ff)([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(-.{0,200})?$/;
const ZEROS = /^0+$/;

/** The W3C trace context of a request: ids of its trace and of the caller's part of it; undefined when absent or malformed. */
export function traceOf(headers: Ask["headers"]) {
  const text = headers?.get("traceparent") ?? "";
  const parts = text === "" ? null : TRACEPARENT.exec(text);
  if (parts === null) return undefined;
  const [, version, traceId, parentId, more] = parts;
  // Only later versions may have more parts.
  if (version === "00" && more !== undefined) return undefined;
  return ZEROS.test(traceId!) || ZEROS.test(parentId!)
    ? undefined
    : { traceId: traceId!, parentId: parentId! };
}
