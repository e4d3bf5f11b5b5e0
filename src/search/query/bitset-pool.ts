/**
 * Bitsets that are used again.
 *
 * A quarter of a megabyte of garbage a search makes a thread collect garbage
 * several times a second. So a search borrows its bitsets from a pool and gives
 * them back at its end, however it ends; those of a generator that is dropped
 * are lost to the pool and collected with it.
 */

import { bitWords } from "../shared/bitset.ts";

/** So many spare bitsets are kept: what several searches that take turns need. */
const MOST_SPARE = 32;

/** Empty bitsets of one size. */
export class BitsetPool {
  readonly #words: number;
  readonly #spare: Uint32Array[] = [];

  /** @param numbers those in a set are below this */
  constructor(numbers: number) {
    this.#words = bitWords(numbers);
  }

  /** An empty set. */
  take(): Uint32Array {
    return this.#spare.pop() ?? new Uint32Array(this.#words);
  }

  /** Takes a set back, whatever is in it; nobody may use it any more. */
  give(bits: Uint32Array): void {
    if (this.#spare.length >= MOST_SPARE) return;
    bits.fill(0);
    this.#spare.push(bits);
  }
}

/** The bitsets that one search has of a pool. */
export class BitsetLoan {
  readonly #pool: BitsetPool;
  #lent: Uint32Array[] = [];

  constructor(pool: BitsetPool) {
    this.#pool = pool;
  }

  /** An empty set. */
  take(): Uint32Array {
    const bits = this.#pool.take();
    this.#lent.push(bits);
    return bits;
  }

  /** Whether a set is one of these, so that it may be written to. */
  has(bits: Uint32Array): boolean {
    return this.#lent.includes(bits);
  }

  /** Gives a set back, if it is one of these. */
  give(bits: Uint32Array): void {
    const at = this.#lent.indexOf(bits);
    if (at < 0) return;
    this.#lent.splice(at, 1);
    this.#pool.give(bits);
  }

  /** Leaves all sets to a result. */
  keepAll(): void {
    this.#lent = [];
  }

  /** Gives all sets back. */
  end(): void {
    for (let at = 0; at < this.#lent.length; at++) this.#pool.give(this.#lent[at]!);
    this.#lent = [];
  }
}
