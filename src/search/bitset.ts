/** Bitsets: number n is bit n % 32 of the 32-bit word n / 32. */

export function bitWords(numbers: number): number {
  return (numbers + 31) >>> 5;
}

export function countWord(word: number): number {
  let bits = word - ((word >>> 1) & 0x5555_5555);
  bits = (bits & 0x3333_3333) + ((bits >>> 2) & 0x3333_3333);
  return Math.imul((bits + (bits >>> 4)) & 0x0f0f_0f0f, 0x0101_0101) >>> 24;
}

export function countBits(bits: Uint32Array): number {
  let count = 0;
  for (let at = 0; at < bits.length; at++) if (bits[at] !== 0) count += countWord(bits[at]!);
  return count;
}

/** The number of the lowest bit of a word that is not 0. */
export function lowestBit(word: number): number {
  return 31 - Math.clz32(word & -word);
}

/**
 * Sorts few entries, number * 2 + flag, of a large range, and merges equal numbers: the result has the flag if any of
 * them has it. Each entry sets a bit, and a second bit for the 32-bit word that holds the first, so that only words
 * with bits are read. For 500 of a million it takes a fifteenth of the time of a sort.
 */
export class EntrySorter {
  readonly #any: Uint32Array;
  readonly #flagged: Uint32Array;
  /** A bit for each word of `any` that is not 0. */
  readonly #used: Uint32Array;

  /** @param numbers all numbers are below this */
  constructor(numbers: number) {
    this.#any = new Uint32Array(bitWords(numbers));
    this.#flagged = new Uint32Array(this.#any.length);
    this.#used = new Uint32Array(bitWords(this.#any.length));
  }

  add(entries: Uint32Array, from: number, to: number): void {
    const any = this.#any;
    const flagged = this.#flagged;
    const used = this.#used;
    for (let index = from; index < to; index++) {
      const entry = entries[index]!;
      const at = entry >>> 6;
      any[at]! |= 1 << (entry >>> 1);
      // Without a branch: the flag is unpredictable.
      flagged[at]! |= (entry & 1) << (entry >>> 1);
      used[at >>> 5]! |= 1 << at;
    }
  }

  /** Writes the entries, ascending, and empties the sorter. @returns the number of entries */
  drain(target: Uint32Array): number {
    const any = this.#any;
    const flagged = this.#flagged;
    const used = this.#used;
    let to = 0;
    for (let block = 0; block < used.length; block++) {
      for (let blockLeft = used[block]!; blockLeft !== 0; blockLeft &= blockLeft - 1) {
        const at = block * 32 + lowestBit(blockLeft);
        const flags = flagged[at]!;
        for (let word = any[at]!; word !== 0; word &= word - 1) {
          const bit = lowestBit(word);
          target[to++] = (at * 32 + bit) * 2 + ((flags >>> bit) & 1);
        }
        any[at] = 0;
        flagged[at] = 0;
      }
      used[block] = 0;
    }
    return to;
  }
}

/** Most spare bitsets kept: enough for several searches that take turns. */
const MOST_SPARE = 32;

/**
 * Reusable bitsets: with a quarter of a megabyte of garbage a search, a thread would collect garbage several times a
 * second. A search borrows bitsets and gives them back at its end; a dropped generator loses its bitsets.
 */
export class BitsetPool {
  readonly #words: number;
  readonly #spare: Uint32Array[] = [];

  /** @param numbers all numbers in a set are below this */
  constructor(numbers: number) {
    this.#words = bitWords(numbers);
  }

  take(): Uint32Array {
    return this.#spare.pop() ?? new Uint32Array(this.#words);
  }

  /** Takes a set back, with any contents; the caller must not use it any more. */
  give(bits: Uint32Array): void {
    if (this.#spare.length >= MOST_SPARE) return;
    bits.fill(0);
    this.#spare.push(bits);
  }
}

export class BitsetLoan {
  readonly #pool: BitsetPool;
  #lent: Uint32Array[] = [];

  constructor(pool: BitsetPool) {
    this.#pool = pool;
  }

  take(): Uint32Array {
    const bits = this.#pool.take();
    this.#lent.push(bits);
    return bits;
  }

  /** Whether a set belongs to this loan, so that it may be written to. */
  has(bits: Uint32Array): boolean {
    return this.#lent.includes(bits);
  }

  /** Gives all back but some. */
  keepOnly(kept: readonly Uint32Array[]): void {
    for (const bits of this.#lent) if (!kept.includes(bits)) this.#pool.give(bits);
    this.#lent = this.#lent.filter((bits) => kept.includes(bits));
  }

  keepAll(): void {
    this.#lent = [];
  }

  end(): void {
    for (let at = 0; at < this.#lent.length; at++) this.#pool.give(this.#lent[at]!);
    this.#lent.length = 0;
  }
}
