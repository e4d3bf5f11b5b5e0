/**
 * Finds a single term.
 *
 * The documents of most n-grams of up to three code units are precomputed. The postings of other terms are located
 * among all words; few postings make a list of words, many are read later, block by block.
 */

import type { BitsetLoan } from "./bitset.ts";
import {
  AT_ONCE,
  addEntries,
  type BitPair,
  countEntries,
  type DocumentBitset,
  type DocumentSet,
  documentBitsetOf,
  LIST_WORK,
  type ListSet,
  NO_DOCUMENTS,
  type SetOrWords,
  sizeOf,
  takePair,
  unite,
} from "./document-sets.ts";
import { type Located, locate, sizeOfRange } from "./locate.ts";
import { findNgramDocuments } from "./ngram-documents.ts";
import { listPostings, PostingReader } from "./posting-reader.ts";
import { containsTerm } from "./texts.ts";
import { GRAM, type TrigramIndex, textOf } from "./trigrams.ts";
import type { OpenWordIndex } from "./word-index.ts";
import { STEP, type Work } from "./work.ts";

/** The result for a term: a set, words, or a range of postings where these are too many to list. */
export type FoundTerm = SetOrWords | ({ readonly kind: "postings" } & Located);

export function isSet(found: FoundTerm): found is DocumentSet {
  return found.kind === "list" || found.kind === "bits";
}

/**
 * Finds the documents that contain a term: as a set, as words, or as postings to be read.
 * @param most words are listed for at most this many postings
 */
export function* findTerm(index: OpenWordIndex, term: string, most = AT_ONCE): Work<FoundTerm> {
  const known = term.length <= GRAM ? findNgramDocuments(index.ngramDocuments, term) : undefined;
  if (known !== undefined) return known;
  const located = locate(index.trigrams, term);
  const size = sizeOfRange(located.range);
  if (size === 0) return NO_DOCUMENTS;
  if (size > most) return { kind: "postings", ...located };
  return {
    kind: "words",
    words: wordsAt(index.trigrams, yield* listPostings(index.trigrams, located, term)),
  };
}

/** The words of some postings; a word that contains a term twice may come twice. */
function wordsAt(trigrams: TrigramIndex, postings: Uint32Array): Uint32Array {
  const words = new Uint32Array(postings.length);
  for (let at = 0; at < postings.length; at++) words[at] = textOf(trigrams, postings[at]!);
  return words;
}

/** Words of a term whose postings are counted to estimate those of all. */
const SAMPLES = 64;

/** The work to make a set of a term's documents: roughly the number of its postings. */
export function workOf({ trigrams, wordPostings }: OpenWordIndex, found: FoundTerm): number {
  if (isSet(found)) return sizeOf(found);
  if (found.kind === "words") return countEntries(wordPostings, found.words) + found.words.length * LIST_WORK;
  const [from] = found.range;
  const postings = sizeOfRange(found.range);
  let entries = 0;
  for (let sample = 0; sample < SAMPLES; sample++) {
    const word = textOf(trigrams, trigrams.postings[from + Math.floor((sample * postings) / SAMPLES)]!);
    entries += wordPostings.starts[word + 1]! - wordPostings.starts[word]!;
  }
  return postings * (entries / SAMPLES + LIST_WORK);
}

/** A search with more work than this is long. */
const LONG = 32_768;

/** The documents of a term as a set, which is made with pauses. */
export function* documentsOf(
  index: OpenWordIndex,
  term: string,
  found: FoundTerm,
  loan: BitsetLoan,
): Work<DocumentSet> {
  if (isSet(found)) return found;
  if (workOf(index, found) > LONG) yield "long";
  if (found.kind === "words") return yield* unite(index, found.words, loan);
  return yield* gatherDocuments(index, found, term, loan);
}

/*
 * The documents of a term with any number of postings. The postings are read block by block, straight into bitsets, so
 * that every search takes only a few bitsets. Words that share a prefix with the term in it are neighbours, and so are
 * their posting lists, which are added as one range.
 */

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
 * @returns the index of the posting to go on with; its word may be in very many documents
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
    // A word of one repeated letter comes once for each position.
    if (word === latest) continue;
    latest = word;
    const end = starts[word + 1]!;
    let entry = starts[word]!;
    work += end - entry;
    if (work > STEP) return at;
    for (; entry < end; entry++) {
      const document = entries[entry]!;
      any[document >>> 6]! |= 1 << (document >>> 1);
      // Without a branch: the flag is unpredictable.
      inName[document >>> 6]! |= (document & 1) << (document >>> 1);
    }
  }
  return postings.length;
}

/** The documents of a short list that have a word with a term; the flag stays where such a word is in the name. */
export function* keepWithTerm(
  { byDocument, trigrams }: OpenWordIndex,
  { entries }: ListSet,
  term: string,
): Work<ListSet> {
  const kept = new Uint32Array(entries.length);
  let count = 0;
  let tried = 0;
  for (const entry of entries) {
    const document = entry >>> 1;
    let isThere = false;
    let inName = 0;
    for (let at = byDocument.starts[document]!; at < byDocument.starts[document + 1]!; at++) {
      const word = byDocument.words[at]!;
      // The search in a word shorter than the term never pauses, so this loop does.
      if (++tried % STEP === 0) yield;
      if (!(yield* containsTerm(trigrams.texts, word >>> 1, term))) continue;
      isThere = true;
      inName |= word & 1;
    }
    if (isThere) kept[count++] = document * 2 + (entry & inName);
  }
  return { kind: "list", entries: kept.slice(0, count) };
}
