/**
 * When the next request may be sent to a server that limits them.
 *
 * Its replies say how many requests are left and when the window ends. No more are under way than were said to be left,
 * whatever order replies arrive in; near the end of them one at a time, so that others who use the same key cost one refusal
 * at most. What is not known (at the beginning, behind a refusal, in a new window) is found out by one request alone.
 *
 * Times are milliseconds of a clock that does not jump. The end of a window is computed from the reply's own `Date`, so that the
 * two machines' clocks may differ.
 */

import { lengthOfWindow, numberOf, retryAfter, untilServerTime } from "./limit-headers.ts";

/** What a reply says of the limit. */
export interface LimitReply {
  readonly status: number;
  readonly headers: Headers;
}

/** How far a server's limit reaches, as far as it said so. */
export interface Budget {
  /** Requests that may still be sent in this window; undefined when the server does not say. */
  readonly rest: number | undefined;
  /** Requests a window. */
  readonly limit: number | undefined;
  /** Milliseconds until the next request may be sent; 0 when it may be sent now. */
  readonly waitMs: number;
}

/** Keeps to a limit. */
export interface Pace {
  /** Milliseconds to wait before a request is sent: 0 sends it, which counts; Infinity waits for a reply of another. */
  readonly tryTake: () => number;
  /** Reports what became of a request that was sent: its reply, or undefined when there was none. */
  readonly settle: (reply: LimitReply | undefined) => void;
  /** Refusals (429) in a row. */
  readonly refusals: () => number;
  readonly budget: () => Budget;
  /** How long so many requests will take, as far as limits decide it. */
  readonly timeFor: (requests: number) => number;
}

/** What a pace starts from. */
export interface PaceOptions {
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
/** With fewer left, fewer are under way. */
const NEAR_END = 32;
const AT_END = 8;
const FIRST_PAUSE_MS = 1000;
const LONGEST_PAUSE_MS = 300_000;
/** Makes one. */
export function createPace({
  perHour,
  agesOfSent = [],
  clock = () => performance.now(),
  wallClock = Date.now,
}: PaceOptions): Pace {
  /** When requests of the last hour were sent, oldest first; kept only where they are limited. */
  const sent: number[] = [];
  if (perHour !== undefined) sent.push(...agesOfSent.map((age) => clock() - age).sort((a, b) => a - b));
  let underWay = 0;
  let refused = 0;
  let blockedUntil = Number.NEGATIVE_INFINITY;
  /** Whether one request alone may be sent, to learn what is left. */
  let isProbing = true;
  /** Requests that may still be sent in the window, those under way left out; undefined when nothing is said. */
  let rest: number | undefined;
  let limit: number | undefined;
  /** The end of the window that `rest` is of, as the server says it, and on our clock. */
  let reset = -1;
  let resetAt = 0;
  /** Of the requests under way, those that were sent before it was known: their replies may be of the window before. */
  let mayBeOld = 0;
  let windowMs = HOUR_MS;

  /** Milliseconds until another request fits into what was asked for an hour. */
  function ownWait(now: number): number {
    if (perHour === undefined) return 0;
    while (sent.length > 0 && sent[0]! <= now - HOUR_MS) sent.shift();
    return sent.length < perHour ? 0 : sent[sent.length - perHour]! + HOUR_MS - now;
  }

  function width(): number {
    if (rest === undefined || rest > NEAR_END) return MOST_AT_ONCE;
    return rest > AT_END ? 2 : 1;
  }

  /** Milliseconds until the server may be asked; Infinity when a reply has to come first. */
  function serverWait(now: number): number {
    if (now < blockedUntil) return blockedUntil - now;
    if (rest !== undefined && now >= resetAt) {
      rest = undefined;
      isProbing = true;
    }
    if (rest !== undefined && rest <= 0) return underWay > 0 ? Number.POSITIVE_INFINITY : resetAt - now;
    return underWay < (isProbing ? 1 : width()) ? 0 : Number.POSITIVE_INFINITY;
  }

  function readLimit(headers: Headers, now: number): void {
    limit = numberOf(headers, "x-ratelimit-limit") ?? limit;
    const said = numberOf(headers, "x-ratelimit-remaining");
    const until = numberOf(headers, "x-ratelimit-reset") ?? 0;
    if (said === undefined) return;
    if (until < reset && (mayBeOld > 0 || until === 0)) {
      // Of the window before, and overtaken. When all of those are in, the reset that was known was not true.
      mayBeOld--;
      return;
    }
    const left = said - underWay;
    rest = rest === undefined || until !== reset ? left : Math.min(rest, left);
    if (until === reset) return;
    windowMs = lengthOfWindow(reset, until) ?? windowMs;
    reset = until;
    resetAt = now + untilServerTime(until, headers, wallClock());
    mayBeOld = underWay;
  }

  function refuse(headers: Headers, now: number): void {
    refused++;
    const until = numberOf(headers, "x-ratelimit-reset");
    const toReset = until === undefined ? 0 : untilServerTime(until, headers, wallClock());
    const growing = Math.min(FIRST_PAUSE_MS * 2 ** (refused - 1), LONGEST_PAUSE_MS);
    // A window that is over by our clock and not by the server's, which does not tell its time.
    const guessed = until === undefined ? growing : Math.max(growing, windowMs);
    const pause = retryAfter(headers, wallClock()) ?? (toReset > 0 ? toReset : guessed);
    // Of several refusals the last to come knows best; none is waited for less long than asked before.
    blockedUntil = Math.max(blockedUntil, now + pause);
    rest = undefined;
    isProbing = true;
  }

  return {
    tryTake() {
      const now = clock();
      const wait = Math.max(serverWait(now), ownWait(now));
      if (wait > 0) return wait;
      underWay++;
      if (rest !== undefined) rest--;
      if (perHour !== undefined) sent.push(now);
      return 0;
    },
    settle(reply) {
      underWay--;
      mayBeOld = Math.min(mayBeOld, underWay + 1);
      if (reply === undefined) return;
      const now = clock();
      if (reply.status === 429) {
        refuse(reply.headers, now);
        return;
      }
      // One that was sent before a refusal and answered behind it says nothing of what comes.
      if (now < blockedUntil) return;
      refused = 0;
      isProbing = false;
      readLimit(reply.headers, now);
    },
    refusals: () => refused,
    budget() {
      const now = clock();
      const own = ownWait(now);
      const wait = Math.max(now < blockedUntil ? blockedUntil - now : 0, own);
      const isUsedUp = rest !== undefined && rest <= 0;
      return { rest, limit, waitMs: isUsedUp ? Math.max(wait, resetAt - now, 0) : wait };
    },
    timeFor(requests) {
      const now = clock();
      const wait = Math.max(0, blockedUntil - now, rest !== undefined && requests > rest ? resetAt - now : 0);
      const windows =
        limit === undefined || limit === 0 || rest === undefined || requests <= rest
          ? 0
          : Math.ceil((requests - rest) / limit) - 1;
      const own =
        perHour === undefined ? 0 : Math.max(0, Math.ceil((requests + sent.length) / perHour) - 1) * HOUR_MS;
      return Math.max(wait + windows * windowMs, own);
    },
  };
}
