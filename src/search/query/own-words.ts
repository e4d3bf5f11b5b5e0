/**
 * The other direction: few documents are asked for their own words.
 *
 * Where a term is in very many words, to go through the words of the documents
 * that are left costs less than to gather all documents of the term. The words
 * that contain it are marked in a bitset, or the texts of the documents' words
 * are scanned where that is less.
 */

import type { DocumentSet, ListSet } from "../shared/document-set.ts";
import { containsTerm, scanText } from "../shared/scan-text.ts";
import { STEP, type Work } from "../shared/work.ts";
import { markWords } from "./gather.ts";
import type { Located } from "./locate.ts";
import type { FoundTerm } from "./term.ts";
import { sizeOfRange } from "./trigram-postings.ts";
import type { OpenWordIndex } from "./word-index.ts";

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
