/**
 * The documents that hold a term.
 *
 * What stands at few places is made a list of words; places of any number are
 * read in parts, straight into sets of bits, so that a search takes a few sets
 * whatever it is asked.
 */

import type { WordIndex } from "../index/word-index.ts";
import { addRange, type BitLoan } from "../shared/bits.ts";
import {
  AT_ONCE,
  addEntries,
  type BitPair,
  type BitSet,
  bitSetOf,
  type DocumentSet,
  NO_DOCUMENTS,
  type SetOrLists,
  takePair,
} from "../shared/document-set.ts";
import { findRun } from "../shared/ngram-documents.ts";
import { GRAM, type Grams, textAt } from "../shared/trigrams.ts";
import { STEP, type Work } from "../shared/work.ts";
import { type Located, locate, placesOf, sizeOfRange } from "./locate.ts";
import { PlaceReader } from "./posting-reader.ts";

/** Words at some places; one that holds a term twice may come twice. */
export function* wordsAt(grams: Grams, places: Uint32Array): Work<Uint32Array> {
  const words = new Uint32Array(places.length);
  for (let at = 0; at < places.length; at++) {
    words[at] = textAt(grams, places[at]!);
    if (at % STEP === STEP - 1) yield;
  }
  return words;
}

/** The documents of a short term, if they were found while indexing. */
export function findKnown({ runs }: WordIndex, term: string): DocumentSet | undefined {
  return term.length <= GRAM ? findRun(runs, term) : undefined;
}

/** What a term was found in; places where it stands at too many to list. */
export type FoundTerm = SetOrLists | Located;

/**
 * Finds every document that contains a term: as a set, as the words whose
 * documents they are, or as places to be read.
 *
 * @param term folded, not empty, without white space
 * @param most at so many places words are listed
 */
export function* findTerm(index: WordIndex, term: string, most = AT_ONCE): Work<FoundTerm> {
  const known = findKnown(index, term);
  if (known !== undefined) return known;
  const located = locate(index.grams, term);
  const places = sizeOfRange(located.range);
  if (places === 0) return NO_DOCUMENTS;
  return places <= most ? yield* wordsAt(index.grams, yield* placesOf(index.grams, located, term)) : located;
}

/** Sets the bits of all documents that contain a term. */
export function* gatherDocuments(
  index: WordIndex,
  located: Located,
  term: string,
  loan: BitLoan,
): Work<BitSet> {
  const { starts, postings } = index.postings;
  const pair = takePair(loan);
  const reader = new PlaceReader(index.grams, located, term);
  for (;;) {
    const alike = reader.nextAlike();
    if (alike !== undefined) {
      yield* addEntries(postings.subarray(starts[alike[0]]!, starts[alike[1]]!), pair);
      yield;
    }
    const chunk = reader.next();
    if (chunk === undefined) break;
    for (let at = 0; at < chunk.length; ) {
      at = addWords(index, chunk, at, pair);
      yield;
      if (at === chunk.length) break;
      const word = textAt(index.grams, chunk[at]!);
      if (starts[word + 1]! - starts[word]! <= STEP) continue;
      yield* addEntries(postings.subarray(starts[word]!, starts[word + 1]!), pair);
      at++;
    }
  }
  return bitSetOf(pair);
}

/**
 * Sets the bits of the documents of words at some places, without a pause.
 *
 * @returns the number of the place at which to go on after one, which may have a word of very many documents
 */
function addWords({ grams, postings }: WordIndex, places: Uint32Array, from: number, pair: BitPair): number {
  const { any, inName } = pair;
  const { starts, postings: entries } = postings;
  let work = 0;
  let latest = -1;
  for (let at = from; at < places.length; at++) {
    const word = textAt(grams, places[at]!);
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
  return places.length;
}

/** Sets the bits of all words in which a term was found. */
export function* markWords(
  index: WordIndex,
  found: FoundTerm,
  term: string,
  wanted: Uint32Array,
): Work<void> {
  if (found instanceof Uint32Array) {
    for (let at = 0; at < found.length; at++) wanted[found[at]! >>> 5]! |= 1 << found[at]!;
    return;
  }
  const reader = new PlaceReader(index.grams, found as Located, term);
  for (;;) {
    const alike = reader.nextAlike();
    if (alike !== undefined) addRange(wanted, alike[0], alike[1]);
    const chunk = reader.next();
    if (chunk === undefined) break;
    for (let at = 0; at < chunk.length; at++) {
      const word = textAt(index.grams, chunk[at]!);
      wanted[word >>> 5]! |= 1 << word;
    }
    yield;
  }
}
