/**
 * An index of grams: runs of code units that get longer until they are rare. Every code unit is a gram. A gram that more than
 * `few` documents contain is common, and is continued by each unit that follows it somewhere, up to {@link MOST_UNITS}. Each
 * gram has the list of the documents that contain it. So the documents of a common term are one list, and every other term
 * contains a rare gram, whose few documents are read.
 */

/** An index over the texts of some documents, all in shared memory. Grams are numbered from 1; {@link ROOT} is the empty one. */
export interface Grams {
  readonly documents: number;
  /** A gram in at most so many documents is rare. */
  readonly few: number;
  /** By gram: the number of the gram without its last unit, times 65,536, plus that unit. */
  readonly keys: Float64Array;
  /** By hash of a key: the number of its gram; 0 if free. */
  readonly slots: Uint32Array;
  /** By gram: how many documents contain it. */
  readonly counts: Uint32Array;
  /** By gram: where its list begins in `lists`. Grams with the same documents share a list. */
  readonly places: Uint32Array;
  /**
   * A list is a bitset if it is dense. Otherwise it is the differences between ascending documents, in bytes of seven bits,
   * the lowest first; all bytes but the last of a difference have the eighth bit. The first difference counts from -1.
   */
  readonly lists: Uint32Array;
}

export const ROOT = 0;

/** The beginning of a text, as if it were a unit. Grams that begin with it lead to texts that begin with a term. */
export const BEGIN = 1;

/** The most units of a gram. A longer term is found by the grams in it. */
export const MOST_UNITS = 24;

/** A list of more than one in so many documents is dense: its bitset is hardly larger than its differences, and exact to combine. */
const DENSE = 16;

export function isDense(count: number, documents: number): boolean {
  return count * DENSE > documents;
}

/** The 32-bit words of a bitset. */
export function wordsFor(documents: number): number {
  return (documents + 31) >>> 5;
}

export function hashOf(gram: number, unit: number): number {
  const mixed = Math.imul(Math.imul(gram, 0x9e3779b1) ^ unit, 0x85ebca6b);
  return mixed ^ (mixed >>> 15);
}

export function keyOf(gram: number, unit: number): number {
  return gram * 65_536 + unit;
}

/** The gram that continues another by a unit; 0 if there is none. */
export function longerGram(
  { keys, slots }: Pick<Grams, "keys" | "slots">,
  gram: number,
  unit: number,
): number {
  const key = keyOf(gram, unit);
  const mask = slots.length - 1;
  for (let slot = hashOf(gram, unit) & mask; ; slot = (slot + 1) & mask) {
    const found = slots[slot]!;
    if (found === 0 || keys[found] === key) return found;
  }
}
