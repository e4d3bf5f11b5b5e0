/**
 * Permits that a counter server leased to this replica.
 *
 * Over all replicas no more permits are leased in a window than its limit, and a request passes by taking one. What was
 * leased and what was taken are both counts of one window that only grow, each in one 64-bit cell, as in `limit.ts`. So
 * threads take permits without a lock, and an answer that is lost, late or repeated does no harm.
 */

import { type Counters, countIn, whole, windowIn } from "../auth/limit.ts";

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
  readonly away: Int32Array;
  /** The server's clock minus the wall clock here, in milliseconds; one value. */
  readonly clock: Float64Array;
  /** Requests let through without a permit while the server was away, refused then, and waiting for it at any time. */
  readonly tally: BigInt64Array;
  readonly replicas: number;
  readonly denies: boolean;
}

/** What both clocks show at one moment, in milliseconds: the monotonic one, and the wall clock since the epoch. */
export interface Clocks {
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

export const ALONE = 0;
export const REFUSED = 1;
export const WAITED = 2;

/** Requests that could not be counted at once, since the start, in all threads: as in `Leases.tally`. */
export function readTally({ tally }: Leases): Record<"alone" | "refused" | "waited", number> {
  const read = (place: number): number => Number(Atomics.load(tally, place));
  return { alone: read(ALONE), refused: read(REFUSED), waited: read(WAITED) };
}

/** Requests of a window that this replica lets through while the server is away. */
export function shareOf({ denies, replicas }: Leases, limit: number): number {
  return denies ? 0 : Math.floor(limit / replicas);
}

/** Count of a cell if it is of the window, else 0. */
export function countOf(cells: BigUint64Array, slot: number, window: number, split: number): number {
  whole[0] = Atomics.load(cells, slot);
  return windowIn(split) === window ? countIn(split) : 0;
}
