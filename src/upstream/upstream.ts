/**
 * Another server of this API, asked with patience: within its limit, again where it failed in passing, and bounded in time
 * and size whatever it sends.
 */

import { isObject } from "../util/json.ts";
import { SourceError } from "../util/source-error.ts";
import { tryAgain } from "./attempts.ts";
import { type Budget, createPace, type Pace, type PaceOptions } from "./pace.ts";
import { withoutToken } from "./problem.ts";
import { parseJson, readText, refusalOf } from "./reply.ts";
import { ask } from "./request.ts";
import { type Timing, wait } from "./timing.ts";

/** How to ask. */
export interface UpstreamOptions extends Pick<PaceOptions, "perHour" | "agesOfSent"> {
  /** Where its operations are; see `readApiUrl`. */
  readonly base: string;
  /** The token as it is now. */
  readonly token: () => string;
  readonly timing: Timing;
  readonly signal: AbortSignal;
  /** Told of every request that was sent, when its reply is there or it failed. */
  readonly onSent?: () => void;
  /** Told when nothing can be sent for a while, in milliseconds. */
  readonly onWait?: (ms: number) => void;
}

/** What one request says beside its target. */
export interface UpstreamAsk {
  readonly ifMatch?: string | undefined;
  readonly ifNoneMatch?: string | undefined;
  /** The value of `Authorization`; null sends none. The token's when absent. */
  readonly authorization?: string | null;
  /** Statuses that are taken as answers; others are errors. */
  readonly statuses: readonly number[];
}

/** What it answered. */
export interface UpstreamReply {
  readonly status: number;
  readonly headers: Headers;
  /** Names the generation; undefined where it does not say, or only weakly. */
  readonly etag: string | undefined;
  /** Parsed JSON; undefined where there is none. */
  readonly body: unknown;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

/** A server. */
export interface Upstream {
  /** Asks for a path with its query. @throws {SourceError} naming the URL; the signal's reason */
  readonly get: (target: string, ask: UpstreamAsk) => Promise<UpstreamReply>;
  /** Requests sent so far, failed ones included. */
  readonly requests: () => number;
  readonly budget: () => Budget;
  readonly timeFor: Pace["timeFor"];
  /** Takes the token out of what the server sent, for messages; to be called before anything is cut off. */
  readonly hide: (text: string) => string;
}

const MOST_ATTEMPTS = 5;
const MOST_REFUSALS = 10;
/** Shorter waits are not reported. */
const TELL_MS = 2000;
/** Longest sleep at a time: timers have a limit, and the machine may have been suspended meanwhile. */
const LONGEST_WAIT_MS = 60_000;
/** Every status that ends an exchange: what each means is decided here. */
const EVERY_STATUS: readonly number[] = Array.from({ length: 400 }, (_, at) => 200 + at);

/** Asks a server. Nothing is sent before the first request. */
export function createUpstream(options: UpstreamOptions): Upstream {
  const { base, token, timing, signal, onSent, onWait } = options;
  const pace = createPace(options);
  let requests = 0;
  let settled = (): void => {};
  let nextSettled = new Promise<void>((resolve) => {
    settled = resolve;
  });

  function settle(reply: { status: number; headers: Headers } | undefined): void {
    pace.settle(reply);
    settled();
    nextSettled = new Promise((resolve) => {
      settled = resolve;
    });
    onSent?.();
  }

  /** Waits until a request may be sent. */
  async function take(): Promise<void> {
    for (;;) {
      signal.throwIfAborted();
      const ms = pace.tryTake();
      if (ms === 0) return;
      if (Number.isFinite(ms) && ms > TELL_MS) onWait?.(ms);
      const ending = new AbortController();
      const end = (): void => ending.abort(signal.reason);
      signal.addEventListener("abort", end);
      const pause = wait(Math.min(ms, LONGEST_WAIT_MS), ending.signal).catch(() => {});
      await Promise.race([nextSettled, pause]);
      signal.removeEventListener("abort", end);
      ending.abort();
    }
  }

  function headersOf({ ifMatch, ifNoneMatch, authorization }: UpstreamAsk): Record<string, string> {
    return {
      accept: "application/json",
      ...(ifMatch === undefined ? {} : { "if-match": ifMatch }),
      ...(ifNoneMatch === undefined ? {} : { "if-none-match": ifNoneMatch }),
      ...(typeof authorization === "string" ? { authorization } : {}),
    };
  }

  /** One exchange; undefined when the limit was in the way. */
  async function exchange(target: string, asked: UpstreamAsk): Promise<UpstreamReply | undefined> {
    const url = new URL(base + target);
    await take();
    requests++;
    let reply: { status: number; headers: Headers } | undefined;
    let text: string;
    // Bytes that keep coming are no reply yet.
    const late = new AbortController();
    const problem = new SourceError(`${url.href}: no whole reply within ${timing.manifestMs / 1000} s`);
    const timer = setTimeout(() => late.abort(problem), timing.manifestMs);
    try {
      const question = {
        ...{ url, timing, headers: headersOf(asked), followsRedirects: false },
        token: asked.authorization === undefined ? token() : undefined,
        signal: AbortSignal.any([signal, late.signal]),
      };
      text = await ask(question, EVERY_STATUS, async (answer) => {
        reply = answer;
        return readText(url.href, answer);
      });
    } finally {
      clearTimeout(timer);
      settle(reply);
    }
    const { status, headers } = reply!;
    const json = parseJson(text);
    const body = status < 400 ? json : toldBody(json);
    if (asked.statuses.includes(status)) return answerOf(url.href, status, headers, body);
    if (status !== 429) throw refusalOf(url.href, status, headers, body);
    if (pace.refusals() >= MOST_REFUSALS) {
      throw new SourceError(`${url.href}: refused ${MOST_REFUSALS} times in a row: rate limit exceeded`, {
        isLasting: true,
        status,
      });
    }
    return undefined;
  }

  const hide = (text: string): string => withoutToken(text, token());

  /** An error body without the token, should the server repeat it. */
  function toldBody(body: unknown): unknown {
    if (!isObject(body) || typeof body.error !== "string") return body;
    return { ...body, error: hide(body.error) };
  }

  /** An error as it may be told: a redirect leads wherever the server says, and a URL holds words that it sent before. */
  function told(error: unknown): unknown {
    return error instanceof SourceError ? new SourceError(hide(error.message), error) : error;
  }

  function answerOf(url: string, status: number, headers: Headers, body: unknown): UpstreamReply {
    if (status !== 304 && !isObject(body)) {
      throw new SourceError(`${url}: the reply is not JSON of this API`, { isLasting: true });
    }
    const tag = headers.get("etag") ?? "";
    return { status, headers, body, etag: /^"[^"]+"$/.test(tag) ? tag : undefined, at: Date.now() };
  }

  return {
    get: (target, asked) =>
      tryAgain(
        { attempts: MOST_ATTEMPTS, waitMs: timing.mostRetryAfterMs, timing, signal },
        async (advanced) => {
          for (;;) {
            const reply = await exchange(target, asked);
            if (reply !== undefined) return reply;
            advanced();
          }
        },
      ).catch((error: unknown) => {
        throw told(error);
      }),
    requests: () => requests,
    budget: pace.budget,
    timeFor: pace.timeFor,
    hide,
  };
}
