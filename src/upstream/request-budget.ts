/**
 * When the next request may be sent to a server that limits them. Its replies say how many are left and when the window
 * ends. States:
 *
 *     probing ──► counting    a reply says how many requests are left
 *        ├──────► open        a reply says nothing of a limit
 *        ◄─────── either      the window has ended, or a request was refused (429)
 *
 * - probing: one request alone finds out what is left;
 * - counting: no more requests are open than were said to be left, whatever order replies arrive in; near the end of them one at
 *   a time, so that others who use the same key cost one refusal at most;
 * - open: some requests at once.
 *
 * After a refusal nothing is sent for a while, whatever the state. Times are milliseconds of a clock that does not jump. The
 * end of a window is computed from the reply's own `Date`, so that the two machines' clocks may differ.
 */

import { growingPause } from "../util/process/pauses.ts";

/** Without a `Date` the end of a window is known only as well as the two clocks agree. */
const MOST_GUESSED_MS = 3_600_000;
/** A server is asked again after a day, whatever it says: one request, where a window is longer or a header lied. */
const MOST_MS = 86_400_000;
/** A reset from this value on is in milliseconds, though it should be in seconds. */
const MILLISECONDS_FROM = 1e11;

/** A whole number; undefined where there is none. */
export function numberOf(headers: Headers, name: string): number | undefined {
  const text = headers.get(name)?.trim() ?? "";
  return /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}

/** A moment that a header gives in seconds, or in milliseconds, as milliseconds. */
function momentOf(time: number): number {
  return time < MILLISECONDS_FROM ? time * 1000 : time;
}

/** Milliseconds from the end of a window to that of the next; undefined where one of them is not to be believed. */
export function lengthOfWindow(reset: number, next: number): number | undefined {
  const ms = momentOf(next) - momentOf(reset);
  return reset > 0 && ms > 0 && ms <= MOST_MS ? ms : undefined;
}

/** Milliseconds from a reply until a moment of the server's clock; a day at most. */
export function untilServerTime(seconds: number, headers: Headers, wallNow: number): number {
  const date = Date.parse(headers.get("date") ?? "");
  const moment = momentOf(seconds);
  if (!Number.isNaN(date)) return Math.min(moment - date, MOST_MS);
  return Math.min(moment - wallNow, MOST_GUESSED_MS);
}

/** What `Retry-After` says, in milliseconds: seconds, or a date of the server's clock; a day at most. */
export function retryAfterOf(headers: Headers, wallNow = Date.now()): number | undefined {
  const seconds = numberOf(headers, "retry-after");
  if (seconds !== undefined) return Math.min(seconds * 1000, MOST_MS);
  const date = Date.parse(headers.get("retry-after") ?? "");
  return Number.isNaN(date) ? undefined : Math.max(0, untilServerTime(date / 1000, headers, wallNow));
}

/** What a reply says of the limit. */
export interface LimitReply {
  readonly status: number;
  readonly headers: Headers;
}

/** What a budget starts from. */
export interface BudgetOptions {
  /** Most requests in any hour, whatever the server allows. */
  readonly perHour?: number | undefined;
  /** Milliseconds since requests of the last hour were sent, by another process: they count. */
  readonly agesOfSent?: readonly number[];
  /** Milliseconds of a clock that does not jump. */
  readonly clock?: () => number;
  /** Milliseconds since the epoch. */
  readonly wallClock?: () => number;
}

const HOUR_MS = 3_600_000;
const MOST_AT_ONCE = 8;
/** With fewer left, fewer are open. */
const NEAR_END = 32;
const AT_END = 8;
const FIRST_PAUSE_MS = 1000;
const LONGEST_PAUSE_MS = 300_000;

/** Keeps to a limit. */
export class RequestBudget {
  readonly #perHour: number | undefined;
  readonly #clock: () => number;
  readonly #wallClock: () => number;
  /** When requests of the last hour were sent, oldest first; kept only where they are limited. */
  readonly #sent: number[] = [];
  #state: "probing" | "counting" | "open" = "probing";
  /** Requests that were sent and not settled. */
  #open = 0;
  /** Refusals (429) in a row. */
  #refusals = 0;
  #blockedUntil = Number.NEGATIVE_INFINITY;
  /** While counting: requests that may still be sent in the window, the open ones left out. */
  #rest = 0;
  /** Requests a window. */
  #limit: number | undefined;
  /** The end of the window that `#rest` is of, as the server says it, and on our clock. */
  #reset = -1;
  #resetAt = 0;
  /** Open requests that were sent before that end was known: their replies may be of the window before. */
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

  /** Refusals (429) in a row. */
  get refusals(): number {
    return this.#refusals;
  }

  /** Requests that may still be sent in this window; undefined when that is not known. */
  get rest(): number | undefined {
    return this.#state === "counting" ? this.#rest : undefined;
  }

  /** Milliseconds to wait before a request is sent: 0 sends it, which counts; Infinity waits for a reply of another. */
  tryTake(): number {
    const now = this.#clock();
    const wait = Math.max(this.#serverWait(now), this.#ownWait(now));
    if (wait > 0) return wait;
    this.#open++;
    if (this.#state === "counting") this.#rest--;
    if (this.#perHour !== undefined) this.#sent.push(now);
    return 0;
  }

  /** Reports what became of a request that was sent: its reply, or undefined when there was none. */
  settle(reply: LimitReply | undefined): void {
    this.#open--;
    this.#mayBeOld = Math.min(this.#mayBeOld, this.#open + 1);
    if (reply === undefined) return;
    const now = this.#clock();
    if (reply.status === 429) {
      this.#refuse(reply.headers, now);
      return;
    }
    // A request that was sent before a refusal and answered after it says nothing of what comes.
    if (now < this.#blockedUntil) return;
    this.#refusals = 0;
    if (this.#state === "probing") this.#state = "open";
    this.#readLimit(reply.headers, now);
  }

  /** How long so many requests will take, as far as limits decide it, in milliseconds. */
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

  /** Milliseconds until another request fits into what was asked for an hour. */
  #ownWait(now: number): number {
    const perHour = this.#perHour;
    const sent = this.#sent;
    if (perHour === undefined) return 0;
    while (sent.length > 0 && sent[0]! <= now - HOUR_MS) sent.shift();
    return sent.length < perHour ? 0 : sent[sent.length - perHour]! + HOUR_MS - now;
  }

  /** Milliseconds until the server may be asked; Infinity when a reply has to come first. */
  #serverWait(now: number): number {
    if (now < this.#blockedUntil) return this.#blockedUntil - now;
    if (this.#state === "counting" && now >= this.#resetAt) this.#state = "probing";
    if (this.#state === "counting" && this.#rest <= 0) {
      return this.#open > 0 ? Number.POSITIVE_INFINITY : this.#resetAt - now;
    }
    return this.#open < this.#width() ? 0 : Number.POSITIVE_INFINITY;
  }

  /** Requests that may be open at once. */
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
      // It is of the window before, and overtaken. When all such replies are in, the reset that was known was not true.
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
    this.#refusals++;
    const wall = this.#wallClock();
    const until = numberOf(headers, "x-ratelimit-reset");
    const toReset = until === undefined ? 0 : untilServerTime(until, headers, wall);
    const growing = growingPause(this.#refusals, FIRST_PAUSE_MS, LONGEST_PAUSE_MS);
    // A window that is over by our clock and not by the server's, which does not tell its time.
    const guessed = until === undefined ? growing : Math.max(growing, this.#windowMs);
    const asked = retryAfterOf(headers, wall);
    const known = asked === undefined ? toReset : Math.max(FIRST_PAUSE_MS, asked);
    // The last refusal knows best, but none shortens a wait.
    this.#blockedUntil = Math.max(this.#blockedUntil, now + (known > 0 ? known : guessed));
    this.#state = "probing";
  }
}
