/** Lists the postings of a term where these are few: candidates are verified, each by its text. */

import { CHUNK, makePosting, REPEATED } from "../shared/posting.ts";
import { compare } from "../shared/scan-text.ts";
import { lengthOf } from "../shared/texts.ts";
import { positionOf, type TrigramIndex, textOf } from "../shared/trigrams.ts";
import { STEP, type Work } from "../shared/work.ts";
import type { Located } from "./locate.ts";
import { postingsIn } from "./trigram-postings.ts";

/**
 * All postings of a term, in no order that matters; a text may contain it
 * several times, but its beginning comes only once.
 *
 * @param located where the term may be; so few postings that they can be listed
 * @param term folded, not empty
 * @returns not to be changed: mostly a range of the index. What is not, tells of a
 *   posting that is no beginning only the text and whether it is repeated
 */
export function* listPostings(trigrams: TrigramIndex, located: Located, term: string): Work<Uint32Array> {
  const postings = postingsIn(trigrams, located.range);
  return located.isExact ? postings : yield* verify(trigrams, term, postings, located.offset);
}

/** To compare with a text takes about as long as to pass over so many postings. */
const TEXT_WORK = 32;

/** The candidates that are followed by all of the term, moved back to its beginning. */
function* verify(
  trigrams: TrigramIndex,
  term: string,
  candidates: Uint32Array,
  offset: number,
): Work<Uint32Array> {
  const { texts } = trigrams;
  const { units, starts } = texts;
  const found = new Uint32Array(candidates.length);
  let count = 0;
  let work = 0;
  /** In a text of one letter a term is at every position: one is enough, and the beginning. */
  let latest = -1;
  for (const candidate of candidates) {
    const text = textOf(trigrams, candidate);
    const from = positionOf(trigrams, candidate) - offset - starts[text]!;
    work++;
    const fits = from >= 0 && from + term.length <= lengthOf(texts, text);
    if (fits && (text !== latest || from === 0)) {
      work += TEXT_WORK + term.length;
      if (compare(units, starts[text]! + from, term, 0, term.length) === 0) {
        found[count++] = makePosting(text, Math.min(from, CHUNK - 1)) | (candidate & REPEATED);
        latest = text;
      }
    }
    if (work > STEP) {
      work = 0;
      yield;
    }
  }
  // A copy, since what is left may be kept for long.
  return found.slice(0, count);
}
