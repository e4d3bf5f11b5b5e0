/**
 * Another server of this API, bounded in time and size whatever it sends. States of a request:
 *
 *     waiting ──► sent ──► answered
 *        ▲          ├────► failed       for good, or too often
 *        ├──────────┤                   refused (429): waits for the budget, see `RequestBudget`
 *        └──────────┘                   failed in passing: waits for a growing pause, see `retry`
 */

import { setTimeout as sleep } from "node:timers/promises";
import { isObject } from "../util/json.ts";
import { SourceError } from "../util/source-error.ts";
import { readWhole, request, withoutToken } from "./request.ts";
import { type BudgetOptions, type LimitReply, RequestBudget, retryAfterOf } from "./request-budget.ts";
import { retry, type Timing } from "./retry.ts";

export interface UpstreamOptions extends Pick<BudgetOptions, "perHour" | "agesOfSent"> {
  /** Where its operations are; see `readServer`. */
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
  readonly authorization?: string | null | undefined;
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

const MOST_ATTEMPTS = 5;
const MOST_REFUSALS = 10;
const MOST_BODY_BYTES = 67_108_864;
/** Far more levels than replies of the API have; what is nested deeper could not be gone through. */
const MOST_LEVELS = 32;
/** Shorter waits are not reported. */
const TELL_MS = 2000;
/** Longest sleep at a time: timers have a limit, and the machine may have been suspended meanwhile. */
const LONGEST_WAIT_MS = 60_000;

/** The `error` of another server, at most 200 characters and without what would change a terminal. */
function shown(text: string): string {
  const clean = text.replace(/[\p{C}\p{Z}]+/gu, " ").trim();
  return clean.length > 200 ? `${clean.slice(0, 200)}…` : clean;
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  return levels === 0 || Object.values(value).some((part) => isDeeper(part, levels - 1));
}

/** JSON, or undefined where it is none that the API could send. */
function parseJson(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return isDeeper(value, MOST_LEVELS) ? undefined : value;
  } catch {
    return undefined;
  }
}

/** What a status that was not expected means, in words. */
function refusalOf(url: string, status: number, headers: Headers, body: unknown): SourceError {
  const said = isObject(body) && typeof body.error === "string" ? `: ${shown(body.error)}` : "";
  const fail = (what: string, isLasting = true): SourceError =>
    new SourceError(`${url}: ${what}`, { isLasting, status, retryAfterMs: retryAfterOf(headers) });
  if (status >= 300 && status < 400 && status !== 304) {
    const location = headers.get("location") ?? "";
    const to = URL.canParse(location, url) ? ` to ${new URL(location, url).origin}` : "";
    return fail(`the server redirects${to}; a token is not sent there: give the address itself`);
  }
  if (status === 401 || status === 403) {
    return fail(`the server answered ${status}${said} (see --token-file)`);
  }
  return fail(`the server answered ${status}${said}`, status < 500 && status !== 408);
}

function headersOf({ ifMatch, ifNoneMatch, authorization }: UpstreamAsk): Record<string, string> {
  return {
    accept: "application/json",
    ...(ifMatch === undefined ? {} : { "if-match": ifMatch }),
    ...(ifNoneMatch === undefined ? {} : { "if-none-match": ifNoneMatch }),
    ...(typeof authorization === "string" ? { authorization } : {}),
  };
}

export class Upstream {
  readonly #options: UpstreamOptions;
  readonly #budget: RequestBudget;
  #requests = 0;
  /** Ends the pauses of requests that wait for the reply of another. */
  #wake = new AbortController();

  constructor(options: UpstreamOptions) {
    this.#options = options;
    this.#budget = new RequestBudget(options);
    options.signal.addEventListener("abort", () => this.#wake.abort());
  }

  /** Requests sent so far, failed ones included. */
  get requests(): number {
    return this.#requests;
  }

  /** How long so many requests will take, as far as limits decide it, in milliseconds. */
  timeFor(requests: number): number {
    return this.#budget.timeFor(requests);
  }

  /** Takes the token out of what the server sent, for messages; to be called before anything is cut off. */
  hide(text: string): string {
    return withoutToken(text, this.#options.token());
  }

  /** Asks for a path with its query. @throws {SourceError} naming the URL; the signal's reason */
  async get(target: string, asked: UpstreamAsk): Promise<UpstreamReply> {
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
      // A redirect leads wherever the server says, and a URL holds words that it sent before.
      throw error instanceof SourceError ? new SourceError(this.hide(error.message), error) : error;
    }
  }

  /** One exchange; undefined when the limit was in the way. */
  async #exchange(target: string, asked: UpstreamAsk): Promise<UpstreamReply | undefined> {
    const { base, token, timing, signal } = this.#options;
    const url = new URL(base + target);
    const { href } = url;
    await this.#take();
    this.#requests++;
    const question = {
      ...{ url, timing, signal, headers: headersOf(asked), followsRedirects: false },
      token: asked.authorization === undefined ? token() : undefined,
      // Bytes that keep coming are no reply yet.
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
    return this.#judge(href, asked, reply!, parseJson(bytes.toString("utf8")));
  }

  #judge(
    url: string,
    { statuses }: UpstreamAsk,
    { status, headers }: LimitReply,
    json: unknown,
  ): UpstreamReply | undefined {
    let body = json;
    // The server may repeat the token.
    if (status >= 400 && isObject(body) && typeof body.error === "string") {
      body = { ...body, error: this.hide(body.error) };
    }
    if (statuses.includes(status)) {
      if (status !== 304 && !isObject(body)) {
        throw new SourceError(`${url}: the reply is not JSON of this API`, { isLasting: true });
      }
      const tag = headers.get("etag") ?? "";
      return { status, headers, body, etag: /^"[^"]+"$/.test(tag) ? tag : undefined, at: Date.now() };
    }
    if (status !== 429) throw refusalOf(url, status, headers, body);
    if (this.#budget.refusals < MOST_REFUSALS) return undefined;
    const problem = `${url}: refused ${MOST_REFUSALS} times in a row: rate limit exceeded`;
    throw new SourceError(problem, { isLasting: true, status });
  }

  /** Waits until a request may be sent. */
  async #take(): Promise<void> {
    const { signal, onWait } = this.#options;
    for (;;) {
      signal.throwIfAborted();
      const ms = this.#budget.tryTake();
      if (ms === 0) return;
      if (Number.isFinite(ms) && ms > TELL_MS) onWait?.(ms);
      // Until then, or the reply of another request, or the signal.
      await sleep(Math.min(ms, LONGEST_WAIT_MS), undefined, { signal: this.#wake.signal }).catch(() => {});
    }
  }

  #settle(reply: LimitReply | undefined): void {
    this.#budget.settle(reply);
    this.#wake.abort();
    this.#wake = new AbortController();
    this.#options.onSent?.();
  }
}

/** Runs `work` for all items, several at once: the limit decides how many. After the first failure no more begin. */
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
