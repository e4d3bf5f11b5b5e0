/** The requests and replies of the core, which every adapter (node:http, fetch, direct calls) turns its own messages into. */

import type { Body } from "./body.ts";
import type { FaultName } from "./fault.ts";

/** The address of a peer over a Unix socket. */
export const LOCAL_PEER = "unix";

export interface Peer {
  readonly remoteAddress?: string | undefined;
}

/** The caller of the process itself: every scope, no limit, nothing counted. */
export const PROCESS = Symbol("process");

/** A caller that the host sets in place of the `Authorization` header: the id of a key, or the process itself. */
export type ChosenCaller = string | typeof PROCESS;

/** One request. Header values are as on the wire; absent headers are undefined. */
export interface Ask {
  /** Upper-case HTTP method. */
  readonly method: string;
  /** Request target: a path with an optional query, or the absolute form. */
  readonly target: string;
  readonly authorization?: string | undefined;
  /** Takes the place of {@link authorization}, where present. */
  readonly caller?: ChosenCaller | undefined;
  readonly ifNoneMatch?: string | undefined;
  readonly ifMatch?: string | undefined;
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** The other headers, by lower-case name; values of one name are joined by a comma. */
  readonly headers?: Pick<Headers, "get"> | undefined;
  /** For the log alone; absent without a connection. */
  readonly peer?: Peer | undefined;
  /** Whether the peer is gone, so that an expensive answer is wasted; never when absent. */
  readonly isGone?: (() => boolean) | undefined;
}

export interface Reply {
  readonly status: number;
  /** Header lines, each with its CRLF; `Content-Length` included. */
  readonly headers: string;
  /** Empty text for HEAD, 204 and 304. */
  readonly body: Body;
  /** Path pattern of the operation that answered, or "" when no path matched. */
  readonly route: string;
  /** Id of the key that was admitted or limited, or "". Never a token. */
  readonly keyId: string;
  readonly fault?: FaultName | undefined;
  /** The ETag of a 200 or 304 of an operation. */
  readonly etag?: string | undefined;
}

/** Most elements that are read of a header that is a list; no client sends as many. */
export const MAX_ELEMENTS = 64;

/** The first elements of a header that is a list, with the blanks around them. */
export function listElements(header: string): readonly string[] {
  return header.split(",", MAX_ELEMENTS);
}

const ABSOLUTE = /^https?:\/\/[^/?#]*/i;

/** Splits a request target at its first `?`; an absolute form loses its authority. */
export function splitTarget(target: string): { path: string; query: string } {
  const local = target.startsWith("/") ? target : target.replace(ABSOLUTE, "");
  const mark = local.indexOf("?");
  return mark < 0 ? { path: local, query: "" } : { path: local.slice(0, mark), query: local.slice(mark + 1) };
}
