/**
 * Decides when the next request may be sent to a server with a rate limit. Its replies state the remaining requests and the end
 * of the window. States:
 *
 *     probing ──► counting    a reply states the remaining requests
 *        ├──────► open        a reply states no limit
 *        ◄─────── either      the window has ended, or a request was refused (429)
 *
 * - probing: a single request finds out the remaining number;
 * - counting: open requests never exceed the stated remainder, in whatever order replies arrive; the last ones are sent one at a
 *   time, so that other users of the same key cost at most one refusal;
 * - open: several requests at once.
 *
 * After a refusal nothing is sent for a while, in any state. Times are milliseconds of a monotonic clock. The end of a window is
 * computed from the reply's own `Date`, so that the two machines' clocks may differ.
 */

import { growingPause } from "../util/process/pauses.ts";

/** Maximum wait computed without a `Date`: it is only as exact as the two clocks agree. */
const MOST_GUESSED_MS = 3_600_000;
/** Maximum wait, whatever a server says: it costs one request if a window is longer, and limits the harm of a wrong header. */
const MOST_MS = 86_400_000;
/** A reset from this value on is in milliseconds, although it should be in seconds. */
const MILLISECONDS_FROM = 1e11;

/** The whole number in a header; undefined without one. */
export function numberOf(headers: Headers, name: string): number | undefined {
  const text = headers.get(name)?.trim() ?? "";
  return /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}

/** A header's time, in seconds or milliseconds, as milliseconds. */
function momentOf(time: number): number {
  return time < MILLISECONDS_FROM ? time * 1000 : time;
}

/** Milliseconds from the end of a window to that of the next; undefined when one of them is implausible. */
function lengthOfWindow(reset: number, next: number): number | undefined {
  const ms = momentOf(next) - momentOf(reset);
  return reset > 0 && ms > 0 && ms <= MOST_MS ? ms : undefined;
}

/** Milliseconds from a reply until a time of the server's clock; at most a day. */
function untilServerTime(seconds: number, headers: Headers, wallNow: number): number {
  const date = Date.parse(headers.get("date") ?? "");
  const moment = momentOf(seconds);
  if (!Number.isNaN(date)) return Math.min(moment - date, MOST_MS);
  return Math.min(moment - wallNow, MOST_GUESSED_MS);
}

/** `Retry-After` in milliseconds, from seconds or from a date of the server's clock; at most a day. */
export function retryAfterOf(headers: Headers, wallNow = Date.now()): number | undefined {
  const seconds = numberOf(headers, "retry-after");
  if (seconds !== undefined) return Math.min(seconds * 1000, MOST_MS);
  const date = Date.parse(headers.get("retry-after") ?? "");
  return Number.isNaN(date) ? undefined : Math.max(0, untilServerTime(date / 1000, headers, wallNow));
}

export type LimitReply = Pick<Response, "status" | "headers">;

export interface BudgetOptions {
  /** Maximum requests in any hour, whatever the server allows. */
  readonly perHour?: number | undefined;
  /** Ages, in milliseconds, of requests that another process sent in the last hour: they count. */
  readonly agesOfSent?: readonly number[];
  /** Milliseconds of a monotonic clock. */
  readonly clock?: () => number;
  /** Milliseconds since the epoch. */
  readonly wallClock?: () => number;
}

const HOUR_MS = 3_600_000;
const MOST_AT_ONCE = 8;
/** With at most this many requests left, fewer are open at once. */
const NEAR_END = 32;
const AT_END = 8;
const FIRST_PAUSE_MS = 1000;
const LONGEST_PAUSE_MS = 300_000;

export class RequestBudget {
  readonly #perHour: number | undefined;
  readonly #clock: () => number;
  readonly #wallClock: () => number;
  /** Send times within the last hour, oldest first; kept only with `perHour`. */
  readonly #sent: number[] = [];
  #state: "probing" | "counting" | "open" = "probing";
  /** Requests sent and not settled. */
  #open = 0;
  /** Consecutive refusals (429). */
  refusals = 0;
  #blockedUntil = Number.NEGATIVE_INFINITY;
  /** While counting: requests that may still be sent in the window, without the open ones. */
  #rest = 0;
  #limit: number | undefined;
  /** The end of the window of `#rest`: the server's value, and the time on our clock. */
  #reset = -1;
  #resetAt = 0;
  /** Open requests sent before that end was known: their replies may be of the previous window. */
  #mayBeOld = 0;
  #windowMs = HOUR_MS;

  constructor(options: BudgetOptions) {
    const { perHour, agesOfSent = [], clock = () => performance.now(), wallClock = Date.now } = options;
    this.#perHour = perHour;
    this.#clock = clock;
    this.#wallClock = wallClock;
    if (perHour !== undefined) {
      this.#sent.push(...agesOfSent.map((age) => clock() - age).sort((a, b) => a - b));
    }
  }

  /** Requests that may still be sent in this window; undefined when unknown. */
  get rest(): number | undefined {
    return this.#state === "counting" ? this.#rest : undefined;
  }

  /** Milliseconds to wait before a request: 0 counts it as sent; Infinity waits for the reply of another one. */
  tryTake(): number {
    const now = this.#clock();
    const wait = Math.max(this.#serverWait(now), this.#ownWait(now));
    if (wait > 0) return wait;
    this.#open++;
    if (this.#state === "counting") this.#rest--;
    if (this.#perHour !== undefined) this.#sent.push(now);
    return 0;
  }

  /** Reports the reply of a sent request; undefined when none came. */
  settle(reply: LimitReply | undefined): void {
    this.#open--;
    this.#mayBeOld = Math.min(this.#mayBeOld, this.#open + 1);
    if (reply === undefined) return;
    const now = this.#clock();
    if (reply.status === 429) {
      this.#refuse(reply.headers, now);
      return;
    }
    // This reply belongs to a request sent before the refusal: it says nothing about later ones.
    if (now < this.#blockedUntil) return;
    this.refusals = 0;
    if (this.#state === "probing") this.#state = "open";
    this.#readLimit(reply.headers, now);
  }

  /** Milliseconds that so many requests take at least, because of the limits. */
  timeFor(requests: number): number {
    const now = this.#clock();
    const { rest } = this;
    const isLimited = rest !== undefined && requests > rest;
    const wait = Math.max(0, this.#blockedUntil - now, isLimited ? this.#resetAt - now : 0);
    const windows = isLimited && this.#limit ? Math.ceil((requests - rest) / this.#limit) - 1 : 0;
    const { length: sent } = this.#sent;
    const hours = this.#perHour === undefined ? 0 : Math.ceil((requests + sent) / this.#perHour) - 1;
    return Math.max(wait + windows * this.#windowMs, hours * HOUR_MS);
  }

  /** Milliseconds until `perHour` allows another request. */
  #ownWait(now: number): number {
    const perHour = this.#perHour;
    const sent = this.#sent;
    if (perHour === undefined) return 0;
    while (sent.length > 0 && sent[0]! <= now - HOUR_MS) sent.shift();
    return sent.length < perHour ? 0 : sent[sent.length - perHour]! + HOUR_MS - now;
  }

  /** Milliseconds until the server's limit allows a request; Infinity when a reply has to come first. */
  #serverWait(now: number): number {
    if (now < this.#blockedUntil) return this.#blockedUntil - now;
    if (this.#state === "counting" && now >= this.#resetAt) this.#state = "probing";
    if (this.#state === "counting" && this.#rest <= 0) {
      return this.#open > 0 ? Number.POSITIVE_INFINITY : this.#resetAt - now;
    }
    return this.#open < this.#width() ? 0 : Number.POSITIVE_INFINITY;
  }

  #width(): number {
    if (this.#state === "probing") return 1;
    if (this.#state === "open" || this.#rest > NEAR_END) return MOST_AT_ONCE;
    return this.#rest > AT_END ? 2 : 1;
  }

  #readLimit(headers: Headers, now: number): void {
    this.#limit = numberOf(headers, "x-ratelimit-limit") ?? this.#limit;
    const said = numberOf(headers, "x-ratelimit-remaining");
    const until = numberOf(headers, "x-ratelimit-reset") ?? 0;
    if (said === undefined) return;
    if (until < this.#reset && (this.#mayBeOld > 0 || until === 0)) {
      // A late reply of the previous window. After all such replies, an earlier reset shows that the known one was wrong.
      this.#mayBeOld--;
      return;
    }
    const left = said - this.#open;
    const isKnown = this.#state === "counting" && until === this.#reset;
    this.#rest = isKnown ? Math.min(this.#rest, left) : left;
    this.#state = "counting";
    if (until === this.#reset) return;
    this.#windowMs = lengthOfWindow(this.#reset, until) ?? this.#windowMs;
    this.#reset = until;
    this.#resetAt = now + untilServerTime(until, headers, this.#wallClock());
    this.#mayBeOld = this.#open;
  }

  #refuse(headers: Headers, now: number): void {
    this.refusals++;
    const wall = this.#wallClock();
    const until = numberOf(headers, "x-ratelimit-reset");
    const toReset = until === undefined ? 0 : untilServerTime(until, headers, wall);
    const growing = growingPause(this.refusals, FIRST_PAUSE_MS, LONGEST_PAUSE_MS);
    // A window can be over by our clock and not by the server's, which sends no `Date`.
    const guessed = until === undefined ? growing : Math.max(growing, this.#windowMs);
    const asked = retryAfterOf(headers, wall);
    const known = asked === undefined ? toReset : Math.max(FIRST_PAUSE_MS, asked);
    // The last refusal is the most current, but none shortens a wait.
    this.#blockedUntil = Math.max(this.#blockedUntil, now + (known > 0 ? known : guessed));
    this.#state = "probing";
  }
}
