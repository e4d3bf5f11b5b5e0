/**
 * Lists and sorts the postings of bigrams, for texts with too many distinct trigrams for a dictionary: long ones in a
 * script of thousands of signs.
 *
 * A counting sort distributes positions by their first code unit, then the positions of one unit by the second; the
 * list of each bigram, which is short, is sorted by the two code units that follow. Only some first units have their
 * keys in memory at a time, with one more pass over the texts for each part; so no array of keys covers all positions.
 */

import { sharedCopy, sharedUint32, Uint32Column } from "../store/bytes.ts";
import { PAD, type Texts } from "./texts.ts";
import { CHUNK, makePosting, pairOf, type Range, REPEATED, type TrigramIndex } from "./trigrams.ts";

const UNITS = 65_536;
/** Positions whose keys are in memory at a time, roughly. */
const AT_ONCE = 2 ** 25;

/** Posting lists of bigrams, each in order of the two code units that follow, and then of texts. */
export type BigramLists = Pick<TrigramIndex, "pairs" | "starts" | "postings" | "followers">;

type Lists = Pick<TrigramIndex, "postings" | "followers">;

/** The code units after the first of some postings: the second, and the third and fourth as a pair. */
interface Keys {
  readonly seconds: Uint16Array;
  readonly followers: Uint32Array;
}

/**
 * Lists the postings of all bigrams in order, each marked as repeated: finding out takes another number a bigram.
 * @param atOnce positions whose keys are in memory at a time
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
    const count = firsts[high]! - from;
    if (count === 0) continue;
    const keys = { seconds: new Uint16Array(count), followers: new Uint32Array(count) };
    distribute(texts, [low, high], firsts, postings, keys);
    for (let unit = low; unit < high; unit++) {
      const [start, end] = [firsts[unit]!, firsts[unit + 1]!];
      if (start === end) continue;
      const lists = { postings: postings.subarray(start, end), followers: followers.subarray(start, end) };
      const own = {
        seconds: keys.seconds.subarray(start - from, end - from),
        followers: keys.followers.subarray(start - from, end - from),
      };
      sortUnit(lists, own, (second, at) => {
        pairs.push(pairOf(unit, second));
        starts.push(start + at);
      });
    }
  }
  starts.push(postings.length);
  return { pairs: sharedCopy(pairs), starts: sharedCopy(starts), postings, followers };
}

/** Sorts the lists of all bigrams of a first code unit. @param onList called with the second code unit of each list, and its start */
function sortUnit(lists: Lists, keys: Keys, onList: (second: number, at: number) => void): void {
  const { length } = lists.postings;
  const ends = distributeBySecond(lists, keys);
  const scratch = { words: new Uint32Array(length * 2), copy: new Uint32Array(length) };
  for (let second = 0, at = 0; at < length; second++) {
    if (ends[second] === at) continue;
    onList(second, at);
    sortList(lists, at, ends[second]!, scratch);
    at = ends[second]!;
  }
}

/** By code unit: the number of positions with a lower one. */
function countUnits({ count, starts, units }: Texts): Uint32Array {
  const firsts = new Uint32Array(UNITS + 1);
  for (let text = 0; text < count; text++) {
    const end = starts[text + 1]! - 1;
    for (let at = starts[text]!; at < end; at++) firsts[units[at]! + 1]!++;
  }
  for (let unit = 0; unit < UNITS; unit++) firsts[unit + 1]! += firsts[unit]!;
  return firsts;
}

/** Writes the postings of a range of first code units, in order of texts, and the code units that follow each. */
function distribute(
  { count, starts, units }: Texts,
  [low, high]: Range,
  firsts: Uint32Array,
  postings: Uint32Array,
  { seconds, followers }: Keys,
): void {
  const next = firsts.slice(low, high);
  const offset = firsts[low]!;
  let chunk = count;
  for (let text = 0; text < count; text++) {
    const start = starts[text]!;
    const end = starts[text + 1]! - 1;
    for (let at = start; at < end; at++) {
      const position = (at - start) % CHUNK;
      if (position === 0 && at > start) chunk++;
      const unit = units[at]!;
      if (unit < low || unit >= high) continue;
      const slot = next[unit - low]!++;
      postings[slot] = makePosting(at - start < CHUNK ? text : chunk - 1, position) + REPEATED;
      seconds[slot - offset] = units[at + 1]!;
      followers[slot - offset] = followerOf(units, at, end);
    }
  }
}

/** The third and fourth code unit from a position on; pads after the end of the text. */
function followerOf(units: Uint16Array, at: number, end: number): number {
  return pairOf(at + 1 < end ? units[at + 2]! : PAD, at + 2 < end ? units[at + 3]! : PAD);
}

/** Distributes the postings of a code unit by the second one. @returns by second code unit, the end of its postings */
function distributeBySecond(
  { postings, followers: target }: Lists,
  { seconds, followers }: Keys,
): Uint32Array {
  const ends = new Uint32Array(UNITS);
  for (let at = 0; at < seconds.length; at++) ends[seconds[at]!]!++;
  let slot = 0;
  for (let second = 0; second < UNITS; second++) {
    const many = ends[second]!;
    ends[second] = slot;
    slot += many;
  }
  const arrived = postings.slice();
  for (let at = 0; at < seconds.length; at++) {
    const to = ends[seconds[at]!]!++;
    postings[to] = arrived[at]!;
    target[to] = followers[at]!;
  }
  return ends;
}

/** Insertion sort up to this length. */
const SHORT = 12;
/** The places of the low and the high half of a 64-bit number in memory. */
const [LOW, HIGH] = new Uint8Array(Uint32Array.of(1).buffer)[0] === 1 ? [0, 1] : [1, 0];

/** Sorts the postings of a bigram by the code units that follow; equal ones stay in order. */
function sortList({ postings, followers }: Lists, from: number, to: number, scratch: Scratch): void {
  if (to - from > SHORT) {
    sortLong(postings.subarray(from, to), followers.subarray(from, to), scratch);
    return;
  }
  for (let at = from + 1; at < to; at++) {
    const posting = postings[at]!;
    const follower = followers[at]!;
    let slot = at;
    for (; slot > from && followers[slot - 1]! > follower; slot--) {
      followers[slot] = followers[slot - 1]!;
      postings[slot] = postings[slot - 1]!;
    }
    followers[slot] = follower;
    postings[slot] = posting;
  }
}

interface Scratch {
  readonly words: Uint32Array;
  readonly copy: Uint32Array;
}

/** Sorts 64-bit numbers, the follower and then the index in the list: the engine sorts these without a callback. */
function sortLong(postings: Uint32Array, followers: Uint32Array, { words, copy }: Scratch): void {
  const { length } = postings;
  for (let at = 0; at < length; at++) {
    words[at * 2 + HIGH] = followers[at]!;
    words[at * 2 + LOW] = at;
    copy[at] = postings[at]!;
  }
  new BigUint64Array(words.buffer, 0, length).sort();
  for (let at = 0; at < length; at++) {
    followers[at] = words[at * 2 + HIGH]!;
    postings[at] = copy[words[at * 2 + LOW]!]!;
  }
}
