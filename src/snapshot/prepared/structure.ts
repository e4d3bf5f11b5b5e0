/**
 * Checks that numbers in a prepared snapshot are valid indexes: a file with right checksums may still be forged.
 *
 * A search or a lookup ends and stays within its arrays if hash tables have empty slots, starts ascend up to the end of the
 * array that they divide, and rows, texts and documents exist. Whether a lookup finds the right ones is not checked.
 */

/** Checks items of an array from `from` on, up to `to`. To be called for one range after the other, as the array is read. */
export type ItemsCheck = (items: Uint32Array, from: number, to: number) => boolean;

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
  return (items, from, to) => {
    const some = items.subarray(from, to);
    return limit <= 2 ** 31 ? areBelow(some, limit) : some.every((item) => item < limit);
  };
}

/** Checks that items ascend from 0 to the end of the array that they divide, by at least `least` each. */
export function ascending(end: number, least: number): ItemsCheck {
  return (items, from, to) => {
    let isGood = to < items.length || items[to - 1] === end;
    let before = from === 0 ? -least : items[from - 1]!;
    if (from === 0 && items[0] !== 0) isGood = false;
    for (let at = from; at < to; at++) {
      const item = items[at]!;
      if (item - before < least) isGood = false;
      before = item;
    }
    return isGood;
  };
}

/** Checks that `count` slots of a hash table are filled with numbers from 1 to `count`. */
export function filled(count: number): ItemsCheck {
  let full = 0;
  return (items, from, to) => {
    let isGood = true;
    for (let at = from; at < to; at++) {
      const item = items[at]!;
      if (item === 0) continue;
      full++;
      if (item > count) isGood = false;
    }
    return isGood && (to < items.length || full === count);
  };
}

/** Checks that bitsets of `words` words each have no bits after the last of `numbers` numbers. */
export function bitsBelow(words: number, numbers: number): ItemsCheck {
  const left = numbers % 32;
  return (items, from, to) => {
    if (left === 0) return true;
    // The last word of the first bitset that ends after `from`.
    let at = from - (from % words) + words - 1;
    for (; at < to; at += words) if (items[at]! >>> left !== 0) return false;
    return true;
  };
}
