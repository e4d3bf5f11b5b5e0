/**
 * Client of another server of this API, with limits on time and size. States of a request:
 *
 *     waiting ──► sent ──► answered
 *        ▲          ├────► failed       for good, or too often
 *        ├──────────┤                   refused (429): waits for the budget, see `RequestBudget`
 *        └──────────┘                   failed transiently: waits for a growing pause, see `retry`
 */

import { setTimeout as sleep } from "node:timers/promises";
import { isObject, parsedJson } from "../util/json.ts";
import { SourceError } from "../util/source-error.ts";
import type { RequestProgress } from "./cli.ts";
import { readWhole, refusal, request, type SourceRequest, withoutToken } from "./request.ts";
import { type BudgetOptions, type LimitReply, RequestBudget } from "./request-budget.ts";
import { retry, type Timing } from "./retry.ts";

export interface UpstreamOptions extends Pick<BudgetOptions, "perHour" | "agesOfSent"> {
  /** Base URL of its operations; see `readServer`. */
  readonly base: string;
  readonly token: string;
  readonly timing: Timing;
  readonly signal: AbortSignal;
  readonly progress?: RequestProgress | undefined;
}

export interface UpstreamAsk {
  readonly ifMatch?: string | undefined;
  readonly ifNoneMatch?: string | undefined;
  /** The value of `Authorization`; null sends none. When absent, the token is sent. */
  readonly authorization?: string | null | undefined;
  /** Statuses accepted as answers; others are errors. */
  readonly statuses: readonly number[];
}

const MOST_ATTEMPTS = 5;
const MOST_REFUSALS = 10;
const MOST_BODY_BYTES = 67_108_864;
/** Maximum nesting, far more than replies of the API have: deeper values could not be traversed. */
const MOST_LEVELS = 32;
/** Shorter waits are not reported. */
const TELL_MS = 2000;
/** Maximum duration of one sleep: timers have a limit, and the machine may have been suspended meanwhile. */
const LONGEST_WAIT_MS = 60_000;

/** The `error` of another server, at most 200 characters and without any that would affect a terminal. */
function shown(text: string): string {
  const clean = text.replace(/[\p{C}\p{Z}]+/gu, " ").trim();
  return clean.length > 200 ? `${clean.slice(0, 200)}…` : clean;
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  return levels === 0 || Object.values(value).some((part) => isDeeper(part, levels - 1));
}

/** Parses JSON; undefined when the API could not send it. */
function parseJson(text: string): unknown {
  const value = parsedJson(text);
  return isDeeper(value, MOST_LEVELS) ? undefined : value;
}

function refusalOf(url: string, { status, headers }: LimitReply, body: unknown): SourceError {
  if (status >= 300 && status < 400 && status !== 304) {
    const location = headers.get("location") ?? "";
    const to = URL.canParse(location, url) ? ` to ${new URL(location, url).origin}` : "";
    const problem = `the server redirects${to}; a token is not sent there: give the address itself`;
    return new SourceError(`${url}: ${problem}`, { isLasting: true, status });
  }
  const said = isObject(body) && typeof body.error === "string" ? `: ${shown(body.error)}` : "";
  return refusal(url, { status, headers }, "--token-file", said);
}

export class Upstream {
  readonly #options: UpstreamOptions;
  readonly #budget: RequestBudget;
  token: string;
  /** Requests sent so far, failed ones included. */
  requests = 0;
  /** Ends the pauses of requests that wait for the reply of another. */
  #wake = new AbortController();

  constructor(options: UpstreamOptions) {
    this.#options = options;
    this.token = options.token;
    this.#budget = new RequestBudget(options);
    options.signal.addEventListener("abort", () => this.#wake.abort());
  }

  /** Removes the token from a text of the server, for messages. Call it before the text is truncated. */
  hide(text: string): string {
    return withoutToken(text, this.token);
  }

  /** Requests a path with its query. @returns its reply, with parsed JSON if there is any @throws {SourceError} naming the URL; the signal's reason */
  async get(target: string, asked: UpstreamAsk) {
    const { timing, signal } = this.#options;
    const policy = { attempts: MOST_ATTEMPTS, waitMs: timing.mostRetryAfterMs, timing, signal };
    try {
      return await retry(policy, async (advanced) => {
        for (;;) {
          const reply = await this.#exchange(target, asked);
          if (reply !== undefined) return reply;
          advanced();
        }
      });
    } catch (error) {
      // The server chooses a redirect's target, and it sent parts of the URL before: either may hold the token.
      throw error instanceof SourceError ? new SourceError(this.hide(error.message), error) : error;
    }
  }

  /** One exchange; undefined when the server refused it because of the limit. */
  async #exchange(target: string, asked: UpstreamAsk) {
    const { base, timing, signal } = this.#options;
    const url = new URL(base + target);
    const { href } = url;
    await this.#take();
    this.requests++;
    const question: SourceRequest = {
      url,
      timing,
      signal,
      headers: {
        accept: "application/json",
        "if-match": asked.ifMatch,
        "if-none-match": asked.ifNoneMatch,
        authorization: asked.authorization ?? undefined,
      },
      followsRedirects: false,
      token: asked.authorization === undefined ? this.token : undefined,
      // A reply must be complete in time, even if bytes keep arriving.
      late: new SourceError(`${href}: no whole reply within ${timing.manifestMs / 1000} s`),
    };
    const tooLarge = `${href}: the reply is larger than ${MOST_BODY_BYTES} bytes`;
    let reply: LimitReply | undefined;
    let bytes: Buffer;
    try {
      bytes = await request(question, async (answer) => {
        reply = answer;
        return readWhole(answer, MOST_BODY_BYTES, new SourceError(tooLarge, { isLasting: true }));
      });
    } finally {
      this.#settle(reply);
    }
    return this.#judge(href, asked.statuses, reply!, parseJson(bytes.toString("utf8")));
  }

  /** The reply, whose ETag is undefined unless it is a strong one; undefined when the limit refused it. @throws {SourceError} for another status */
  #judge(url: string, statuses: readonly number[], reply: LimitReply, json: unknown) {
    const { status, headers } = reply;
    let body = json;
    // The server may repeat the token.
    if (status >= 400 && isObject(body) && typeof body.error === "string") {
      body = { ...body, error: this.hide(body.error) };
    }
    if (statuses.includes(status)) {
      if (status !== 304 && !isObject(body)) {
        throw new SourceError(`${url}: the reply is not JSON of this API`, { isLasting: true });
      }
      // A proxy that compresses some replies, but not all, marks their tags.
      const tag = (headers.get("etag") ?? "").replace(/(?:--?|;)(?:gzip|br|zstd|deflate)"$/, '"');
      return { status, headers, body, etag: /^"[^"]+"$/.test(tag) ? tag : undefined };
    }
    if (status !== 429) throw refusalOf(url, reply, body);
    if (this.#budget.refusals < MOST_REFUSALS) return undefined;
    const problem = `${url}: refused ${MOST_REFUSALS} times in a row: rate limit exceeded`;
    throw new SourceError(problem, { isLasting: true, status });
  }

  async #take(): Promise<void> {
    const { signal, progress } = this.#options;
    for (;;) {
      signal.throwIfAborted();
      const ms = this.#budget.tryTake();
      if (ms === 0) return;
      if (Number.isFinite(ms) && ms > TELL_MS) progress?.tellWait(ms);
      // The reply of another request or the signal ends the sleep early.
      await sleep(Math.min(ms, LONGEST_WAIT_MS), undefined, { signal: this.#wake.signal }).catch(() => {});
    }
  }

  #settle(reply: LimitReply | undefined): void {
    this.#budget.settle(reply);
    this.#wake.abort();
    this.#wake = new AbortController();
    this.#options.progress?.count(this.#budget);
  }
}

/** Runs `work` for all items, as many at once as the limit allows, at most 8. After the first failure no more start. */
export async function runAll<Item>(
  items: readonly Item[],
  work: (item: Item) => Promise<unknown>,
): Promise<void> {
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < items.length) {
      try {
        await work(items[next++]!);
      } catch (error) {
        next = items.length;
        throw error;
      }
    }
  };
  const ends = await Promise.allSettled(Array.from({ length: Math.min(8, items.length) }, worker));
  for (const end of ends) if (end.status === "rejected") throw end.reason;
}
