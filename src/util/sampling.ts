/** How the access log chooses requests. */
export interface AccessSampling {
  /** One in so many requests that are neither slow nor failures is kept. */
  readonly every: number;
  /** From so many milliseconds on a request is slow. */
  readonly slowMs: number;
}

/**
 * Judges a request: 0 when it is left out, else for how many requests its line stands. Failures (5xx) and slow ones are
 * always kept; of the mistakes of clients (4xx), which may be any number, a sample.
 */
export type Keeps = (status: number, ms: number) => number;

/** Keeps one request of each block, at a random place, so that clients that ask in a rhythm are seen, too. */
export function createSampling({ every, slowMs }: AccessSampling, random: () => number = Math.random): Keeps {
  let left = 0;
  let chosen = 0;
  return (status, ms) => {
    if (status >= 500 || ms >= slowMs) return 1;
    if (left === 0) {
      left = every;
      chosen = 1 + Math.floor(random() * every);
    }
    return left-- === chosen ? every : 0;
  };
}
