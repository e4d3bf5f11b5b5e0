/**
 * Distributes postings over the lists of their trigrams: counts them, gives each
 * list its range, and fills the lists in order of texts (a counting sort).
 */

import { sharedUint32 } from "../../store/bytes.ts";
import { CHUNK, makePosting, REPEATED } from "../shared/posting.ts";
import type { Texts } from "../shared/texts.ts";
import { GRAM, type TrigramIndex } from "../shared/trigrams.ts";

/** Posting lists that are not in their order yet, but in that of texts. */
export interface UnsortedLists extends Pick<TrigramIndex, "starts" | "postings"> {
  /** By posting: the numbers of the next trigram and of the one after it, by which lists are to be ordered. */
  readonly keys: Float64Array;
  /** A key is the number of the next trigram times this, and more. */
  readonly keyShare: number;
}

/**
 * Lists postings, and what follows each: here that is next to it in memory,
 * while a list's postings are all over the texts.
 *
 * @param trigrams the number, in order, of the trigram at each position
 * @param padded the trigram of pads alone
 */
export function distributePostings(
  { count, starts: firsts, units }: Texts,
  trigrams: Uint32Array,
  distinct: number,
  padded: number,
): UnsortedLists {
  const starts = sharedUint32(distinct + 1);
  for (let text = 0; text < count; text++) {
    for (let at = firsts[text]!; at < firsts[text + 1]! - 1; at++) starts[trigrams[at]! + 1]!++;
  }
  for (let trigram = 0; trigram < distinct; trigram++) starts[trigram + 1]! += starts[trigram]!;
  const next = starts.slice();
  /** By trigram: the text that was the last to contain it, plus one. */
  const latest = new Uint32Array(distinct);
  const postings = sharedUint32(units.length - count);
  const keys = new Float64Array(postings.length);
  const keyShare = 2 ** bitsFor(distinct);
  let chunk = count;
  for (let text = 0; text < count; text++) {
    const start = firsts[text]!;
    const end = firsts[text + 1]! - 1;
    for (let at = start; at < end; at++) {
      const trigram = trigrams[at]!;
      const to = next[trigram]!++;
      const position = (at - start) % CHUNK;
      if (position === 0 && at > start) chunk++;
      postings[to] = makePosting(at - start < CHUNK ? text : chunk - 1, position);
      if (latest[trigram] === text + 1) {
        // Still in order of texts: the other posting is the one before.
        postings[to]! |= REPEATED;
        postings[to - 1]! |= REPEATED;
      }
      latest[trigram] = text + 1;
      const follower = at + GRAM < end ? trigrams[at + GRAM]! : padded;
      keys[to] = follower * keyShare + (at + GRAM * 2 < end ? trigrams[at + GRAM * 2]! : padded);
    }
  }
  return { starts, postings, keys, keyShare };
}

/** Bits of a number from 0 to below a count. */
export function bitsFor(count: number): number {
  return 32 - Math.clz32(Math.max(count - 1, 1));
}
