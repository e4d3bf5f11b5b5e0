/**
 * Lists and sorts the postings of bigrams, for texts of more distinct trigrams
 * than are worth a dictionary: long ones in a script of thousands of signs.
 *
 * A radix sort by four code units. Positions are distributed by their first code
 * unit (a counting sort), and those of one unit are sorted by the three that
 * follow. The keys of a part of all units are in memory at a time, for which the
 * texts are gone through once more; so there is never a number by position.
 */

import { sharedCopy, sharedUint32, Uint32Column } from "../../store/bytes.ts";
import { countUp, sortByKey } from "../../store/order.ts";
import { CHUNK, makePosting, REPEATED } from "../shared/posting.ts";
import { PAD, type Texts } from "../shared/texts.ts";
import { pairOf, type TrigramIndex } from "../shared/trigrams.ts";

/** Code units are below this. */
const UNITS = 65_536;
const WORD = 2 ** 32;
/** Keys of about so many positions are in memory at a time. */
const AT_ONCE = 2 ** 25;

/** Posting lists of bigrams, each in order of the two code units that follow, and then of texts. */
export type BigramLists = Pick<TrigramIndex, "pairs" | "starts" | "postings" | "followers">;

/**
 * Lists the postings of all bigrams in order. Each is marked as repeated, since
 * to know which are takes another number by bigram.
 *
 * @param atOnce keys of so many positions are in memory at a time, and of those of one code unit
 */
export function sortBigrams(texts: Texts, atOnce = AT_ONCE): BigramLists {
  const firsts = countUnits(texts);
  const postings = sharedUint32(firsts[UNITS]!);
  const followers = sharedUint32(postings.length);
  const pairs = new Uint32Column();
  const starts = new Uint32Column();
  for (let low = 0, high = 0; low < UNITS; low = high) {
    const from = firsts[low]!;
    high = low + 1;
    while (high < UNITS && firsts[high + 1]! - from <= atOnce) high++;
    const keys = new Float64Array(firsts[high]! - from);
    if (keys.length > 0) distribute(texts, low, high, firsts, postings, keys);
    for (let unit = low; unit < high; unit++) {
      const [start, end] = [firsts[unit]!, firsts[unit + 1]!];
      if (start === end) continue;
      const own = keys.subarray(start - from, end - from);
      const order = sortList(postings.subarray(start, end), followers.subarray(start, end), own);
      cutLists(unit, start, own, order, pairs, starts);
    }
  }
  starts.push(postings.length);
  return { pairs: sharedCopy(pairs), starts: sharedCopy(starts), postings, followers };
}

/** By code unit: how many positions have one below it. */
function countUnits({ count, starts, units }: Texts): Uint32Array {
  const firsts = new Uint32Array(UNITS + 1);
  for (let text = 0; text < count; text++) {
    const end = starts[text + 1]! - 1;
    for (let at = starts[text]!; at < end; at++) firsts[units[at]! + 1]!++;
  }
  for (let unit = 0; unit < UNITS; unit++) firsts[unit + 1]! += firsts[unit]!;
  return firsts;
}

/** Notes the postings of the code units from one up to another, in order of texts, and what follows each: three code units in a key. */
function distribute(
  { count, starts, units }: Texts,
  low: number,
  high: number,
  firsts: Uint32Array,
  postings: Uint32Array,
  keys: Float64Array,
): void {
  const next = firsts.slice(low, high);
  const offset = firsts[low]!;
  let further = count;
  for (let text = 0; text < count; text++) {
    const end = starts[text + 1]! - 1;
    for (let from = starts[text]!; from < end; from += CHUNK) {
      const number = from === starts[text] ? text : further++;
      const to = Math.min(from + CHUNK, end);
      for (let at = from; at < to; at++) {
        const unit = units[at]!;
        if (unit < low || unit >= high) continue;
        const place = next[unit - low]!++;
        const third = at + 1 < end ? units[at + 2]! : PAD;
        const fourth = at + 2 < end ? units[at + 3]! : PAD;
        postings[place] = makePosting(number, at - from) + REPEATED;
        keys[place - offset] = units[at + 1]! * WORD + pairOf(third, fourth);
      }
    }
  }
}

/** Sorts the postings of a code unit by their keys. @returns the order of the keys */
function sortList(postings: Uint32Array, followers: Uint32Array, keys: Float64Array): Uint32Array {
  const order = countUp(keys.length);
  sortByKey(order, keys);
  const arrived = postings.slice();
  for (let at = 0; at < order.length; at++) {
    const key = keys[order[at]!]!;
    postings[at] = arrived[order[at]!]!;
    followers[at] = key - Math.floor(key / WORD) * WORD;
  }
  return order;
}

/** Cuts the sorted postings of a code unit where the second one changes. */
function cutLists(
  unit: number,
  start: number,
  keys: Float64Array,
  order: Uint32Array,
  pairs: Uint32Column,
  starts: Uint32Column,
): void {
  let latest = -1;
  for (let at = 0; at < order.length; at++) {
    const second = Math.floor(keys[order[at]!]! / WORD);
    if (second === latest) continue;
    latest = second;
    pairs.push(pairOf(unit, second));
    starts.push(start + at);
  }
}
