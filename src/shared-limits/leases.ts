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
  /** Requests let through without a permit while the server was away, those refused then, and those that waited for it. */
  readonly tally: BigInt64Array;
  /** Replicas that share the limit while the server is away. */
  readonly replicas: number;
  /** Whether requests without a permit are refused while the server is away. */
  readonly denies: boolean;
}

/** Asked for when a key runs out of permits; must not throw. */
export type AskAhead = (slot: number, limit: number) => void;

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

/** Requests that could not be counted at once, since the start. */
export interface Tally {
  /** Let through without a permit while the server was away, or refused then. */
  readonly alone: number;
  readonly refused: number;
  /** Those that waited for it. */
  readonly waited: number;
}

/** Reads what all threads have counted. */
export function readTally({ tally }: Leases): Tally {
  const read = (place: number): number => Number(Atomics.load(tally, place));
  return { alone: read(ALONE), refused: read(REFUSED), waited: read(WAITED) };
}

/** What a caller is told: no more than before in this window. */
function tell(
  { told, counters: { split } }: Leases,
  slot: number,
  window: number,
  remaining: number,
): number {
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

/**
 * Counts one request against the permits that are held.
 *
 * @param mono milliseconds of the monotonic clock
 * @param wall milliseconds since the epoch
 * @param isFresh whether the last question was sent after the request had come, so that its answer holds for this request
 * @returns undefined when the server must be asked first
 */
export function takePermit(
  leases: Leases,
  slot: number,
  limit: number,
  mono: number,
  wall: number,
  isFresh: boolean,
  askAhead: AskAhead,
): Quota | undefined {
  const { permits, counters } = leases;
  const { cells, split, windowSeconds } = counters;
  for (;;) {
    const lease = Atomics.load(permits, slot);
    const isGood = isFresh || (mono < leases.until[slot]! && wall < leases.wallUntil[slot]!);
    const asked = leases.limits[slot]!;
    const rest = leases.rest[slot]!;
    // What was read belongs together only if no other answer came meanwhile.
    if (Atomics.load(permits, slot) !== lease) continue;
    // The keys were loaded again, and the limit is another.
    if (!isGood || (!isFresh && Math.abs(asked) !== limit)) return undefined;
    whole[0] = lease;
    const window = windowIn(split);
    const most = asked < 0 ? 0 : Math.min(countIn(split), limit);
    const cell = Atomics.load(cells, slot);
    whole[0] = cell;
    const newest = windowIn(split);
    // Counted alone in a window that the server has not reached.
    if (newest > window) return takeAlone(leases, slot, limit, mono, wall);
    const used = newest === window ? countIn(split) : 0;
    const held = most - used;
    const isLast = rest === 0 && Math.abs(asked) === limit;
    if (held <= 0) {
      if (!isLast && used < limit) return undefined;
      if (mono >= leases.recheck[slot]! && used < limit) askAhead(slot, limit);
      return refuse(leases, slot, limit, window);
    }
    if (held === 1 && !isLast && !isFresh && used + 1 < limit) return undefined;
    if (Atomics.compareExchange(cells, slot, cell, cellOf(split, window, used + 1)) !== cell) continue;
    if (held <= leases.askBelow[slot]!) askAhead(slot, limit);
    const remaining = Math.min(held - 1 + (isFresh ? rest : 0), limit - used - 1);
    const reset = (window + 1) * windowSeconds;
    return { passed: true, limit, remaining: tell(leases, slot, window, remaining), reset };
  }
}

/** Requests of a window that this replica lets through while the server is away. */
export function shareOf({ denies, replicas }: Leases, limit: number): number {
  return denies ? 0 : Math.floor(limit / replicas);
}

/**
 * Counts one request while the server cannot be asked: against the permits that
 * are held, then against this replica's share of the window, what it used of
 * that before included. No more than the server had left when it answered last.
 */
export function takeAlone(leases: Leases, slot: number, limit: number, mono: number, wall: number): Quota {
  const { permits, counters } = leases;
  const { cells, split, windowSeconds } = counters;
  const estimate = windowAt(counters, wall + leases.clock[0]!);
  for (;;) {
    const lease = Atomics.load(permits, slot);
    const isGood = mono < leases.until[slot]! && wall < leases.wallUntil[slot]!;
    const asked = leases.limits[slot]!;
    const rest = leases.rest[slot]!;
    if (Atomics.load(permits, slot) !== lease) continue;
    whole[0] = lease;
    const leased = windowIn(split);
    const permitted = Math.min(countIn(split), limit);
    const cell = Atomics.load(cells, slot);
    whole[0] = cell;
    const newest = windowIn(split);
    const window = Math.max(newest, leased, isGood ? 0 : estimate);
    const used = newest === window ? countIn(split) : 0;
    const share = shareOf(leases, limit);
    const isLeased = window === leased;
    // Permits that were leased under a higher limit may be beyond this one.
    const isOfLimit = asked >= 0 && asked <= limit;
    const usable = isLeased && isGood && isOfLimit ? permitted : 0;
    const most = Math.max(usable, isLeased ? Math.min(share, permitted + rest) : share);
    if (used >= most) {
      Atomics.add(leases.tally, REFUSED, 1n);
      return refuse(leases, slot, limit, window);
    }
    if (Atomics.compareExchange(cells, slot, cell, cellOf(split, window, used + 1)) !== cell) continue;
    if (used >= usable) Atomics.add(leases.tally, ALONE, 1n);
    const reset = (window + 1) * windowSeconds;
    return { passed: true, limit, remaining: tell(leases, slot, window, most - used - 1), reset };
  }
}
