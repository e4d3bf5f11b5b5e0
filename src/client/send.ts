/**
 * One request, with patience: it is sent again when the network or the server
 * failed, and when the server asks to wait. All else is for the caller.
 */

import { ApiError, NetworkError, RateLimitError, SnapshotChangedError } from "./errors.ts";

/** What a client is made with. */
export interface ClientOptions {
  /**
   * Where the API is, such as `https://example.org/api/public/v1`; that path is added where it is missing.
   * In a browser it may be relative to the page.
   */
  readonly baseUrl: string | URL;
  /** An API key or CLI token. It is sent in the `Authorization` header alone. */
  readonly token: string;
  /** Makes the requests; the runtime's `fetch` when absent. */
  readonly fetch?: typeof globalThis.fetch;
  /** How often a request is sent again after network errors and replies from 500 on; 3 when absent. */
  readonly retries?: number;
  /** The longest that a request waits in all because the server asks for it (`Retry-After`); 60,000 ms when absent. */
  readonly maxWaitMs?: number;
}

/** A reply with status 200. */
export interface Reply {
  readonly body: unknown;
  /** Names the generation that answered; null where the server does not say. */
  readonly etag: string | null;
}

/** What a request may say beside its target. */
export interface Ask {
  readonly signal?: AbortSignal | undefined;
  /** The ETag of the generation that must answer. */
  readonly ifMatch?: string | undefined;
}

/** Sends a request for a path below the base URL, with its query. */
export type Send = (target: string, ask: Ask) => Promise<Reply>;

const BASE_PATH = "/api/public/v1";

/** Before the first try again at most so long, in milliseconds, then each time twice as long. */
const FIRST_PAUSE_MS = 200;
const LONGEST_PAUSE_MS = 5000;

function baseOf(baseUrl: string | URL): string {
  const { location } = globalThis as { location?: { href: string } };
  let url: URL;
  try {
    url = new URL(baseUrl, location?.href);
  } catch {
    throw new TypeError("baseUrl: is not a URL");
  }
  const { href, origin, pathname } = url;
  if (!/^https?:/.test(href)) throw new TypeError("baseUrl: must begin with http: or https:");
  const path = pathname.replace(/\/+$/, "");
  return origin + (path.endsWith(BASE_PATH) ? path : path + BASE_PATH);
}

/** A count that was given, or its default. */
function atLeastZero(name: string, given: number | undefined, otherwise: number): number {
  if (given === undefined) return otherwise;
  if (!(given >= 0)) throw new TypeError(`${name}: must be a number of at least 0`);
  return given;
}

/** Resolves after a while; rejects with the signal's reason when it is aborted. */
function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = (): void => {
      clearTimeout(timer);
      reject(signal!.reason);
    };
    const timer = setTimeout(
      () => {
        signal?.removeEventListener("abort", abort);
        resolve();
      },
      // Timers take no longer one.
      Math.min(ms, 2 ** 31 - 1),
    );
    signal?.addEventListener("abort", abort, { once: true });
  });
}

/** A growing pause, random so that many clients do not come back at once. */
function growingPause(failures: number): number {
  return Math.min(FIRST_PAUSE_MS * 2 ** (failures - 1), LONGEST_PAUSE_MS) * (0.5 + Math.random() / 2);
}

/** How long a reply asks to wait, in milliseconds; undefined when it does not say. */
function waitOf({ status, headers }: Response): number | undefined {
  const after = headers.get("retry-after")?.trim() ?? "";
  // A number of seconds, or the time at which to come again.
  let ms = /^\d+$/.test(after) ? Number(after) * 1000 : Date.parse(after) - Date.now();
  if (Number.isNaN(ms) && status === 429)
    ms = Number(headers.get("x-ratelimit-reset") || "?") * 1000 - Date.now();
  // Whoever says "at once" to a client that is always refused would be asked without end.
  return Number.isNaN(ms) ? undefined : Math.max(ms, FIRST_PAUSE_MS);
}

/** JSON, or undefined. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** What a reply that is no 200 says, for people. */
function messageOf({ status, statusText }: Response, body: unknown): string {
  const said = (body as { error?: unknown } | null | undefined)?.error;
  return typeof said === "string" ? said : statusText || `HTTP status ${status}`;
}

/**
 * Makes what sends the requests of a client.
 *
 * @throws {TypeError} when an option cannot be used; the message never holds the token
 */
export function createSend({ baseUrl, token, fetch: given, retries, maxWaitMs }: ClientOptions): Send {
  const base = baseOf(baseUrl);
  // A header with anything else would be refused in words that repeat it.
  if (typeof token !== "string" || !/^[!-~]+$/.test(token))
    throw new TypeError("token: must be visible ASCII characters, at least one");
  const mostTries = atLeastZero("retries", retries, 3);
  const mostWait = atLeastZero("maxWaitMs", maxWaitMs, 60_000);

  /** Why there was no whole answer. An error of `fetch` may hold what was sent, so only its message and code go on. */
  function networkError(error: unknown): NetworkError {
    const { message = String(error), cause } = Object(error) as {
      message?: string;
      cause?: { code?: unknown };
    };
    const code = typeof cause?.code === "string" ? ` (${cause.code})` : "";
    return new NetworkError(`no answer: ${message}${code}`.replaceAll(token, "…"));
  }

  return async (target, { signal, ifMatch }) => {
    const request = given ?? fetch;
    const headers: Record<string, string> = { authorization: `Bearer ${token}`, accept: "application/json" };
    if (ifMatch !== undefined) headers["if-match"] = ifMatch;
    let failures = 0;
    let waited = 0;
    for (;;) {
      signal?.throwIfAborted();
      let failure: Error;
      let wait: number | undefined;
      try {
        const response = await request(base + target, { headers, signal: signal ?? null });
        const { status } = response;
        const body = parse(await response.text());
        if (status === 200) {
          if (typeof body === "object" && body !== null && "data" in body) {
            return { body, etag: response.headers.get("etag") };
          }
          throw new ApiError(status, "the reply is not JSON of this API");
        }
        const message = messageOf(response, body).replaceAll(token, "…");
        if (status === 412) throw new SnapshotChangedError(message);
        if (status !== 429 && status < 500) throw new ApiError(status, message);
        wait = waitOf(response);
        if (status === 429) wait ??= growingPause(++failures);
        failure = status === 429 ? new RateLimitError(message, wait!) : new ApiError(status, message);
      } catch (error) {
        if (error instanceof ApiError) throw error;
        signal?.throwIfAborted();
        failure = networkError(error);
      }
      if (!(failure instanceof RateLimitError)) {
        if (++failures > mostTries) throw failure;
        wait ??= growingPause(failures);
      }
      waited += wait!;
      if (failure instanceof ApiError && waited > mostWait) throw failure;
      await pause(wait!, signal);
    }
  };
}
