/**
 * Fixed-window rate limits over in-memory counters.
 *
 * Time is cut into windows aligned to the epoch. A counter remembers the newest window it was used in and never goes
 * back to an older one, so a clock that steps back neither reopens a window nor refunds a request.
 *
 * A counter belongs to a key's id, not to the key's record: reloading keys or snapshots keeps the count.
 *
 * Window and count of a key are the upper and the lower bits of one 64-bit cell, changed by compare-and-exchange alone.
 * Each exchange makes its number larger, so no number comes back: if several threads read the same number, only one can
 * store the next, and the others read again. Hence in each window the counts 1, 2, 3 … are stored once each, never more
 * than the limit, and no thread waits for another.
 *
 * The longer the windows, the fewer bits their numbers need: until the year 2106, 32 bits hold the number of a one-second
 * window. The count has the rest: at least 2^31 requests for each second of a window, so every limit up to 2^53 - 1 is kept.
 */

/** Counters of all keys ever seen. Mutable; grows by one slot per key id. */
export interface Counters {
  readonly windowSeconds: number;
  /** A power of two. A cell's upper half is the window times this, plus the upper bits of the count; the lower half has the rest. */
  readonly split: number;
  readonly slots: Map<string, number>;
  /** By slot: the newest window with a request, counted from the epoch, and the requests that passed in it. */
  cells: BigUint64Array;
}

/** State of the limit after a request, for its caller. */
export interface Quota {
  readonly passed: boolean;
  readonly limit: number;
  readonly remaining: number;
  readonly reset: number;
}

const HALF = 2 ** 32;

/** So that a count is a safe integer. */
const MOST_SPLIT = 2 ** 21;

function countersOf(windowSeconds: number, cells: BigUint64Array): Counters {
  const split = Math.min(MOST_SPLIT, 2 ** Math.floor(Math.log2(windowSeconds)));
  return { windowSeconds, split, slots: new Map(), cells };
}

/** @param windowSeconds a whole number from 1 */
export function createCounters(windowSeconds: number): Counters {
  return countersOf(windowSeconds, new BigUint64Array(64));
}

/** Maximum number of keys that threads can count for; memory that no key uses is never touched. */
export const MOST_SHARED = 1_048_576;

/** Counters in shared memory: another thread that receives them counts in the same cells. */
export function createSharedCounters(windowSeconds: number): Counters {
  return countersOf(windowSeconds, new BigUint64Array(new SharedArrayBuffer(MOST_SHARED * 8)));
}

/** Finds the slot of a key id, or adds one. Called when keys are loaded, not per request. */
export function slotOf(counters: Counters, keyId: string): number {
  const known = counters.slots.get(keyId);
  if (known !== undefined) return known;
  const slot = counters.slots.size;
  const { cells } = counters;
  if (slot === cells.length) {
    if (cells.buffer instanceof SharedArrayBuffer) {
      throw new RangeError(`more than ${MOST_SHARED} keys with --threads or --shared-limits`);
    }
    counters.cells = new BigUint64Array(cells.length * 2);
    counters.cells.set(cells);
  }
  counters.slots.set(keyId, slot);
  return slot;
}

/** Halves of a cell: calculations with BigInts would allocate at each step. */
const halves = new Uint32Array(2);
/** The cell to take apart or to make; a reader stores it here first. */
const whole = new BigUint64Array(halves.buffer);

/** Window of the cell in {@link whole}, and its count: two functions, since a result object would be garbage of each request. */
function windowIn(split: number): number {
  return Math.floor(halves[1]! / split);
}

function countIn(split: number): number {
  return (halves[1]! % split) * HALF + halves[0]!;
}

/** The largest count that a cell has room for; limits may be higher. */
function mostIn(split: number): number {
  return split * HALF - 1;
}

/** Makes a cell. @param count at most {@link mostIn} */
function cellOf(split: number, window: number, count: number): bigint {
  halves[0] = count;
  halves[1] = window * split + Math.floor(count / HALF);
  return whole[0]!;
}

/** The window that a time lies in, counted from the epoch. @param now milliseconds since the epoch */
export function windowAt({ split, windowSeconds }: Counters, now: number): number {
  return Math.min(Math.floor(now / 1000 / windowSeconds), HALF / split - 1);
}

/** Counts one request of a key, unless it is over the limit. @param now milliseconds since the epoch */
export function countRequest(counters: Counters, slot: number, limit: number, now: number): Quota {
  return countInWindow(counters, slot, limit, windowAt(counters, now));
}

/** Counts one request of a window, unless it is over the limit; if the counter is in a newer window, of that. */
export function countInWindow(counters: Counters, slot: number, limit: number, current: number): Quota {
  const { cells, split, windowSeconds } = counters;
  for (;;) {
    const cell = Atomics.load(cells, slot);
    whole[0] = cell;
    let window = windowIn(split);
    let used = countIn(split);
    if (current > window) {
      window = current;
      used = 0;
    }
    const reset = (window + 1) * windowSeconds;
    if (used >= limit || used >= mostIn(split)) return { passed: false, limit, remaining: 0, reset };
    if (Atomics.compareExchange(cells, slot, cell, cellOf(split, window, used + 1)) === cell) {
      return { passed: true, limit, remaining: limit - used - 1, reset };
    }
  }
}

export interface Usage {
  /** The newest window with a request, counted from the epoch; 0 for none. */
  readonly window: number;
  readonly used: number;
}

export function usageOf({ cells, split }: Counters, slot: number): Usage {
  whole[0] = Atomics.load(cells, slot);
  return { window: windowIn(split), used: countIn(split) };
}

/** Raises a count to what is known from elsewhere, unless it is as high, or the counter is in a newer window. */
export function raiseUsage({ cells, split }: Counters, slot: number, window: number, used: number): void {
  const count = Math.min(used, mostIn(split));
  for (;;) {
    const cell = Atomics.load(cells, slot);
    whole[0] = cell;
    const before = windowIn(split);
    if (before > window || (before === window && countIn(split) >= count)) return;
    if (Atomics.compareExchange(cells, slot, cell, cellOf(split, window, count)) === cell) return;
  }
}

/** Reads the counts without counting. May miss a count that changes meanwhile. */
export function readCounts(counters: Counters, now: number) {
  const { cells, split, windowSeconds } = counters;
  // Numbers instead of BigInts: a caller may read all keys.
  const view = new Uint32Array(cells.buffer);
  const current = windowAt(counters, now);
  const least = current * split;
  return {
    /** Epoch seconds at which the window ends. */
    reset: (current + 1) * windowSeconds,
    usedBy(slot: number): number {
      const upper = view[slot * 2 + 1]!;
      // If the clock stepped back, keep counting in the newer window.
      return upper < least ? 0 : (upper % split) * HALF + view[slot * 2]!;
    },
  };
}
