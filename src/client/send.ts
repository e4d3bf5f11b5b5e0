/**
 * One request with its retries: it is sent again after a network error or a status from 500 on while tries are left, and
 * after a 429 while there is time to wait as the server asks. An abort ends each wait at once.
 */

import { ApiError, NetworkError, RateLimitError, SnapshotChangedError } from "./errors.ts";
import { checkWords, type Rule, refuse, targetOf, type Words } from "./target.ts";

/** Options of a client. */
export interface ClientOptions {
  /**
   * URL of the API, such as `https://example.org/api/public/v1`; that path is added where it is missing. In a browser
   * it may be relative to the page.
   */
  readonly baseUrl: string | URL;
  /** An API key or CLI token. It is sent in the `Authorization` header alone. */
  readonly token: string;
  /** Sends the requests; the runtime's `fetch` when absent. */
  readonly fetch?: typeof globalThis.fetch;
  /** Most retries of a request after network errors and replies from 500 on; 3 when absent. */
  readonly retries?: number;
  /** Longest total wait of a request that the server asks for (`Retry-After`); 60,000 ms when absent. */
  readonly maxWaitMs?: number;
  /**
   * Called for every reply as soon as its head has arrived, also for replies before a retry. A promise that it returns
   * is awaited. If it throws, the call rejects with that error and sends nothing more.
   */
  readonly onResponse?: (reply: ReplyHead) => unknown;
}

/** Options of every call. */
export interface CallOptions {
  /** Ends the call, its waiting included; it rejects with the signal's reason. */
  readonly signal?: AbortSignal;
  /**
   * The ETag of the generation that must answer; another one is a {@link SnapshotChangedError}. A 404 names no generation,
   * so it may be of another one.
   */
  readonly ifMatch?: string | undefined;
}

/** The head of a reply. */
export interface ReplyHead {
  /** The requested URL. */
  readonly url: string;
  readonly status: number;
  /** Such as `x-ratelimit-remaining`, `etag` and `x-request-id`. */
  readonly headers: Headers;
}

/** A reply with status 200. */
export interface GoodReply {
  readonly body: unknown;
  /** Names the generation that answered; null where the server does not say. */
  readonly etag: string | null;
}

/**
 * Sends a request for a path below the base URL.
 * @param options of the caller; they are checked here
 * @param more words of the query, which replace those of the options
 * @param pin the ETag of the generation that must answer; that of the options when absent
 * @param left aborted when the reply is no longer needed: a request in flight is not retried
 */
export type Send = (
  path: string,
  options?: CallOptions,
  more?: Words,
  pin?: string | null,
  left?: AbortSignal,
) => Promise<GoodReply>;

const BASE_PATH = "/api/public/v1";

/** The generation that an ETag names; a proxy that compresses marks the same name as weak, or by its coding. */
function nameOf(etag: string | null | undefined): string | undefined {
  return etag?.replace(/^W\//, "").replace(/(?:--?|;)(?:gzip|br|zstd|deflate)"$/, '"');
}

/** Longest pause before the first retry; it doubles with each retry. */
const FIRST_PAUSE_MS = 200;
const LONGEST_PAUSE_MS = 5000;

/** A failure after which a request may be sent again. */
interface Failure {
  /** Absent when there was no answer. */
  readonly status?: number;
  readonly message: string;
  /** The wait that the server asks for, in milliseconds; NaN or absent when it does not. */
  readonly askedMs?: number;
}

/** The prefix of each target. @throws {TypeError} for anything but an HTTP URL */
function baseOf(baseUrl: unknown): string {
  try {
    // Only URLs and strings pass here: relative to a page's address, anything would be a URL.
    const text = (baseUrl as URL).href ?? (baseUrl as string).trim();
    const { protocol, origin, pathname } = new URL(text, (globalThis as { location?: URL }).location?.href);
    const [before] = (origin + pathname).split(BASE_PATH) as [string];
    if (/^https?:/.test(protocol)) return before.replace(/\/+$/, "") + BASE_PATH;
  } catch {}
  throw new TypeError("baseUrl: must be an HTTP URL");
}

const callable: Rule = (value) => typeof value !== "function" && "a function";
const amount: Rule = (value) => !(typeof value === "number" && value >= 0) && "a number from 0";

const OPTIONS: Readonly<Record<keyof ClientOptions, Rule>> = {
  // Required, so checked below.
  baseUrl: () => false,
  token: () => false,
  fetch: callable,
  retries: amount,
  maxWaitMs: amount,
  onResponse: callable,
};

/** The result of some work, or a rejection with the signal's reason once it is aborted: the work may not know of the signal. */
function unlessAborted<Result>(work: () => Promise<Result>, signal?: AbortSignal): Promise<Result> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const abort = (): void => reject(signal!.reason);
    signal?.addEventListener("abort", abort);
    work()
      .then(resolve, reject)
      .finally(() => signal?.removeEventListener("abort", abort));
  });
}

function judge({ status, headers }: Response, text: string): GoodReply | Failure {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {}
  const { data, error } = Object(body) as { data?: unknown; error?: unknown };
  if (status === 200 && data) return { body, etag: headers.get("etag") };
  // A number of seconds, or the time for the next request.
  const after = headers.get("retry-after") as string;
  const ms = +after * 1000 || Date.parse(after) - Date.now();
  return {
    status,
    message: typeof error === "string" ? error : `HTTP ${status}, not JSON of this API`,
    // Else a server that asks for no wait and always refuses would be asked without end.
    askedMs: Math.max(ms, FIRST_PAUSE_MS),
  };
}

/** Waits, unless the call is aborted or its reply is no longer needed. */
function pause(ms: number, signal?: AbortSignal, left?: AbortSignal): Promise<unknown> {
  let timer: ReturnType<typeof setTimeout>;
  // Timers take no longer pause.
  const over = () => new Promise((resolve) => (timer = setTimeout(resolve, Math.min(ms, 2e9))));
  return unlessAborted(() => unlessAborted(over, left), signal).finally(() => clearTimeout(timer));
}

/** Makes the function that sends a request once. @throws {TypeError} when an option cannot be used, without the token */
function createAttempt(options: ClientOptions) {
  const {
    baseUrl,
    token,
    // Looked up for each request: programs replace `fetch`.
    fetch: request = (...args: Parameters<typeof fetch>) => fetch(...args),
    onResponse = () => {},
  } = checkWords(options, OPTIONS);
  const base = baseOf(baseUrl);
  // The error for a header with anything else would contain the token.
  refuse("token", !(typeof token === "string" && /^[!-~]+$/.test(token)) && "given, in visible ASCII");

  return async (target: string, ifMatch?: string, signal?: AbortSignal): Promise<GoodReply | Failure> => {
    const url = base + target;
    let isOwn = false;
    try {
      return await unlessAborted(async () => {
        const response = await request(url, {
          headers: { authorization: `Bearer ${token}`, ...(ifMatch && { "if-match": ifMatch }) },
          signal: signal as AbortSignal,
        });
        const { status, headers } = response;
        // Always read: an unread body would hold the connection.
        const text = response.text();
        text.catch(() => {});
        isOwn = true;
        await onResponse({ url, status, headers });
        isOwn = false;
        return judge(response, await text);
      }, signal);
    } catch (error) {
      signal?.throwIfAborted();
      if (isOwn) throw error;
      // The error may contain the request, so only its message and code are kept.
      const { message = error, cause } = Object(error) as { message?: unknown; cause?: { code?: unknown } };
      return { message: `no answer: ${message}${cause?.code ? ` (${cause.code})` : ""}` };
    }
  };
}

/** The final error of a call. @param waitMs the wait that the server asks for */
function errorOf(status: number | undefined, message: string, waitMs: number): Error {
  if (status === undefined) return new NetworkError(message);
  if (status === 412) return new SnapshotChangedError(message);
  return status === 429 ? new RateLimitError(message, waitMs) : new ApiError(status, message);
}

/** Makes the function that sends the requests of a client. @throws as {@link createAttempt} */
export function createSend(options: ClientOptions): Send {
  const attempt = createAttempt(options);
  return async (path, given = {}, more, pin, left) => {
    const { signal, onChange, ifMatch, ...words } = checkWords(given as CallOptions & { onChange?: unknown });
    const etag = pin ?? ifMatch;
    // A weak ETag never matches in `If-Match`.
    const strong = etag?.[0] === '"' ? etag : undefined;
    const target = targetOf(path, { ...words, ...more });
    let { token, retries = 3, maxWaitMs = 60_000 } = options;
    for (let pauses = 0; ; ) {
      const outcome = await attempt(target, strong, signal);
      if ("body" in outcome) {
        // A server that judged If-Match need not name the generation again.
        if (etag && nameOf(outcome.etag ?? strong) !== nameOf(etag))
          throw new SnapshotChangedError("Snapshot has changed");
        return outcome;
      }
      const { status, message, askedMs } = outcome;
      const isLimit = status === 429;
      // Random, so that many clients do not return at once.
      const wait =
        askedMs || Math.min(FIRST_PAUSE_MS * 2 ** pauses++, LONGEST_PAUSE_MS) * (0.5 + Math.random() / 2);
      if (isLimit || askedMs) maxWaitMs -= wait;
      // A used-up window is no failure.
      const mayPass = isLimit || (!(status! < 500) && retries-- > 0);
      if (!mayPass || maxWaitMs < 0) throw errorOf(status, message.replaceAll(token, "…"), wait);
      await pause(wait, signal, left);
    }
  };
}
