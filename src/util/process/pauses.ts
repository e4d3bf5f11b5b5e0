/** Pauses between attempts at what keeps failing: each twice as long as the one before, up to a limit. */
export class GrowingPauses {
  readonly #firstMs: number;
  readonly #mostMs: number;
  #nextMs: number;

  /** @param firstMs the first pause, in milliseconds; `mostMs` is the longest */
  constructor(firstMs: number, mostMs = 300_000) {
    this.#firstMs = firstMs;
    this.#mostMs = mostMs;
    this.#nextMs = firstMs;
  }

  /** Milliseconds to wait now. */
  next(): number {
    const pause = this.#nextMs;
    this.#nextMs = Math.min(pause * 2, this.#mostMs);
    return pause;
  }

  /** It worked: the next failure is a first one again. */
  reset(): void {
    this.#nextMs = this.#firstMs;
  }
}
