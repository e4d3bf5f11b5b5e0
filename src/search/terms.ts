/**
 * What a single term is found in.
 *
 * The documents of most n-grams up to three code units are kept beforehand. Of other terms the postings of
 * their trigrams are located among all words; few make a list of words, many are read later, block by block.
 */

import { addRange, type BitsetLoan } from "./bitset.ts";
import {
  AT_ONCE,
  addEntries,
  type BitPair,
  type DocumentBitset,
  type DocumentSet,
  documentBitsetOf,
  type ListSet,
  NO_DOCUMENTS,
  type SetOrWords,
  takePair,
} from "./document-sets.ts";
import { type Located, locate, sizeOfRange } from "./locate.ts";
import { findNgramDocuments } from "./ngram-documents.ts";
import { listPostings, PostingReader } from "./posting-reader.ts";
import { containsTerm, scanText } from "./texts.ts";
import { GRAM, type TrigramIndex, textOf } from "./trigrams.ts";
import type { OpenWordIndex } from "./word-index.ts";
import { STEP, type Work } from "./work.ts";

/** The words of some postings; one that contains a term twice may come twice. */
export function* wordsAt(trigrams: TrigramIndex, postings: Uint32Array): Work<Uint32Array> {
  const words = new Uint32Array(postings.length);
  for (let at = 0; at < postings.length; at++) {
    words[at] = textOf(trigrams, postings[at]!);
    if (at % STEP === STEP - 1) yield;
  }
  return words;
}

/** The documents of a short term, if they were found while indexing. */
export function findKnown({ ngramDocuments }: OpenWordIndex, term: string): DocumentSet | undefined {
  return term.length <= GRAM ? findNgramDocuments(ngramDocuments, term) : undefined;
}

/** What a term was found in; a range of postings where these are too many to list. */
export type FoundTerm = SetOrWords | Located;

/**
 * Finds every document that contains a term: as a set, as the words whose documents they are, or as postings
 * to be read.
 *
 * @param term folded, not empty, without white space
 * @param most up to so many postings words are listed
 */
export function* findTerm(index: OpenWordIndex, term: string, most = AT_ONCE): Work<FoundTerm> {
  const known = findKnown(index, term);
  if (known !== undefined) return known;
  const located = locate(index.trigrams, term);
  const size = sizeOfRange(located.range);
  if (size === 0) return NO_DOCUMENTS;
  return size <= most
    ? yield* wordsAt(index.trigrams, yield* listPostings(index.trigrams, located, term))
    : located;
}

/*
 * The documents, or the words, of a term of any number of postings.
 *
 * Postings are read block by block, straight into bitsets, so that a search takes a few bitsets whatever it
 * is asked. Words that share a prefix with the term in it are neighbours, and so are their posting lists:
 * these are added as one range.
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

/*
 * The other direction: few documents are asked for their own words.
 *
 * Where a term is in very many words, to go through the words of the documents that are left costs less than
 * to gather all documents of the term. The words that contain it are marked in a bitset, or the texts of the
 * documents' words are scanned where that is less.
 */

/** To go through a document's words takes about as long as to pass over so many of its entries. */
export const DOCUMENT_WORK = 64;

/** To scan the text of a document's word takes about as long as to pass over so many postings. */
const TEXT_WORK = 16;

/** The documents of a few that contain a term of many words. @param found the term's words or postings */
export function* keepWithTerm(
  index: OpenWordIndex,
  list: ListSet,
  term: string,
  found: FoundTerm,
): Work<DocumentSet> {
  const { byDocument, wordPostings, wordPool } = index;
  const postings = found instanceof Uint32Array ? found.length : sizeOfRange((found as Located).range);
  const words = byDocument.words.length / Math.max(wordPostings.documents, 1);
  const isFew = list.entries.length * words * TEXT_WORK < postings;
  const wanted = isFew ? undefined : wordPool.take();
  try {
    if (wanted !== undefined) yield* markWords(index, found, term, wanted);
    return yield* keepWithWords(index, list, term, wanted);
  } finally {
    if (wanted !== undefined) wordPool.give(wanted);
  }
}

/**
 * The documents of a few that have a word with a term; the flag stays where one of these is in the name.
 *
 * @param wanted the words with the term; without it their texts are scanned
 */
function* keepWithWords(
  { byDocument, trigrams }: OpenWordIndex,
  { entries }: ListSet,
  term: string,
  wanted: Uint32Array | undefined,
): Work<DocumentSet> {
  const kept = new Uint32Array(entries.length);
  let count = 0;
  let work = 0;
  for (let at = 0; at < entries.length; at++) {
    const document = entries[at]! >>> 1;
    const to = byDocument.starts[document + 1]!;
    let isThere = 0;
    let inName = 0;
    for (let index = byDocument.starts[document]!; index < to; index++) {
      const entry = byDocument.words[index]!;
      const word = entry >>> 1;
      let isWanted: number;
      if (wanted !== undefined) isWanted = (wanted[word >>> 5]! >>> word) & 1;
      else {
        isWanted =
          (containsTerm(trigrams.texts, word, term) ?? (yield* scanText(trigrams.texts, word, term))) ? 1 : 0;
        work += trigrams.texts.starts[word + 1]! - trigrams.texts.starts[word]!;
      }
      isThere |= isWanted;
      inName |= isWanted & entry;
      if (++work > STEP) {
        work = 0;
        yield;
      }
    }
    if (isThere) kept[count++] = document * 2 + (entries[at]! & inName & 1);
    work += DOCUMENT_WORK;
  }
  return { kind: "list", entries: kept.slice(0, count) };
}
