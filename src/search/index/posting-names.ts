/**
 * How many names a range of postings is of, each counted once.
 *
 * Names that were seen are bits: a bitset of all names stays in the processor's cache.
 */

import { bitWords } from "../shared/bitset.ts";
import { isRepeated } from "../shared/posting.ts";
import { GRAM, type TrigramIndex, textOf } from "../shared/trigrams.ts";

/** Counts names of postings. */
export class PostingNames {
  readonly #trigrams: TrigramIndex;
  /** Indexes of the postings whose names hold their trigram once more. */
  readonly #repeated: Uint32Array;
  /** Bits of names that were seen; none between two calls. */
  readonly #seen: Uint32Array;

  constructor(trigrams: TrigramIndex) {
    this.#trigrams = trigrams;
    this.#seen = new Uint32Array(bitWords(trigrams.texts.count));
    this.#repeated = repeatedPostings(trigrams.postings);
  }

  /** How many names a range of postings is of. */
  count(units: number, from: number, end: number): number {
    const trigrams = this.#trigrams;
    const { postings } = trigrams;
    const seen = this.#seen;
    let again = 0;
    if (units < GRAM) {
      // Of a shorter n-gram the trigrams do not tell which names hold it twice.
      for (let at = from; at < end; at++) again += see(seen, textOf(trigrams, postings[at]!));
      for (let at = from; at < end; at++) seen[textOf(trigrams, postings[at]!) >>> 5] = 0;
    } else {
      const repeated = this.#repeated;
      const first = indexOf(repeated, from);
      for (let at = first; at < repeated.length && repeated[at]! < end; at++)
        again += see(seen, textOf(trigrams, postings[repeated[at]!]!));
      for (let at = first; at < repeated.length && repeated[at]! < end; at++)
        seen[textOf(trigrams, postings[repeated[at]!]!) >>> 5] = 0;
    }
    return end - from - again;
  }
}

/** Sets the bit of a name. @returns 1 if it was set already, else 0 */
function see(seen: Uint32Array, name: number): number {
  const word = seen[name >>> 5]!;
  seen[name >>> 5] = word | (1 << name);
  return (word >>> name) & 1;
}

/** Indexes of the postings whose texts hold their trigram once more. */
function repeatedPostings(postings: Uint32Array): Uint32Array {
  let count = 0;
  for (let at = 0; at < postings.length; at++) if (isRepeated(postings[at]!)) count++;
  const repeated = new Uint32Array(count);
  for (let at = 0, to = 0; at < postings.length; at++) if (isRepeated(postings[at]!)) repeated[to++] = at;
  return repeated;
}

/** The index of the first number that is not below another, by halving. */
function indexOf(numbers: Uint32Array, least: number): number {
  let from = 0;
  let to = numbers.length;
  while (from < to) {
    const middle = (from + to) >>> 1;
    if (numbers[middle]! < least) from = middle + 1;
    else to = middle;
  }
  return from;
}
