/**
 * Permits that a counter server leased to this replica.
 *
 * In a window, all replicas together lease at most as many permits as the limit, and a request passes by taking one. The
 * leased and the taken permits are counts of one window that only grow, each in one 64-bit cell, as in `limit.ts`. So
 * threads take permits without a lock, and a lost, late or repeated answer does no harm.
 */

import type { Counters } from "../auth/limit.ts";

/** Leases of all keys, in shared memory, the same in all threads. Arrays are indexed by the keys' slots. */
export interface Leases {
  readonly counters: Counters;
  /** Window, and permits leased in it; cells have the layout of the counters. */
  readonly permits: BigUint64Array;
  /** Window, and the lowest number of remaining requests reported to a caller in it. */
  readonly told: BigUint64Array;
  /** End of validity of the permits, in milliseconds of the monotonic clock, and of the wall clock, which may jump. */
  readonly until: Float64Array;
  readonly wallUntil: Float64Array;
  /**
   * Permits that the server had left for all replicas at its last answer, and the limit in the question. The limit is
   * negative if it was lowered within the window and nothing is left: held permits may then exceed it.
   */
  readonly rest: Float64Array;
  readonly limits: Float64Array;
  /** When to ask again whether the server still has nothing left. */
  readonly recheck: Float64Array;
  /** More permits are requested when at most this many are held. */
  readonly askBelow: Float64Array;
  readonly away: Int32Array;
  /** The server's clock minus the wall clock here, in milliseconds; one value. */
  readonly clock: Float64Array;
  /** Requests that passed without a permit while the server was away, were refused meanwhile, or ever waited for it. */
  readonly tally: BigInt64Array;
  readonly replicas: number;
  readonly denies: boolean;
}

/** Both clocks at one moment, in milliseconds: the monotonic clock, and the wall clock since the epoch. */
export interface Clocks {
  readonly mono: number;
  readonly wall: number;
}

/** Creates leases for counters, which must be in shared memory. */
export function createLeases(counters: Counters, replicas: number, denies: boolean): Leases {
  const slots = counters.cells.length;
  const shared = (bytes: number): SharedArrayBuffer => new SharedArrayBuffer(bytes);
  const numbers = (): Float64Array => new Float64Array(shared(slots * 8));
  const cells = (): BigUint64Array => new BigUint64Array(shared(slots * 8));
  return {
    counters,
    permits: cells(),
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

/** Requests of a window that this replica lets pass while the server is away. */
export function shareOf({ denies, replicas }: Leases, limit: number): number {
  return denies ? 0 : Math.floor(limit / replicas);
}
