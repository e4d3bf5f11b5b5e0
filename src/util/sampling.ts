/** How the access log chooses requests. */
interface AccessSampling {
  /** Keeps one in this many requests that are neither slow nor failures. */
  readonly every: number;
  /** A request is slow from this many milliseconds on. */
  readonly slowMs: number;
}

/**
 * Judges a request: 0 to leave it out, else the number of requests that its line stands for. Failures (5xx) and slow requests
 * are always kept; client errors (4xx) are sampled, since their number is unbounded.
 */
export type Keeps = (status: number, ms: number) => number;

/** Keeps one request of each block, at a random position, so that clients with a fixed rhythm appear, too. */
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
