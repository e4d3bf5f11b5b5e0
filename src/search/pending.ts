/**
 * A limit on waiting searches: one for all keys together, and half of that for each key. A search counts from its first wait
 * until its answer; one that is answered at once never counts.
 */

/** Releases the place of a search that waited. To be called once. */
export type Leave = () => void;

export interface PendingSearches {
  /** Counts one more search of a key; undefined when there are too many. */
  enter(key: number): Leave | undefined;
}

/** No limit, where the calling threads keep one. */
export const UNBOUNDED: PendingSearches = { enter: () => () => {} };

/** Searches that may wait: enough for honest bursts, and few enough that the last one waits seconds at most. */
const MAX_PENDING_SEARCHES = 256;

export function createPendingSearches(most = MAX_PENDING_SEARCHES): PendingSearches {
  return sharePending(createSharedPending(most), 0);
}

/**
 * The waiting searches of all threads, a cell each, in shared memory: 0 when free, else the thread and the key, so that
 * the cells of a dead thread can be released.
 */
export type SharedPending = Int32Array<SharedArrayBuffer>;

/** Key numbers are below 2^20, the most that several threads count for; the bits above hold the thread. */
const KEY_BITS = 20;

export function createSharedPending(most = MAX_PENDING_SEARCHES): SharedPending {
  return new Int32Array(new SharedArrayBuffer(most * Int32Array.BYTES_PER_ELEMENT));
}

/** A thread's view of a shared limit. @param thread below 2,047, different for each thread */
export function sharePending(cells: SharedPending, thread: number): PendingSearches {
  const mostOfKey = Math.max(1, Math.floor(cells.length / 2));
  const owner = (thread + 1) << KEY_BITS;
  const keyMask = (1 << KEY_BITS) - 1;
  function isFull(key: number): boolean {
    let same = 0;
    for (let at = 0; at < cells.length; at++) {
      const cell = Atomics.load(cells, at);
      if (cell !== 0 && (cell & keyMask) === key && ++same > mostOfKey) return true;
    }
    return false;
  }
  return {
    enter(number) {
      // A single thread may count for more keys; some then share a limit.
      const key = number & keyMask;
      for (let at = 0; at < cells.length; at++) {
        if (Atomics.compareExchange(cells, at, 0, owner | key) !== 0) continue;
        const leave = (): void => {
          Atomics.store(cells, at, 0);
        };
        // Counts this search, too: if two threads enter at once, at least one of them sees both.
        if (!isFull(key)) return leave;
        leave();
        return undefined;
      }
      return undefined;
    },
  };
}

/** Releases the cells of a thread that has ended. */
export function releasePending(cells: SharedPending, thread: number): void {
  for (let at = 0; at < cells.length; at++) {
    if (Atomics.load(cells, at) >>> KEY_BITS === thread + 1) Atomics.store(cells, at, 0);
  }
}
