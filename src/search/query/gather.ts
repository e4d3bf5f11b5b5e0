/**
 * The documents, or the words, of a term of any number of postings.
 *
 * Postings are read block by block, straight into bitsets, so that a search
 * takes a few bitsets whatever it is asked. Words that share a prefix with the
 * term in it are neighbours, and so are their posting lists: these are added
 * as one range.
 */

import { addRange } from "../shared/bitset.ts";
import { type BitPair, type DocumentBitset, documentBitsetOf } from "../shared/document-set.ts";
import { textOf } from "../shared/trigrams.ts";
import { STEP, type Work } from "../shared/work.ts";
import type { BitsetLoan } from "./bitset-pool.ts";
import type { Located } from "./locate.ts";
import { PostingReader } from "./posting-reader.ts";
import type { FoundTerm } from "./term.ts";
import { addEntries, takePair } from "./unite.ts";
import type { OpenWordIndex } from "./word-index.ts";

/** The documents that contain a term, in a bitset. */
export function* gatherDocuments(
  index: OpenWordIndex,
  located: Located,
  term: string,
  loan: BitsetLoan,
): Work<DocumentBitset> {
  const { starts, entries } = index.wordPostings;
  const pair = takePair(loan);
  const reader = new PostingReader(index.trigrams, located, term);
  for (;;) {
    const shared = reader.nextShared();
    if (shared !== undefined) {
      yield* addEntries(entries.subarray(starts[shared[0]]!, starts[shared[1]]!), pair);
      yield;
    }
    const block = reader.next();
    if (block === undefined) break;
    for (let at = 0; at < block.length; ) {
      at = addWords(index, block, at, pair);
      yield;
      if (at === block.length) break;
      const word = textOf(index.trigrams, block[at]!);
      if (starts[word + 1]! - starts[word]! <= STEP) continue;
      yield* addEntries(entries.subarray(starts[word]!, starts[word + 1]!), pair);
      at++;
    }
  }
  return documentBitsetOf(pair);
}

/**
 * Sets the bits of the documents of the words of some postings, without a pause.
 *
 * @returns the index of the posting at which to go on after one, whose word may be in very many documents
 */
function addWords(
  { trigrams, wordPostings }: OpenWordIndex,
  postings: Uint32Array,
  from: number,
  pair: BitPair,
): number {
  const { any, inName } = pair;
  const { starts, entries } = wordPostings;
  let work = 0;
  let latest = -1;
  for (let at = from; at < postings.length; at++) {
    const word = textOf(trigrams, postings[at]!);
    // A word of one letter comes as often as it is long.
    if (word === latest) continue;
    latest = word;
    const end = starts[word + 1]!;
    let entry = starts[word]!;
    work += end - entry;
    if (work > STEP) return at;
    for (; entry < end; entry++) {
      const document = entries[entry]!;
      any[document >>> 6]! |= 1 << (document >>> 1);
      // Without a branch, since no processor foresees the flag.
      inName[document >>> 6]! |= (document & 1) << (document >>> 1);
    }
  }
  return postings.length;
}

/** Sets the bits of all words in which a term was found. */
export function* markWords(
  index: OpenWordIndex,
  found: FoundTerm,
  term: string,
  wanted: Uint32Array,
): Work<void> {
  if (found instanceof Uint32Array) {
    for (let at = 0; at < found.length; at++) wanted[found[at]! >>> 5]! |= 1 << found[at]!;
    return;
  }
  const reader = new PostingReader(index.trigrams, found as Located, term);
  for (;;) {
    const shared = reader.nextShared();
    if (shared !== undefined) addRange(wanted, shared[0], shared[1]);
    const block = reader.next();
    if (block === undefined) break;
    for (let at = 0; at < block.length; at++) {
      const word = textOf(index.trigrams, block[at]!);
      wanted[word >>> 5]! |= 1 << word;
    }
    yield;
  }
}
