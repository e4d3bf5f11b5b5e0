/**
 * Leases permits of keys from a counter server, and lets requests pass against them. Each serving thread is a lessee.
 *
 * A request of a key
 *
 * 1. takes a permit, if this lessee holds one and the server has told it enough;
 * 2. else waits for an answer of the server, for less than 50 ms in which this thread is not busy;
 * 3. else, if there was no answer, is counted alone: within the replica's share of the limit. The key then counts alone
 *    until the next answer about it, and none of its requests waits.
 *
 * In a window, all lessees together hold at most as many permits as the limit. Leased permits and passed requests of a
 * window only grow, and each question reports both. So a lost, late or repeated answer does no harm, and requests that
 * were counted alone are counted at the server once.
 *
 * The server's clock cuts the windows. An answer gives the remaining time of the window. A monotonic clock measures that
 * time from when the question was sent, so permits expire no later than the window ends.
 *
 * The last held permit is taken only after a new answer, unless the server has none left. So no caller is told that
 * nothing remains while further requests would still pass.
 */

import { type Counters, countInWindow, type Quota, type Usage, usageOf, windowAt } from "../auth/limit.ts";
import type { CountedKey, SharedCount, SharedQuota } from "../auth/shared.ts";
import type { LeaseAnswer, LeaseAsk } from "./lease-script.ts";
import { type Tally, tallyUp } from "./tally.ts";

/** Two clocks drift apart by less than this share of the elapsed time. */
const DRIFT = 2e-4;

/** Validity of an answer that nothing is left, in milliseconds. */
const RECHECK_MS = 1000;

/** More permits are requested when this share of the permits held after the last answer remains. */
const ASK_AT = 1 / 4;

/**
 * A request joins a question that was sent at most so long before, in milliseconds; otherwise it sends its own, which is
 * answered or given up within the 50 ms that a request may wait.
 */
const JOIN_MS = 4;

/** Number of keys to report at a time: of all at once a server would answer the last ones too late, and count as away. */
const AT_ONCE = 64;

/** Both clocks at one moment, in milliseconds: the monotonic clock, and the wall clock since the epoch. */
export interface Clocks {
  readonly mono: number;
  readonly wall: number;
}

export interface LesseeOptions {
  /** In shared memory: what passed in all threads of this process. */
  readonly counters: Counters;
  readonly replicas: number;
  readonly denies: boolean;
  readonly tally: Tally;
  readonly now: () => Clocks;
  /** Asks the counter server, once. Rejects at the latest when an answer would come too late for a waiting request. */
  readonly lease: (keyId: string, ask: LeaseAsk) => Promise<LeaseAnswer>;
  /** @returns a function that stops the timer for good */
  readonly startTimer: (callback: () => void, ms: number) => () => void;
}

interface WaitingRequest {
  readonly limit: number;
  readonly at: Clocks;
  /** When the first question for it was sent; Infinity before that. */
  coveredAt: number;
  readonly settle: (quota: Quota) => void;
}

/** Permits and passed requests of one key. Windows are counted from the epoch; -1 is none. */
export interface Lease {
  readonly key: CountedKey;
  /** Window of the last answer, and the permits leased in it to this lessee. */
  window: number;
  permits: number;
  /** Permits that the server had left then for all lessees, and the limit in the question; -1 before the first answer. */
  rest: number;
  limit: number;
  /** The limit of the newest request, which may still have to be asked for. */
  wantedLimit: number;
  /** The limit was lowered in this window and nothing is left: permits that are still held may exceed it. */
  isSpent: boolean;
  /** End of validity of the permits, in milliseconds of the monotonic clock, and of the wall clock, which may jump. */
  until: number;
  wallUntil: number;
  /** When to ask again whether the server still has nothing left. */
  recheckAt: number;
  /** More permits are requested when at most this many are held. */
  askBelow: number;
  /** Newest window in which requests passed here, and their number. */
  usedWindow: number;
  used: number;
  /** Lowest number of remaining requests told to a caller, and its window. */
  toldWindow: number;
  told: number;
  /** The last question had no answer in time. */
  isAway: boolean;
  /** When the newest question was sent; -Infinity after its answer. */
  askedAt: number;
  stopJoining: (() => void) | undefined;
  waiting: WaitingRequest[];
}

function createLease(key: CountedKey): Lease {
  return {
    key,
    window: -1,
    permits: 0,
    rest: 0,
    limit: -1,
    wantedLimit: -1,
    isSpent: false,
    until: Number.NEGATIVE_INFINITY,
    wallUntil: Number.NEGATIVE_INFINITY,
    recheckAt: 0,
    askBelow: 0,
    usedWindow: -1,
    used: 0,
    toldWindow: -1,
    told: 0,
    isAway: false,
    askedAt: Number.NEGATIVE_INFINITY,
    stopJoining: undefined,
    waiting: [],
  };
}

function usedIn({ usedWindow, used }: Lease, window: number): number {
  return usedWindow === window ? used : 0;
}

/** Requests of a window that passed in all threads of this process. */
function countedIn({ window: newest, used }: Usage, window: number): number {
  return newest === window ? used : 0;
}

function isValid({ until, wallUntil }: Lease, { mono, wall }: Clocks): boolean {
  return mono < until && wall < wallUntil;
}

/** Permits that are left for a request under a limit. */
function heldUnder(lease: Lease, limit: number): number {
  return (lease.isSpent ? 0 : Math.min(lease.permits, limit)) - usedIn(lease, lease.window);
}

/** The report on a key, and the wanted permits; -1: this lessee stops. */
export function askOf(lease: Lease, limit: number, want: number): LeaseAsk {
  const window = Math.max(lease.window, lease.usedWindow);
  const have = lease.window === window ? lease.permits : 0;
  return { limit, window, have, used: usedIn(lease, window), want };
}

export class Lessee implements SharedCount {
  /** By the keys' slots. */
  readonly leases = new Map<number, Lease>();
  readonly #options: LesseeOptions;
  /** The server's clock minus the wall clock here, in milliseconds. */
  clockMs = 0;
  #isClosed = false;

  constructor(options: LesseeOptions) {
    this.#options = options;
  }

  readonly count: SharedCount["count"] = (key, limit, wall) => {
    const lease = this.#leaseOf(key);
    if (lease.wantedLimit !== limit) {
      // Callers may be told more again.
      if (limit > lease.wantedLimit) lease.toldWindow = -1;
      lease.wantedLimit = limit;
    }
    const at = { mono: this.#options.now().mono, wall };
    const quota = this.#take(lease, limit, at, false);
    if (quota === undefined)
      return lease.isAway ? this.#takeAlone(lease, limit, at) : this.#wait(lease, limit, at);
    if (this.#shouldAsk(lease, limit, at)) void this.#ask(lease, limit);
    return quota;
  };

  /** State of a key's limit by the last answer, and before the first one the whole limit. Counts nothing. */
  read(key: CountedKey, limit: number): SharedQuota {
    const lease = this.leases.get(key.slot) ?? createLease(key);
    const { counters } = this.#options;
    const at = this.#options.now();
    const counted = usageOf(counters, key.slot);
    if (lease.isAway || lease.usedWindow > lease.window) {
      const { window, left } = this.#aloneIn(lease, limit, at);
      const used = countedIn(counted, window);
      return { counted: "alone", used, remaining: Math.max(0, left), reset: this.#endOf(window) };
    }
    const isGood = isValid(lease, at);
    const window = isGood ? lease.window : windowAt(counters, at.wall + this.clockMs);
    const rest = limit - countedIn(counted, window);
    const known = Math.max(0, heldUnder(lease, limit)) + lease.rest;
    const remaining = Math.max(0, isGood && lease.limit === limit ? Math.min(known, rest) : rest);
    return { counted: "shared", used: limit - remaining, remaining, reset: this.#endOf(window) };
  }

  /** The same by a new answer, with which the server may lease some permits ahead. */
  async readAnew(key: CountedKey, limit: number): Promise<SharedQuota> {
    await this.#ask(this.#leaseOf(key), limit);
    return this.read(key, limit);
  }

  /** Asks again about the keys that had no answer, which reports the requests that were counted alone. */
  async reportAgain(isUp: (keyId: string) => boolean): Promise<void> {
    await this.#forLeases((lease) => {
      // After a close, a report would count released permits again.
      if (this.#isClosed || !lease.isAway) return undefined;
      if (!this.#isOfWindow(lease)) lease.isAway = false;
      return lease.isAway && isUp(lease.key.id) ? this.#ask(lease, lease.wantedLimit) : undefined;
    });
  }

  /** Gives back the held permits, first of the keys that other lessees can use. */
  async giveBack(signal: AbortSignal): Promise<void> {
    this.#isClosed = true;
    for (const isHolding of [true, false]) {
      await this.#forLeases((lease) => {
        const ask = askOf(lease, lease.limit, -1);
        if (signal.aborted || (ask.have !== ask.used) !== isHolding || !this.#isOfWindow(lease))
          return undefined;
        return this.#options.lease(lease.key.id, ask).then(ignore, ignore);
      });
    }
  }

  #leaseOf(key: CountedKey): Lease {
    let lease = this.leases.get(key.slot);
    if (lease === undefined) {
      lease = createLease(key);
      this.leases.set(key.slot, lease);
    }
    return lease;
  }

  #endOf(window: number): number {
    return (window + 1) * this.#options.counters.windowSeconds;
  }

  /** Counts a request against the held permits. @param isFresh the answered question was sent for the request, so its answer is used though it is late or of another limit @returns undefined if the server must be asked first */
  #take(lease: Lease, limit: number, at: Clocks, isFresh: boolean): Quota | undefined {
    const { window, rest } = lease;
    const isOfLimit = lease.limit === limit;
    if (!isFresh && !(isOfLimit && isValid(lease, at))) return undefined;
    const { counters } = this.#options;
    const counted = usageOf(counters, lease.key.slot);
    if (counted.window > window) {
      // Requests passed alone in a window that the server has not reached; or another thread knows of a newer window.
      return isFresh || lease.usedWindow > window ? this.#takeAlone(lease, limit, at) : undefined;
    }
    const used = countedIn(counted, window);
    const held = heldUnder(lease, limit);
    const isLast = rest === 0 && isOfLimit;
    if (held <= 0) return isLast || used >= limit ? this.#quota(lease, false, limit, window, 0) : undefined;
    if (held === 1 && !isLast && !isFresh && used + 1 < limit) return undefined;
    const { passed, remaining } = countInWindow(counters, lease.key.slot, limit, window);
    if (passed) this.#pass(lease, window);
    return this.#quota(lease, passed, limit, window, Math.min(held - 1 + rest, remaining));
  }

  #pass(lease: Lease, window: number): void {
    lease.used = usedIn(lease, window) + 1;
    lease.usedWindow = window;
  }

  /** Whether more permits are wanted soon, or the answer that nothing is left is too old. */
  #shouldAsk(lease: Lease, limit: number, { mono }: Clocks): boolean {
    if (lease.isAway || lease.askedAt !== Number.NEGATIVE_INFINITY) return false;
    const held = heldUnder(lease, limit);
    return lease.rest > 0 ? held < lease.askBelow : held <= 0 && mono >= lease.recheckAt;
  }

  /** The window to count alone in, and the number of requests that pass in it. */
  #aloneIn(lease: Lease, limit: number, at: Clocks) {
    const { counters, replicas, denies } = this.#options;
    const counted = usageOf(counters, lease.key.slot);
    const isGood = isValid(lease, at);
    const current = isGood ? 0 : windowAt(counters, at.wall + this.clockMs);
    const window = Math.max(counted.window, lease.window, lease.usedWindow, current);
    const share = denies ? 0 : Math.floor(limit / replicas);
    const passed = countedIn(counted, window);
    const ofShare = share - passed;
    if (window !== lease.window) return { window, share, held: 0, left: ofShare };
    const isUsable = isGood && lease.limit <= limit;
    const held = isUsable ? Math.min(heldUnder(lease, limit), limit - passed) : 0;
    // At most the number that was left at the last answer.
    const known = lease.limit === limit ? heldUnder(lease, limit) + lease.rest : Number.POSITIVE_INFINITY;
    const left = Math.max(held, Math.min(ofShare, known));
    return { window, share, held, left };
  }

  /** Counts a request while the server cannot be asked: against the held permits, then within the replica's share. */
  #takeAlone(lease: Lease, limit: number, at: Clocks): Quota {
    const { counters, tally } = this.#options;
    const { window, share, held, left } = this.#aloneIn(lease, limit, at);
    const isPermitted = held > 0;
    const most = isPermitted ? limit : share;
    const passed = left > 0 && countInWindow(counters, lease.key.slot, most, window).passed;
    if (passed) this.#pass(lease, window);
    if (!passed) tallyUp(tally, "refused");
    else if (!isPermitted) tallyUp(tally, "alone");
    return this.#quota(lease, passed, limit, window, left - 1);
  }

  /** @param left the remaining requests; a caller is told no more than another one before in this window */
  #quota(lease: Lease, passed: boolean, limit: number, window: number, left: number): Quota {
    if (window > lease.toldWindow) {
      lease.toldWindow = window;
      lease.told = Number.POSITIVE_INFINITY;
    }
    lease.told = window < lease.toldWindow || !passed ? 0 : Math.max(0, Math.min(left, lease.told));
    return { passed, limit, remaining: lease.told, reset: this.#endOf(window), clockMs: this.clockMs };
  }

  #wait(lease: Lease, limit: number, at: Clocks): Promise<Quota> {
    const { tally, startTimer } = this.#options;
    tallyUp(tally, "waited");
    return new Promise((settle) => {
      lease.waiting.push({ limit, at, coveredAt: Number.POSITIVE_INFINITY, settle });
      if (at.mono - lease.askedAt >= JOIN_MS) {
        void this.#ask(lease, limit);
        return;
      }
      lease.stopJoining ??= startTimer(() => {
        lease.stopJoining = undefined;
        const newest = lease.waiting.at(-1);
        if (newest?.coveredAt === Number.POSITIVE_INFINITY) void this.#ask(lease, newest.limit);
      }, JOIN_MS);
    });
  }

  /** Asks for as many permits as requests wait. Resolves when the answer was used, or did not come. */
  async #ask(lease: Lease, limit: number): Promise<void> {
    const { tally, lease: ask, now } = this.#options;
    const sent = now().mono;
    lease.askedAt = sent;
    for (const request of lease.waiting) request.coveredAt = Math.min(request.coveredAt, sent);
    tallyUp(tally, "asks");
    const answer = await ask(lease.key.id, askOf(lease, limit, lease.waiting.length)).catch(ignore);
    if (lease.askedAt === sent) lease.askedAt = Number.NEGATIVE_INFINITY;
    lease.isAway = answer === undefined;
    if (answer === undefined) tallyUp(tally, "failures");
    else this.#takeAnswer(lease, limit, answer, sent);
    this.#settle(lease, answer === undefined ? undefined : sent);
  }

  #takeAnswer(lease: Lease, limit: number, { window, total, rest, msLeft }: LeaseAnswer, sent: number): void {
    // The server's clock went back, or the server lost its data.
    if (lease.window > window) return;
    const { mono, wall } = this.#options.now();
    const isSame = lease.window === window;
    const permits = isSame ? Math.max(lease.permits, total) : total;
    const isGranted = !isSame || permits > lease.permits || rest > 0;
    lease.isSpent = !isGranted && (lease.isSpent || lease.limit > limit);
    lease.window = window;
    lease.permits = permits;
    lease.rest = rest;
    lease.limit = limit;
    // The server's clock was read in whole milliseconds.
    lease.until = sent + (msLeft - 1) * (1 - DRIFT);
    lease.wallUntil = wall + lease.until - mono;
    lease.recheckAt = mono + RECHECK_MS;
    lease.askBelow = Math.floor((permits - usedIn(lease, window)) * ASK_AT);
    this.clockMs = this.#endOf(window) * 1000 - msLeft + (mono - sent) / 2 - wall;
  }

  /** Answers waiting requests. @param sent when the question was sent; undefined if it had no answer */
  #settle(lease: Lease, sent: number | undefined): void {
    const { waiting } = lease;
    lease.waiting = [];
    const left: WaitingRequest[] = [];
    for (const request of waiting) {
      const { limit, settle } = request;
      const at = this.#nowFor(request);
      const isFresh = sent !== undefined && request.coveredAt <= sent;
      const quota = sent === undefined ? undefined : this.#take(lease, limit, at, isFresh);
      if (quota !== undefined) settle(quota);
      // Another question would take too long.
      else if (sent === undefined || (isFresh && at.mono - request.at.mono > 2 * JOIN_MS))
        settle(this.#takeAlone(lease, limit, at));
      else left.push(request);
    }
    lease.waiting = left;
    const [first] = left;
    if (first === undefined) {
      lease.stopJoining?.();
      lease.stopJoining = undefined;
    } else if (lease.askedAt === Number.NEGATIVE_INFINITY) void this.#ask(lease, first.limit);
  }

  #nowFor({ at }: WaitingRequest): Clocks {
    const { mono } = this.#options.now();
    return { mono, wall: at.wall + mono - at.mono };
  }

  /** Whether a key was used or leased in the current window: older windows need no report. */
  #isOfWindow({ window, usedWindow }: Lease): boolean {
    const { counters, now } = this.#options;
    return Math.max(window, usedWindow) >= windowAt(counters, now().wall + this.clockMs);
  }

  /** Does something for each lease, for a few at a time. @param act returns undefined if it sends nothing */
  async #forLeases(act: (lease: Lease) => Promise<void> | undefined): Promise<void> {
    const leases = this.leases.values();
    const actOnSome = async (): Promise<void> => {
      for (const lease of leases) {
        const acted = act(lease);
        // Failing questions fail at once, and would leave the event loop no turn.
        if (acted !== undefined) await acted.then(() => new Promise(setImmediate));
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, actOnSome));
  }
}

function ignore(): undefined {}
