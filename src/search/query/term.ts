/**
 * What a single term is found in.
 *
 * The documents of most n-grams up to three code units are kept beforehand. Of
 * other terms the postings of their trigrams are located among all words; few
 * make a list of words, many are read later, block by block.
 */

import { type DocumentSet, NO_DOCUMENTS } from "../shared/document-set.ts";
import { GRAM, type TrigramIndex, textOf } from "../shared/trigrams.ts";
import { STEP, type Work } from "../shared/work.ts";
import { listPostings } from "./list-postings.ts";
import { type Located, locate } from "./locate.ts";
import { findNgramDocuments } from "./ngram-documents.ts";
import type { SetOrWords } from "./scratch.ts";
import { sizeOfRange } from "./trigram-postings.ts";
import { AT_ONCE } from "./unite.ts";
import type { OpenWordIndex } from "./word-index.ts";

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
 * Finds every document that contains a term: as a set, as the words whose
 * documents they are, or as postings to be read.
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
