/** A pause before another attempt: each twice as long as the one before, up to a limit. @param failures in a row, at least 1 */
export function growingPause(failures: number, firstMs: number, mostMs: number): number {
  return Math.min(firstMs * 2 ** (failures - 1), mostMs);
}

/** Counts failures, and tells the pause after each. */
export class GrowingPauses {
  readonly #firstMs: number;
  readonly #mostMs: number;
  #failures = 0;

  /** @param firstMs the first pause, in milliseconds; `mostMs` is the longest */
  constructor(firstMs: number, mostMs = 300_000) {
    this.#firstMs = firstMs;
    this.#mostMs = mostMs;
  }

  /** Milliseconds to wait now. */
  next(): number {
    return growingPause(++this.#failures, this.#firstMs, this.#mostMs);
  }

  /** It worked: the next failure is a first one again. */
  reset(): void {
    this.#failures = 0;
  }
}
