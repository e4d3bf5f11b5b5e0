/**
 * Checks that numbers in a prepared snapshot are valid indexes: a file with right checksums may still be forged.
 *
 * A search or a lookup ends and stays within its arrays if hash tables have empty slots, starts ascend up to the end of the
 * array that they divide, and rows, texts and documents exist. Whether a lookup finds the right ones is not checked.
 */

/** A check of the items of an array, which arrive in pieces. */
export interface ItemsCheck {
  /** The state before the first piece. */
  readonly first: number;
  /** @returns the state after a piece; NaN if an item is wrong */
  take(items: Uint32Array, state: number): number;
  /** The right state after the last piece; undefined if any is. */
  readonly last?: number;
}

/** Whether all items are below a limit of at most 2^31, by their sign bits: four at a time without a branch take half as long. */
function areBelow({ buffer, byteOffset, length }: Uint32Array, limit: number): boolean {
  const items = new Int32Array(buffer, byteOffset, length);
  const last = (limit - 1) | 0;
  let bits = 0;
  let at = 0;
  for (; at + 4 <= length; at += 4) {
    const a = items[at]!;
    const b = items[at + 1]!;
    const c = items[at + 2]!;
    const d = items[at + 3]!;
    bits |= a | b | c | d | ((last - a) | 0) | ((last - b) | 0) | ((last - c) | 0) | ((last - d) | 0);
  }
  for (; at < length; at++) bits |= items[at]! | ((last - items[at]!) | 0);
  return bits >= 0;
}

/** Checks that every item is below a limit. */
export function below(limit: number): ItemsCheck {
  const areGood = (items: Uint32Array): boolean =>
    limit <= 2 ** 31 ? areBelow(items, limit) : items.every((item) => item < limit);
  return { first: 0, take: (items) => (areGood(items) ? 0 : Number.NaN) };
}

/** Checks that items ascend from 0 to the end of the array that they divide, by at least `least` each. */
export function ascending(end: number, least: number): ItemsCheck {
  return {
    first: -1,
    take(items, state) {
      let good = state >= 0 || items[0] === 0;
      let before = state < 0 ? -least : state;
      for (let at = 0; at < items.length; at++) {
        const item = items[at]!;
        if (item - before < least) good = false;
        before = item;
      }
      return good ? before : Number.NaN;
    },
    last: end,
  };
}

/** Checks that `count` slots of a hash table are filled with numbers from 1 to `count`. */
export function filled(count: number): ItemsCheck {
  return {
    first: 0,
    take(items, state) {
      let good = true;
      let full = 0;
      for (let at = 0; at < items.length; at++) {
        const item = items[at]!;
        if (item === 0) continue;
        full++;
        if (item > count) good = false;
      }
      return good ? state + full : Number.NaN;
    },
    last: count,
  };
}

/** Checks that bitsets of `words` words each have no bits after the last of `numbers` numbers. */
export function bitsBelow(words: number, numbers: number): ItemsCheck {
  const left = numbers % 32;
  return {
    // Index of the last word of the next bitset.
    first: words - 1,
    take(items, state) {
      if (left === 0) return state;
      let next = state;
      for (; next < items.length; next += words) if (items[next]! >>> left !== 0) return Number.NaN;
      return next - items.length;
    },
  };
}
