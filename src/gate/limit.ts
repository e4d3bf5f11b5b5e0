/**
 * Fixed-window rate limits over in-memory counters.
 *
 * Time is cut into windows aligned to the epoch. A counter remembers the
 * newest window it was used in and never goes back to an older one, so a clock
 * that steps back neither reopens a window nor refunds a request.
 *
 * A counter belongs to a key's id, not to the key's record: reloading keys or
 * snapshots keeps the count.
 */

/** Counters of all keys ever seen. Mutable; grows by one slot a key id. */
export interface Counters {
  /** Length of a window in seconds. */
  readonly windowSeconds: number;
  /** By slot, when several threads count: 1 while one of them does. */
  readonly locks: Int32Array | undefined;
  /** Slot of a key id. */
  readonly slots: Map<string, number>;
  /** Newest window a slot was used in, counted from the epoch. */
  windows: Float64Array;
  /** Requests that passed in that window. */
  counts: Float64Array;
}

/** What a request may tell its caller about the limit. */
export interface Quota {
  readonly passed: boolean;
  readonly limit: number;
  readonly remaining: number;
  /** Epoch seconds at which the window ends. */
  readonly reset: number;
}

/** Makes an empty set of counters for windows of the given length. */
export function createCounters(windowSeconds: number): Counters {
  return {
    windowSeconds,
    locks: undefined,
    slots: new Map(),
    windows: new Float64Array(64).fill(-1),
    counts: new Float64Array(64),
  };
}

/** How many keys threads can count for; memory that no key uses is never touched. */
const MOST_SHARED = 1_048_576;

/** Counters that several threads use: handed to another thread they are the same counters. */
export function createSharedCounters(windowSeconds: number): Counters {
  return {
    windowSeconds,
    locks: new Int32Array(new SharedArrayBuffer(MOST_SHARED * 4)),
    slots: new Map(),
    // Zero is before every window that a clock shows: windows are counted from 1970.
    windows: new Float64Array(new SharedArrayBuffer(MOST_SHARED * 8)),
    counts: new Float64Array(new SharedArrayBuffer(MOST_SHARED * 8)),
  };
}

/** Finds the slot of a key id, or opens one. Called when keys are loaded, not per request. */
export function slotOf(counters: Counters, keyId: string): number {
  const known = counters.slots.get(keyId);
  if (known !== undefined) return known;
  const slot = counters.slots.size;
  if (slot === counters.windows.length) {
    if (counters.locks !== undefined) throw new RangeError(`more than ${MOST_SHARED} keys with --threads`);
    const windows = new Float64Array(slot * 2).fill(-1);
    windows.set(counters.windows);
    counters.windows = windows;
    const counts = new Float64Array(slot * 2);
    counts.set(counters.counts);
    counters.counts = counts;
  }
  counters.slots.set(keyId, slot);
  return slot;
}

/**
 * Counts one request of a key.
 *
 * @param now milliseconds since the epoch
 * @returns the quota after this request; a request over the limit is not counted
 */
export function countRequest(counters: Counters, slot: number, limit: number, now: number): Quota {
  if (counters.locks === undefined) return count(counters, slot, limit, now);
  lock(counters.locks, slot);
  const quota = count(counters, slot, limit, now);
  Atomics.store(counters.locks, slot, 0);
  return quota;
}

/**
 * Holders need a few nanoseconds, so waiting is spinning. One that was
 * suspended needs its turn on a processor; one whose thread was ended in
 * between never comes back, and after a tenth of a second its lock is taken.
 */
const MOST_SPINS = 10_000_000;

function lock(locks: Int32Array, slot: number): void {
  for (let spins = 0; Atomics.compareExchange(locks, slot, 0, 1) !== 0; spins++) {
    if (spins === MOST_SPINS) return;
  }
}

function count(counters: Counters, slot: number, limit: number, now: number): Quota {
  const current = Math.floor(now / 1000 / counters.windowSeconds);
  if (current > counters.windows[slot]!) {
    counters.windows[slot] = current;
    counters.counts[slot] = 0;
  }
  const used = counters.counts[slot]!;
  const passed = used < limit;
  if (passed) counters.counts[slot] = used + 1;
  return {
    passed,
    limit,
    remaining: passed ? limit - used - 1 : 0,
    reset: (counters.windows[slot]! + 1) * counters.windowSeconds,
  };
}
