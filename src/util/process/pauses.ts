const MOST_MS = 300_000;

/** Exponential backoff: each pause is twice as long as the previous one, up to a limit. */
export class GrowingPauses {
  readonly #firstMs: number;
  readonly #mostMs: number;
  #failures = 0;

  constructor(firstMs: number, mostMs = MOST_MS) {
    this.#firstMs = firstMs;
    this.#mostMs = mostMs;
  }

  /** Counts a failure. @returns milliseconds to wait */
  next(): number {
    return Math.min(this.#firstMs * 2 ** this.#failures++, this.#mostMs);
  }

  /** To be called after a success: the next failure counts as the first again. */
  reset(): void {
    this.#failures = 0;
  }
}
