/** The k smallest of many numbers, each once, by insertion into a short sorted array that is used again. */

/** A small integer of the engine's: a larger limit would make every comparison a slow one. */
const ABOVE_ALL = 2 ** 30;

/** Keeps the smallest numbers that it was given, ascending. They must be below 2^30. */
export class SmallestNumbers {
  readonly values: Uint32Array;
  count = 0;
  /** What is not below this is of no use. */
  limit = ABOVE_ALL;

  /** @param k how many to keep; at least one */
  constructor(k: number) {
    this.values = new Uint32Array(k);
  }

  clear(): void {
    this.count = 0;
    this.limit = ABOVE_ALL;
  }

  /** Takes a number that is below the limit, and may be known. */
  add(number: number): void {
    const { values } = this;
    let at = this.count;
    while (at > 0 && values[at - 1]! > number) at--;
    if (at > 0 && values[at - 1] === number) return;
    const isFull = this.count === values.length;
    for (let to = isFull ? this.count - 1 : this.count; to > at; to--) values[to] = values[to - 1]!;
    values[at] = number;
    if (!isFull) this.count++;
    if (this.count === values.length) this.limit = values[this.count - 1]!;
  }
}
