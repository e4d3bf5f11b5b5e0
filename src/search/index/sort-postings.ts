/**
 * Sorts all postings by their trigram and the two trigrams that follow it, which makes the posting lists.
 *
 * A radix sort whose digits are numbers of trigrams, the least significant first: by the trigram six code units on, by
 * the one three on, and by their own. Each pass is a counting sort that keeps equal ones in order, so postings behind
 * which the same follows stay in order of texts. What a pass needs of a posting is carried along with it: to look it up
 * would be a random access to memory for each.
 */

import { sharedUint32 } from "../../store/bytes.ts";
import { CHUNK, makePosting, REPEATED } from "../shared/posting.ts";
import type { Texts } from "../shared/texts.ts";
import { GRAM, type TrigramIndex } from "../shared/trigrams.ts";

/** Posting lists are in order of so many code units. */
const DEPTH = GRAM * 3;
const TWO_GRAMS = GRAM * 2;

/** By trigram: how many postings have it at one of three distances; then where the next of them goes. */
interface Offsets {
  readonly own: Uint32Array;
  /** Three code units on. */
  readonly next: Uint32Array;
  /** Six code units on. */
  readonly second: Uint32Array;
}

/**
 * Sorts the postings of some texts.
 *
 * @param trigrams the number, in order, of the trigram at each position; overwritten
 * @param padded the trigram of pads alone
 */
export function sortPostings(
  texts: Texts,
  trigrams: Uint32Array,
  distinct: number,
  padded: number,
): Pick<TrigramIndex, "starts" | "postings" | "followers" | "depth"> {
  const length = texts.units.length - texts.count;
  const offsets = countOffsets(texts, trigrams, distinct, padded);
  const starts = sharedUint32(distinct + 1);
  starts.set(offsets.own);
  starts[distinct] = length;
  const postings = sharedUint32(length);
  const followers = sharedUint32(length);
  const own = new Uint32Array(length);
  sortBySecond(texts, trigrams, padded, offsets.second, { postings, followers, own });
  // What the trigrams took is used again.
  const byNext = { postings: trigrams, own: new Uint32Array(length) };
  for (let at = 0; at < length; at++) {
    const to = offsets.next[followers[at]!]!++;
    byNext.postings[to] = postings[at]!;
    byNext.own[to] = own[at]!;
  }
  for (let follower = 0, at = 0; follower < distinct; follower++) {
    // Each offset has moved on to the end of its range.
    for (const end = offsets.next[follower]!; at < end; at++) {
      const to = offsets.own[byNext.own[at]!]!++;
      postings[to] = byNext.postings[at]!;
      followers[to] = follower;
    }
  }
  return { starts, postings, followers, depth: DEPTH };
}

/** Counts trigrams by what they are to a posting, and gives each its range. */
function countOffsets(
  { count, starts }: Texts,
  trigrams: Uint32Array,
  distinct: number,
  padded: number,
): Offsets {
  const own = new Uint32Array(distinct);
  const next = new Uint32Array(distinct);
  const second = new Uint32Array(distinct);
  for (let text = 0; text < count; text++) {
    const start = starts[text]!;
    const end = starts[text + 1]! - 1;
    for (let at = start; at < end; at++) own[trigrams[at]!]!++;
    // The first trigrams of a text follow none, and pads follow the last.
    for (let at = start; at < end && at < start + GRAM; at++) next[trigrams[at]!]!--;
    for (let at = start; at < end && at < start + TWO_GRAMS; at++) second[trigrams[at]!]!--;
    next[padded]! += Math.min(end - start, GRAM);
    second[padded]! += Math.min(end - start, TWO_GRAMS);
  }
  for (let trigram = 0; trigram < distinct; trigram++) {
    next[trigram]! += own[trigram]!;
    second[trigram]! += own[trigram]!;
  }
  for (const counts of [own, next, second]) {
    for (let trigram = 0, offset = 0; trigram < distinct; trigram++) {
      const size = counts[trigram]!;
      counts[trigram] = offset;
      offset += size;
    }
  }
  return { own, next, second };
}

/** The first pass: makes the postings, and finds out which texts hold a trigram more than once. */
function sortBySecond(
  { count, starts }: Texts,
  trigrams: Uint32Array,
  padded: number,
  second: Uint32Array,
  { postings, followers, own }: Record<"postings" | "followers" | "own", Uint32Array>,
): void {
  /** By trigram: the text that was the last to contain it, plus one, and its posting there. */
  const latest = new Uint32Array(second.length);
  const latestAt = new Uint32Array(second.length);
  let chunk = count;
  for (let text = 0; text < count; text++) {
    const start = starts[text]!;
    const end = starts[text + 1]! - 1;
    for (let at = start; at < end; at++) {
      const trigram = trigrams[at]!;
      const position = (at - start) % CHUNK;
      if (position === 0 && at > start) chunk++;
      const to = second[at + TWO_GRAMS < end ? trigrams[at + TWO_GRAMS]! : padded]!++;
      let posting = makePosting(at - start < CHUNK ? text : chunk - 1, position);
      if (latest[trigram] === text + 1) {
        posting |= REPEATED;
        postings[latestAt[trigram]!]! |= REPEATED;
      }
      latest[trigram] = text + 1;
      latestAt[trigram] = to;
      postings[to] = posting;
      followers[to] = at + GRAM < end ? trigrams[at + GRAM]! : padded;
      own[to] = trigram;
    }
  }
}
