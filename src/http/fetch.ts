/** The web-standard adapter: a `Request` in, a `Response` out. For Deno, Bun, workers and tests. */

import { answer, type State } from "../api/answer.ts";
import { splitHeaders } from "../api/headers.ts";
import { type Body, bodyBytes, isAscii } from "../model/body.ts";
import type { ChosenCaller, Reply } from "../model/message.ts";

/** The fields used of a request, of this runtime or of another implementation. */
export interface RequestLike {
  readonly method: string;
  /** Absolute. */
  readonly url: string;
  readonly headers: Pick<Headers, "get"> & Partial<Iterable<[string, string]>>;
  readonly signal?: AbortSignal | null;
}

/**
 * Answers one web-standard request. It takes the arguments of the global `fetch`, requests of other implementations,
 * and a path without an origin. Rejects with a TypeError for any other argument, and with the reason of an aborted
 * signal in `init`.
 */
export type FetchHandler = (input: RequestLike | string | URL, init?: RequestInit) => Promise<Response>;

/** For targets that are a path alone; the host has no effect. */
const ANY_HOST = "http://localhost";

function isRequestLike(input: unknown): input is RequestLike {
  const { method, url, headers } = Object(input) as Partial<RequestLike>;
  return typeof method === "string" && typeof url === "string" && typeof headers?.get === "function";
}

function headersOf({ headers }: RequestLike): Headers {
  if (headers instanceof Headers) return headers;
  const lines = headers as Partial<Iterable<[string, string]>>;
  if (lines[Symbol.iterator] === undefined)
    throw new TypeError("the headers of the request cannot be listed; pass it without a second argument");
  return new Headers([...(lines as Iterable<[string, string]>)]);
}

function readRequest(input: unknown, init: RequestInit | undefined): RequestLike {
  const like = isRequestLike(input) ? input : undefined;
  if (like !== undefined && init === undefined) return like;
  const given = like?.url ?? (input instanceof URL ? input.href : input);
  const url = typeof given === "string" && given.startsWith("/") ? ANY_HOST + given : given;
  if (typeof url !== "string" || !URL.canParse(url))
    throw new TypeError("fetch: the first argument must be a URL, a path or a Request; a path begins with /");
  try {
    if (like === undefined) return new Request(url, init);
    const { method, signal } = like;
    return new Request(url, { method, headers: headersOf(like), signal: signal ?? null, ...init });
  } catch (error) {
    throw new TypeError(`fetch: ${(error as Error).message}`, { cause: error });
  }
}

/** Blobs of shared bytes: a response copies an array, but refers to a Blob. */
const blobs = new WeakMap<Buffer, Blob>();

function blobOf(bytes: Buffer): Blob {
  let blob = blobs.get(bytes);
  if (blob === undefined) {
    blob = new Blob([bytes as Buffer<ArrayBuffer>]);
    blobs.set(bytes, blob);
  }
  return blob;
}

function bodyOf(body: Body): string | Uint8Array<ArrayBuffer> | Blob {
  if (isAscii(body)) return body;
  return typeof body !== "string" && body.isShared ? blobOf(body.slices.bytes) : bodyBytes(body);
}

function responseOf({ status, headers: lines, body }: Reply, isHead: boolean): Response {
  // A record costs less than Headers or a list of pairs.
  const headers: Record<string, string> = {};
  const list = splitHeaders(lines);
  for (let at = 0; at < list.length; at += 2) headers[list[at]!] = list[at + 1]!;
  return new Response(isHead || body === "" ? null : bodyOf(body), { status, headers });
}

/** @internal Creates the adapter to a state. @param caller replaces the `Authorization` header if given */
export function createFetchHandler(state: State, caller?: ChosenCaller): FetchHandler {
  return async (input, init) => {
    const request = readRequest(input, init);
    const { method, url, headers } = request;
    init?.signal?.throwIfAborted();
    const fragment = url.indexOf("#");
    const reply = await answer(
      {
        method,
        // A Request keeps the fragment, which is no part of the target.
        target: fragment < 0 ? url : url.slice(0, fragment),
        authorization: headers.get("authorization") ?? undefined,
        caller,
        ifNoneMatch: headers.get("if-none-match") ?? undefined,
        ifMatch: headers.get("if-match") ?? undefined,
        now: Date.now(),
        headers,
        // Read lazily: the runtime makes the signal at first access, which most requests never need.
        isGone: () => request.signal?.aborted ?? false,
      },
      state,
    );
    init?.signal?.throwIfAborted();
    return responseOf(reply, method === "HEAD");
  };
}
