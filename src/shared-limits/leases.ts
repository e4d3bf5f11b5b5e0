/**
 * Permits that a counter server leased to this replica, and taking them.
 *
 * Over all replicas no more permits are leased in a window than its limit, and a
 * request passes by taking one. What was leased and what was taken are both
 * counts of one window that only grow, each in one 64-bit cell, as in
 * `limit.ts`. So threads take permits without a lock, and an answer that is
 * lost, late or repeated does no harm.
 *
 * Windows are those of the server's clock. An answer says how long the window
 * still lasts. That is measured by a monotonic clock, from when the question was
 * sent, so permits expire no later than the window ends. Then the server is asked
 * again: it may say that they are still good.
 *
 * The last permit that is held is taken only after a new answer, unless the
 * server has none left. So no caller is told that nothing remains while others
 * would still be let through.
 */

import { type Counters, type Quota, windowAt } from "../auth/limit.ts";
import type { SharedQuota } from "../auth/shared.ts";
import { cellOf, countIn, mostIn, whole, windowIn } from "./cells.ts";

/** Leases of all keys, in shared memory: handed to another thread they are the same. Arrays are by the keys' slots. */
export interface Leases {
  readonly counters: Counters;
  /** Window, and permits that were leased in it; a cell is laid out as one of the counters. */
  readonly permits: BigUint64Array;
  /**
   * Window, and requests that are counted here but that another process reports to the counter server: the one before a
   * restart, or one that shares the file of counts. Permits and counts include them; questions do not.
   */
  readonly elsewhere: BigUint64Array;
  /** Window, and the lowest number of remaining requests that a caller was told in it. */
  readonly told: BigUint64Array;
  /** Until when the permits are good, in milliseconds of the monotonic clock, and of the wall clock, which may jump. */
  readonly until: Float64Array;
  readonly wallUntil: Float64Array;
  /**
   * What the server had left for anybody when it last answered, and the limit that was named in the question. The limit
   * is negative where it was lowered within the window and nothing is left: permits that are held may then exceed it.
   */
  readonly rest: Float64Array;
  readonly limits: Float64Array;
  /** When to ask again whether the server still has nothing left. */
  readonly recheck: Float64Array;
  /** More permits are asked for when no more than these are held. */
  readonly askBelow: Float64Array;
  /** 1 when the last question was not answered. */
  readonly away: Int32Array;
  /** The server's clock minus the wall clock here, in milliseconds; one value. */
  readonly clock: Float64Array;
  /** Requests let through without a permit while the server was away, refused then, and waiting for it at any time. */
  readonly tally: BigInt64Array;
  /** Replicas that share the limit while the server is away. */
  readonly replicas: number;
  /** Whether requests without a permit are refused while the server is away. */
  readonly denies: boolean;
}

/** One moment by both clocks, in milliseconds: by the monotonic one, and since the epoch. */
export interface Moment {
  readonly mono: number;
  readonly wall: number;
}

/** Makes leases for counters, which must lie in shared memory and from now on keep apart what is added from elsewhere. */
export function createLeases(counters: Counters, replicas: number, denies: boolean): Leases {
  const slots = counters.cells.length;
  const shared = (bytes: number): SharedArrayBuffer => new SharedArrayBuffer(bytes);
  const numbers = (): Float64Array => new Float64Array(shared(slots * 8));
  const cells = (): BigUint64Array => new BigUint64Array(shared(slots * 8));
  const elsewhere = cells();
  counters.elsewhere = elsewhere;
  return {
    counters,
    permits: cells(),
    elsewhere,
    told: cells(),
    until: numbers(),
    wallUntil: numbers(),
    rest: numbers(),
    limits: numbers(),
    recheck: numbers(),
    askBelow: numbers(),
    away: new Int32Array(shared(slots * 4)),
    clock: new Float64Array(shared(8)),
    tally: new BigInt64Array(shared(24)),
    replicas,
    denies,
  };
}

/** Indexes into the tally. */
const ALONE = 0;
const REFUSED = 1;
export const WAITED = 2;

/** Requests that could not be counted at once, since the start, in all threads: as in `Leases.tally`. */
export function readTally({ tally }: Leases): Record<"alone" | "refused" | "waited", number> {
  const read = (place: number): number => Number(Atomics.load(tally, place));
  return { alone: read(ALONE), refused: read(REFUSED), waited: read(WAITED) };
}

/** One key as {@link readHeld} saw it. */
interface Held {
  /** Window of the permits, and how many were leased in it. */
  leased: number;
  permits: number;
  /** Whether they are of the window that is running. */
  isGood: boolean;
  /** As in `Leases`. */
  rest: number;
  asked: number;
  /** The counter's cell, its window, and the requests that it counts. */
  cell: bigint;
  newest: number;
  count: number;
}

/** Made once: an object would be garbage at each request. */
const held: Held = {
  ...{ leased: 0, permits: 0, isGood: false, rest: 0.5, asked: 0.5 },
  ...{ cell: 0n, newest: 0, count: 0 },
};

/** Reads what is held of a key, all of it from one answer. @returns the same object each time */
function readHeld(leases: Leases, slot: number, { mono, wall }: Moment): Held {
  const { permits, counters } = leases;
  const { cells, split } = counters;
  let lease: bigint;
  do {
    lease = Atomics.load(permits, slot);
    held.isGood = mono < leases.until[slot]! && wall < leases.wallUntil[slot]!;
    held.asked = leases.limits[slot]!;
    held.rest = leases.rest[slot]!;
    // It belongs together only if no other answer came meanwhile.
  } while (Atomics.load(permits, slot) !== lease);
  whole[0] = lease;
  held.leased = windowIn(split);
  held.permits = countIn(split);
  held.cell = Atomics.load(cells, slot);
  whole[0] = held.cell;
  held.newest = windowIn(split);
  held.count = countIn(split);
  return held;
}

function usedIn({ newest, count }: Held, window: number): number {
  return newest === window ? count : 0;
}

/** Counts a request, unless another was counted since {@link readHeld}. @returns whether it was counted */
function countOne({ counters }: Leases, slot: number, window: number, used: number): boolean {
  const next = cellOf(counters.split, window, used + 1);
  return Atomics.compareExchange(counters.cells, slot, held.cell, next) === held.cell;
}

/** What a caller is told: no more than before in this window. */
function tell({ told, counters }: Leases, slot: number, window: number, remaining: number): number {
  const { split } = counters;
  const most = Math.min(remaining, mostIn(split));
  for (;;) {
    const cell = Atomics.load(told, slot);
    whole[0] = cell;
    const before = windowIn(split);
    if (before > window) return 0;
    if (before === window) {
      const least = countIn(split);
      if (least <= most) return least;
    }
    if (Atomics.compareExchange(told, slot, cell, cellOf(split, window, most)) === cell) return most;
  }
}

function refuse(leases: Leases, slot: number, limit: number, window: number): Quota {
  const remaining = tell(leases, slot, window, 0);
  const reset = (window + 1) * leases.counters.windowSeconds;
  return { passed: false, limit, remaining, reset, clockMs: leases.clock[0]! };
}

/** How a permit is taken. */
export interface Taking {
  /** Whether the last question was sent after the request had come, so that its answer holds for this request. */
  readonly isFresh: boolean;
  /** Called when the key runs out of permits; must not throw. */
  readonly askAhead: (slot: number, limit: number) => void;
}

/**
 * Counts one request against the permits that are held.
 *
 * @returns undefined when the server must be asked first
 */
export function takePermit(
  leases: Leases,
  slot: number,
  limit: number,
  moment: Moment,
  { isFresh, askAhead }: Taking,
): Quota | undefined {
  for (;;) {
    const { isGood, asked, rest, leased: window, permits, newest } = readHeld(leases, slot, moment);
    // Where the limit is another, the keys were loaded again.
    if (!isFresh && (!isGood || Math.abs(asked) !== limit)) return undefined;
    // Counted alone in a window that the server has not reached.
    if (newest > window) return takeAlone(leases, slot, limit, moment);
    const used = usedIn(held, window);
    const free = (asked < 0 ? 0 : Math.min(permits, limit)) - used;
    const isLast = rest === 0 && Math.abs(asked) === limit;
    if (free <= 0) {
      if (!isLast && used < limit) return undefined;
      if (moment.mono >= leases.recheck[slot]! && used < limit) askAhead(slot, limit);
      return refuse(leases, slot, limit, window);
    }
    if (free === 1 && !isLast && !isFresh && used + 1 < limit) return undefined;
    if (!countOne(leases, slot, window, used)) continue;
    if (free <= leases.askBelow[slot]!) askAhead(slot, limit);
    const remaining = Math.min(free - 1 + (isFresh ? rest : 0), limit - used - 1);
    const reset = (window + 1) * leases.counters.windowSeconds;
    return { passed: true, limit, remaining: tell(leases, slot, window, remaining), reset };
  }
}

/** Requests of a window that this replica lets through while the server is away. */
export function shareOf({ denies, replicas }: Leases, limit: number): number {
  return denies ? 0 : Math.floor(limit / replicas);
}

/** Permits that can be used while the server cannot be asked: those leased under a higher limit may be beyond this one. */
function usableIn({ leased, permits, isGood, asked }: Held, window: number, limit: number): number {
  return window === leased && isGood && asked >= 0 && asked <= limit ? Math.min(permits, limit) : 0;
}

/** Requests of a window that pass while the server cannot be asked: no more than it had left when it answered last. */
function mostAlone(leases: Leases, { leased, permits, rest }: Held, window: number, limit: number): number {
  const share = shareOf(leases, limit);
  return window === leased ? Math.min(share, Math.min(permits, limit) + rest) : share;
}

/** The window that is counted in while the server cannot be asked. */
function windowAlone({ counters, clock }: Leases, { newest, leased, isGood }: Held, wall: number): number {
  return Math.max(newest, leased, isGood ? 0 : windowAt(counters, wall + clock[0]!));
}

/**
 * Counts one request while the server cannot be asked: against the permits that
 * are held, then against this replica's share of the window, what it used of
 * that before included.
 */
export function takeAlone(leases: Leases, slot: number, limit: number, moment: Moment): Quota {
  for (;;) {
    readHeld(leases, slot, moment);
    const window = windowAlone(leases, held, moment.wall);
    const used = usedIn(held, window);
    const usable = usableIn(held, window, limit);
    const most = Math.max(usable, mostAlone(leases, held, window, limit));
    if (used >= most) {
      Atomics.add(leases.tally, REFUSED, 1n);
      return refuse(leases, slot, limit, window);
    }
    if (!countOne(leases, slot, window, used)) continue;
    if (used >= usable) Atomics.add(leases.tally, ALONE, 1n);
    const reset = (window + 1) * leases.counters.windowSeconds;
    return { passed: true, limit, remaining: tell(leases, slot, window, most - used - 1), reset };
  }
}

/**
 * Reads what is left of a key's limit, and takes nothing. Right after a question to the server this is what a request
 * would get; else it is what the server said last, and before it was asked the whole limit.
 */
export function readShared(leases: Leases, slot: number, limit: number, moment: Moment): SharedQuota {
  const { counters, clock } = leases;
  const { windowSeconds } = counters;
  const { newest, leased, isGood, asked, permits, rest } = readHeld(leases, slot, moment);
  if (Atomics.load(leases.away, slot) !== 0 || newest > leased) {
    const window = windowAlone(leases, held, moment.wall);
    const used = usedIn(held, window);
    const most = Math.max(usableIn(held, window, limit), mostAlone(leases, held, window, limit));
    const reset = (window + 1) * windowSeconds;
    return { counted: "alone", used, remaining: Math.max(0, most - used), reset };
  }
  const window = isGood ? leased : windowAt(counters, moment.wall + clock[0]!);
  const used = usedIn(held, window);
  const known = asked < 0 ? 0 : Math.max(0, Math.min(permits, limit) - used);
  const isKnown = isGood && Math.abs(asked) === limit;
  const remaining = Math.max(0, isKnown ? Math.min(known + rest, limit - used) : limit - used);
  return { counted: "shared", used: limit - remaining, remaining, reset: (window + 1) * windowSeconds };
}
