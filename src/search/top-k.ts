/**
 * The k smallest of many numbers, by insertion into a short sorted array: what is not below its last number
 * is told by one comparison.
 */

/** A small integer of the engine's: a larger limit would make every comparison a slow one. */
const ABOVE_ALL = 2 ** 30;

/** Keeps the smallest numbers that it was given, ascending. Each must come but once, and be below 2^30. */
export class TopK {
  readonly #k: number;
  /** In order. An array of the engine's: a typed one of so few takes ten times as long to make. */
  readonly numbers: number[] = [];
  limit: number;

  /** @param k how many to keep */
  constructor(k: number) {
    this.#k = k;
    this.limit = k === 0 ? 0 : ABOVE_ALL;
  }

  /** Takes a number that is below the limit. */
  add(number: number): void {
    const { numbers } = this;
    if (numbers.length < this.#k) numbers.push(number);
    let to = numbers.length - 1;
    for (; to > 0 && numbers[to - 1]! > number; to--) numbers[to] = numbers[to - 1]!;
    numbers[to] = number;
    if (numbers.length === this.#k) this.limit = numbers[numbers.length - 1]!;
  }
}
