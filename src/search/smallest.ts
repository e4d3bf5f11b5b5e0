/** The smallest of many numbers, when only a few are wanted. */

/** A small integer of the engine's: a larger limit would make every comparison a slow one. */
const ABOVE_ALL = 2 ** 30;

/** Keeps the smallest numbers that it was given, ascending. Each must come but once, and be below 2^30. */
export class Smallest {
  readonly #numbers: Uint32Array;
  #count = 0;
  /** What is not below this is of no use. */
  limit: number;

  /** @param many how many to keep */
  constructor(many: number) {
    this.#numbers = new Uint32Array(many);
    this.limit = many === 0 ? 0 : ABOVE_ALL;
  }

  /** Takes a number that is below the limit. */
  add(number: number): void {
    const numbers = this.#numbers;
    let to = this.#count === numbers.length ? this.#count - 1 : this.#count++;
    for (; to > 0 && numbers[to - 1]! > number; to--) numbers[to] = numbers[to - 1]!;
    numbers[to] = number;
    if (this.#count === numbers.length) this.limit = numbers[numbers.length - 1]!;
  }

  /** Those that were kept. */
  get numbers(): Uint32Array {
    return this.#numbers.subarray(0, this.#count);
  }
}
