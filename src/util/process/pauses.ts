/** Exponential backoff: each pause is twice as long as the previous one, up to a limit. @param failures in a row, at least 1 */
export function growingPause(failures: number, firstMs: number, mostMs: number): number {
  return Math.min(firstMs * 2 ** (failures - 1), mostMs);
}

const MOST_MS = 300_000;

/** Counts failures in a row, and computes the backoff after each. */
export class GrowingPauses {
  readonly #firstMs: number;
  #failures = 0;

  constructor(firstMs: number) {
    this.#firstMs = firstMs;
  }

  /** Counts a failure. @returns milliseconds to wait */
  next(): number {
    return growingPause(++this.#failures, this.#firstMs, MOST_MS);
  }

  /** To be called after a success: the next failure counts as the first again. */
  reset(): void {
    this.#failures = 0;
  }
}
