/**
 * The posting lists of words, one behind the other in one array.
 *
 * A posting is an entry: the number of a document * 2, and 1 more where the
 * word is in the document's name, not its description alone.
 */

/** The posting list of word w is `entries[starts[w]]` to `entries[starts[w + 1] - 1]`: document * 2 + flag, ascending. */
export interface WordPostings {
  readonly documents: number;
  readonly starts: Uint32Array;
  readonly entries: Uint32Array;
}

/** How many entries the posting lists of some words have together. */
export function countEntries({ starts }: WordPostings, lists: ArrayLike<number>): number {
  let total = 0;
  for (let at = 0; at < lists.length; at++) total += starts[lists[at]! + 1]! - starts[lists[at]!]!;
  return total;
}

/** To go to a list takes about as long as to pass over so many of its entries. */
export const LIST_WORK = 8;
