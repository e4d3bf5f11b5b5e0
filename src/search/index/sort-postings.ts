/**
 * Sorts posting lists by what follows.
 *
 * A posting's key, the numbers of the two trigrams that follow, and its index in
 * the list together take 64 bits, which the engine sorts without calling back.
 * Where they take more, one trigram has to do, and lists are in order of six
 * code units in place of nine. Short lists are sorted by insertion.
 */

import { sharedUint32 } from "../../store/bytes.ts";
import type { TrigramIndex } from "../shared/trigrams.ts";
import { bitsFor, type UnsortedLists } from "./posting-lists.ts";

/** Lists that are no longer are sorted by insertion. */
const SHORT = 12;
/** Which half of a 64-bit number comes first in memory. */
const [LOW, HIGH] = new Uint8Array(Uint32Array.of(1).buffer)[0] === 1 ? [0, 1] : [1, 0];

/**
 * Sorts every posting list by the trigrams that follow; where the same follow,
 * postings stay in order.
 *
 * @param bits of the numbers that are sorted
 */
export function sortLists(
  { starts, postings, keys, keyShare }: UnsortedLists,
  bits: number,
): Pick<TrigramIndex, "depth" | "followers"> {
  let longest = 0;
  for (let trigram = 0; trigram + 1 < starts.length; trigram++) {
    longest = Math.max(longest, starts[trigram + 1]! - starts[trigram]!);
  }
  const goesDeep = keyShare ** 2 <= 2 ** Math.min(52, bits - bitsFor(longest));
  if (!goesDeep) for (let at = 0; at < keys.length; at++) keys[at] = Math.floor(keys[at]! / keyShare);
  const words = new Uint32Array(longest * 2);
  const copy = new Uint32Array(longest);
  for (let trigram = 0; trigram + 1 < starts.length; trigram++) {
    const [from, to] = [starts[trigram]!, starts[trigram + 1]!];
    let isSorted = true;
    for (let at = from + 1; at < to && isSorted; at++) isSorted = keys[at]! >= keys[at - 1]!;
    if (isSorted) continue;
    if (to - from <= SHORT) sortShort(postings, keys, from, to);
    else sortLong(postings.subarray(from, to), keys.subarray(from, to), words, copy);
  }
  const followers = sharedUint32(postings.length);
  const share = goesDeep ? keyShare : 1;
  for (let at = 0; at < keys.length; at++) followers[at] = keys[at]! / share;
  return { depth: goesDeep ? 9 : 6, followers };
}

function sortShort(postings: Uint32Array, keys: Float64Array, from: number, end: number): void {
  for (let at = from + 1; at < end; at++) {
    const posting = postings[at]!;
    const key = keys[at]!;
    let to = at;
    for (; to > from && keys[to - 1]! > key; to--) {
      keys[to] = keys[to - 1]!;
      postings[to] = postings[to - 1]!;
    }
    keys[to] = key;
    postings[to] = posting;
  }
}

function sortLong(list: Uint32Array, keys: Float64Array, words: Uint32Array, copy: Uint32Array): void {
  const { length } = list;
  const width = 2 ** bitsFor(length);
  const share = 2 ** 32 / width;
  for (let at = 0; at < length; at++) {
    const high = Math.floor(keys[at]! / share);
    words[at * 2 + HIGH] = high;
    words[at * 2 + LOW] = (keys[at]! - high * share) * width + at;
  }
  new BigUint64Array(words.buffer, 0, length).sort();
  copy.set(list);
  for (let at = 0; at < length; at++) {
    const low = words[at * 2 + LOW]!;
    // Whole numbers below 2^53, so nothing is lost.
    keys[at] = words[at * 2 + HIGH]! * share + Math.floor(low / width);
    list[at] = copy[low % width]!;
  }
}
