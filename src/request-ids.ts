/** Ids that a request brings, by which its line in the access log is found from elsewhere: checked before they are used. */

import type { RequestIds } from "./message.ts";

/** Where a request belongs in a trace. */
export interface Trace {
  /** 32 hex digits. */
  readonly traceId: string;
  /** Of the caller's part of the trace; 16 hex digits. */
  readonly parentId: string;
}

/** What is no id cannot be taken apart by whoever reads the log, nor can two ids be one. */
export const REQUEST_ID = /^[A-Za-z0-9._~+/=:@-]{1,128}$/;

/**
 * The `X-Request-Id` of a request, if it is one that may be logged and sent back.
 *
 * @param prefixes of tokens; what holds one may be a token
 */
export function requestIdOf(
  { requestId }: RequestIds,
  prefixes: Readonly<Record<"api" | "cli", string>>,
): string | undefined {
  if (requestId === undefined || !REQUEST_ID.test(requestId)) return undefined;
  return requestId.includes(prefixes.api) || requestId.includes(prefixes.cli) ? undefined : requestId;
}

const TRACEPARENT = /^(?!ff)([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(-.{0,200})?$/;
const ZEROS = /^0+$/;

/** The W3C trace context of a request; what is malformed counts as absent. */
export function traceOf({ traceparent }: RequestIds): Trace | undefined {
  const parts = traceparent === undefined ? null : TRACEPARENT.exec(traceparent);
  if (parts === null) return undefined;
  const [, version, traceId, parentId, more] = parts;
  // Later versions may say more.
  if (version === "00" && more !== undefined) return undefined;
  return ZEROS.test(traceId!) || ZEROS.test(parentId!)
    ? undefined
    : { traceId: traceId!, parentId: parentId! };
}

const REQUEST_ID_HEADER = "x-request-id";
const TRACEPARENT_HEADER = "traceparent";

function joined(before: string | undefined, value: string): string {
  return before === undefined ? value : `${before}, ${value}`;
}

/** Finds them among raw headers: names and values in turn. */
export function idsOfRaw(raw: readonly string[]): RequestIds {
  let requestId: string | undefined;
  let traceparent: string | undefined;
  for (let at = 0; at < raw.length; at += 2) {
    const name = raw[at]!;
    if (name.length === REQUEST_ID_HEADER.length && name.toLowerCase() === REQUEST_ID_HEADER)
      requestId = joined(requestId, raw[at + 1]!);
    else if (name.length === TRACEPARENT_HEADER.length && name.toLowerCase() === TRACEPARENT_HEADER)
      traceparent = joined(traceparent, raw[at + 1]!);
  }
  return { requestId, traceparent };
}

/** Finds them among web-standard headers. */
export function idsOfHeaders(headers: { readonly get: (name: string) => string | null }): RequestIds {
  return {
    requestId: headers.get(REQUEST_ID_HEADER) ?? undefined,
    traceparent: headers.get(TRACEPARENT_HEADER) ?? undefined,
  };
}
