/**
 * Names that are a term.
 *
 * A pad stands behind the end of each name. So where the postings of a term are
 * in order of what follows, those with a pad behind it are neighbours, and only
 * their names are asked for their length.
 */

import { lengthOf } from "../shared/texts.ts";
import { isBeginning, type TrigramIndex, textOf } from "../shared/trigrams.ts";
import { postingsAtEnd } from "./locate.ts";

/** No names. */
export const NO_NAMES = new Uint32Array(0);

/** Whether a posting is the beginning of a name that is so long. */
export function isName(trigrams: TrigramIndex, posting: number, length: number): boolean {
  return isBeginning(trigrams, posting) && lengthOf(trigrams.texts, textOf(trigrams, posting)) === length;
}

/** Whether a name is the term. */
export function hasEqual(trigrams: TrigramIndex, postings: Uint32Array, term: string): boolean {
  // To ask every beginning for the length of its name would take longer than all else.
  return postingsAtEnd(trigrams, postings, term).some((posting) => isName(trigrams, posting, term.length));
}

/** Names that are the term, ascending; without a pause. */
export function equalNames(trigrams: TrigramIndex, postings: Uint32Array, term: string): Uint32Array {
  const ends = postingsAtEnd(trigrams, postings, term);
  const equal: number[] = [];
  let isSorted = true;
  for (let at = 0; at < ends.length; at++) {
    if (!isName(trigrams, ends[at]!, term.length)) continue;
    const name = textOf(trigrams, ends[at]!);
    if (equal.length > 0 && equal[equal.length - 1]! > name) isSorted = false;
    equal.push(name);
  }
  if (equal.length === 0) return NO_NAMES;
  const sorted = Uint32Array.from(equal);
  return isSorted ? sorted : sorted.sort();
}
