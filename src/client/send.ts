/**
 * One request, with patience: it is sent again when the network or the server
 * failed, and when the server asks to wait. All else is for the caller.
 */

import { ApiError, NetworkError, RateLimitError, SnapshotChangedError } from "./errors.ts";
import { refuse } from "./target.ts";

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
  /**
   * Told of every reply as its head is there, also of those after which a request is sent again. What it throws, the call
   * rejects with.
   */
  readonly onResponse?: (reply: ReplyHead) => void;
}

/** The head of a reply. */
export interface ReplyHead {
  /** What was asked for. */
  readonly url: string;
  readonly status: number;
  /** Such as `x-ratelimit-remaining`, `etag` and `x-request-id`. */
  readonly headers: Headers;
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
  try {
    // Neither a URL nor a string throws here; beside a page's address anything would be a URL.
    const text = (baseUrl as URL).href ?? (baseUrl as string).trim();
    const { protocol, origin, pathname } = new URL(text, location?.href);
    const path = pathname.replace(/\/+$/, "");
    if (/^https?:$/.test(protocol)) return origin + (path.endsWith(BASE_PATH) ? path : path + BASE_PATH);
  } catch {}
  return refuse("baseUrl", "an HTTP URL");
}

/** An option of the type of its default. */
function option<Value>(name: string, given: Value | undefined, otherwise: Value): Value {
  if (given === undefined) return otherwise;
  if (typeof otherwise === "function")
    return typeof given === "function" ? given : refuse(name, "a function");
  return typeof given === "number" && given >= 0 ? given : refuse(name, "a number from 0");
}

/** What becomes of some work, or the signal's reason as soon as it is aborted: the work itself may not know of the signal. */
function unlessAborted<Result>(work: Promise<Result>, signal: AbortSignal | undefined): Promise<Result> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal!.reason);
    signal?.addEventListener("abort", abort);
    if (signal?.aborted) abort();
    work.then(resolve, reject).finally(() => signal?.removeEventListener("abort", abort));
  });
}

/** A growing pause, random so that many clients do not come back at once. */
function growingPause(failures: number): number {
  return Math.min(FIRST_PAUSE_MS * 2 ** (failures - 1), LONGEST_PAUSE_MS) * (0.5 + Math.random() / 2);
}

/** How long a reply asks to wait, in milliseconds; NaN when it does not say. */
function waitOf({ status, headers }: Response): number {
  const after = headers.get("retry-after") ?? "";
  const reset = status === 429 && Number(headers.get("x-ratelimit-reset")) * 1000;
  // A number of seconds, or the time at which to come again.
  const ms = /^\d+$/.test(after)
    ? Number(after) * 1000
    : (Date.parse(after) || reset || Number.NaN) - Date.now();
  // Whoever says "at once" to a client that is always refused would be asked without end.
  return Math.max(ms, FIRST_PAUSE_MS);
}

/** JSON, or undefined. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * Makes what sends the requests of a client.
 *
 * @throws {TypeError} when an option cannot be used; the message never holds the token
 */
export function createSend(options: ClientOptions): Send {
  const { baseUrl, token } = options;
  const base = baseOf(baseUrl);
  // A header with anything else would be refused in words that repeat it.
  if (typeof token !== "string" || !/^[!-~]+$/.test(token)) refuse("token", "visible ASCII");
  const request = option("fetch", options.fetch, (...args) => fetch(...args));
  const onResponse = option("onResponse", options.onResponse, () => {});
  const mostTries = option("retries", options.retries, 3);
  const mostWait = option("maxWaitMs", options.maxWaitMs, 60_000);

  /** A part of an exchange. An error of `fetch` may hold what was sent, so only its message and code go on. */
  async function reach<Result>(
    work: () => Promise<Result>,
    signal: AbortSignal | undefined,
  ): Promise<Result> {
    try {
      return await unlessAborted(work(), signal);
    } catch (error) {
      signal?.throwIfAborted();
      const { message = String(error), cause } = Object(error) as {
        message?: string;
        cause?: { code?: unknown };
      };
      const code = typeof cause?.code === "string" ? ` (${cause.code})` : "";
      throw new NetworkError(`no answer: ${message}${code}`.replaceAll(token, "…"));
    }
  }

  return async (target, { signal, ifMatch }) => {
    if (signal !== undefined && !signal?.throwIfAborted) refuse("signal", "an AbortSignal");
    const headers = {
      authorization: `Bearer ${token}`,
      accept: "application/json",
      ...(ifMatch && { "if-match": ifMatch }),
    };
    let failures = 0;
    let waited = 0;
    for (;;) {
      signal?.throwIfAborted();
      let failure: Error;
      let wait = 0;
      try {
        const url = base + target;
        const response = await reach(() => request(url, { headers, signal: signal ?? null }), signal);
        const { status } = response;
        onResponse({ url, status, headers: response.headers });
        const body = parse(await reach(() => response.text(), signal));
        if (status === 200) {
          if (Object(body).data) return { body, etag: response.headers.get("etag") };
          throw new ApiError(status, "not JSON of this API");
        }
        const { error } = Object(body) as { error?: unknown };
        const said = typeof error === "string" ? error : `HTTP ${status}`;
        const message = said.replaceAll(token, "…");
        if (status === 412) throw new SnapshotChangedError(message);
        if (status !== 429 && status < 500) throw new ApiError(status, message);
        wait = waitOf(response);
        if (status === 429) wait ||= growingPause(++failures);
        failure = status === 429 ? new RateLimitError(message, wait) : new ApiError(status, message);
      } catch (error) {
        if (!(error instanceof NetworkError)) throw error;
        failure = error;
      }
      if (!(failure instanceof RateLimitError)) {
        if (++failures > mostTries) throw failure;
        wait ||= growingPause(failures);
      }
      waited += wait;
      if (failure instanceof ApiError && waited > mostWait) throw failure;
      let timer: ReturnType<typeof setTimeout>;
      const over = new Promise((resolve) => {
        // Timers take no longer one.
        timer = setTimeout(resolve, Math.min(wait, 2e9));
      });
      await unlessAborted(over, signal).finally(() => clearTimeout(timer));
    }
  };
}
