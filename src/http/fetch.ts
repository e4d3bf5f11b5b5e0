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
 * and a path without an origin. Rejects with a TypeError for any other argument, and with the reason of the signal if
 * that is aborted: the one of `init` if given, else the one of the request.
 */
export type FetchHandler = (
  input: RequestLike | string | { readonly href: string; toString(): string },
  init?: RequestInit,
) => Promise<Response>;

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

/** Reads a request as the global `fetch` reads its arguments. The body and the signal of a given request are left out. */
function readRequest(input: unknown, like: RequestLike | undefined, init?: RequestInit): RequestLike {
  if (like !== undefined && init === undefined) return like;
  try {
    const given = like?.url ?? String(input);
    const url = given.startsWith("/") ? ANY_HOST + given : given;
    if (!URL.canParse(url))
      throw new TypeError("the first argument must be a URL, a path or a Request; a path begins with /");
    if (like === undefined) return new Request(url, init);
    return new Request(new Request(url, { method: like.method, headers: headersOf(like) }), init);
  } catch (error) {
    throw new TypeError(`fetch: ${(error as Error).message}`, { cause: error });
  }
}

function throwIfAborted(signal: AbortSignal | null | undefined): void {
  // Signals of other implementations may have no reason.
  if (signal?.aborted) throw signal.reason ?? new DOMException("This operation was aborted", "AbortError");
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

/**
 * Deno prints a notice when the signal of a request to its server is first read. There it is read only when a search asks whether
 * its caller is gone.
 */
const IS_DENO = "deno" in process.versions;

/** @internal Creates the adapter to a state. @param caller replaces the `Authorization` header if given */
export function createFetchHandler(state: State, caller?: ChosenCaller): FetchHandler {
  return async (input, init) => {
    const like = isRequestLike(input) ? input : undefined;
    const request = readRequest(input, like, init);
    let mayRead = !IS_DENO;
    const readSignal = () => (init?.signal === undefined && mayRead ? like?.signal : init?.signal);
    throwIfAborted(readSignal());
    const { url, headers } = request;
    const method = request.method.toUpperCase();
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
        isGone() {
          mayRead = true;
          return readSignal()?.aborted ?? false;
        },
      },
      state,
    );
    throwIfAborted(readSignal());
    return responseOf(reply, method === "HEAD");
  };
}
