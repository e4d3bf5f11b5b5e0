/**
 * A bound on the searches that wait: over all, and a half of that for one key.
 *
 * What is answered at once is never counted. A search counts from when it first has to wait until it is
 * answered, wherever it waits or runs meanwhile.
 */

/** Gives back the place of a search that waited. To be called once. */
export type Leave = () => void;

export interface PendingSearches {
  /** Counts one more of a key; undefined when there are too many. */
  enter(key: number): Leave | undefined;
}

const leaveNothing: Leave = () => {};

/** No bound: where the asking threads keep one. */
export const UNBOUNDED: PendingSearches = { enter: () => leaveNothing };

/** How many of the searches that wait may be of one key. */
function mostOfKey(most: number): number {
  return Math.max(1, Math.floor(most / 2));
}

/** A bound for one thread. */
export function createPendingSearches(most: number): PendingSearches {
  return sharePending(createSharedPending(most), 0);
}

/**
 * The searches that wait in all threads, a cell each, in shared memory: 0 when it is free, else the thread
 * and the key, so that the cells of a thread that died can be given back.
 */
export type SharedPending = Int32Array<SharedArrayBuffer>;

/** Keys have numbers below 2^20, which is as many as threads can count for; threads have the bits above. */
const KEY_BITS = 20;

export function createSharedPending(most: number): SharedPending {
  return new Int32Array(new SharedArrayBuffer(most * Int32Array.BYTES_PER_ELEMENT));
}

/** A thread's view of a bound that it shares. @param thread below 2,047, different for each thread */
export function sharePending(cells: SharedPending, thread: number): PendingSearches {
  const most = mostOfKey(cells.length);
  const owner = (thread + 1) << KEY_BITS;
  const keyMask = (1 << KEY_BITS) - 1;
  function isFull(key: number): boolean {
    let same = 0;
    for (let at = 0; at < cells.length; at++) {
      const cell = Atomics.load(cells, at);
      if (cell !== 0 && (cell & keyMask) === key && ++same > most) return true;
    }
    return false;
  }
  return {
    enter(number) {
      // A single thread may count for more keys; some then share a bound.
      const key = number & keyMask;
      for (let at = 0; at < cells.length; at++) {
        if (Atomics.compareExchange(cells, at, 0, owner | key) !== 0) continue;
        const leave = (): void => {
          Atomics.store(cells, at, 0);
        };
        // Counted with itself in: of two threads that enter at once at least one sees both.
        if (!isFull(key)) return leave;
        leave();
        return undefined;
      }
      return undefined;
    },
  };
}

/** Gives back what a thread held that has ended. */
export function releasePending(cells: SharedPending, thread: number): void {
  for (let at = 0; at < cells.length; at++) {
    if (Atomics.load(cells, at) >>> KEY_BITS === thread + 1) Atomics.store(cells, at, 0);
  }
}
