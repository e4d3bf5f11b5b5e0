/**
 * The documents that hold several terms.
 *
 * Terms are taken as they come to hold more, and only as long as something is
 * left. Of terms that overlap the documents of what contains all of them are
 * found first, and the terms themselves are sought in the others. Where few
 * documents are left they are asked for their own words instead.
 */

import type { WordIndex } from "../index/word-index.ts";
import type { BitLoan } from "../shared/bits.ts";
import {
  AT_ONCE,
  type BitSet,
  countEntries,
  type DocumentSet,
  LIST_WORK,
  type ListSet,
  listOfBits,
  MOST_UNSETTLED,
  mostListed,
  NO_DOCUMENTS,
  type SetOrLists,
  sizeOf,
  unite,
} from "../shared/document-set.ts";
import { textAt } from "../shared/trigrams.ts";
import { STEP, type Work } from "../shared/work.ts";
import { addSet, intersect, isBits, splitBits } from "./intersect.ts";
import { holds, type Located, locate, placesOf, seekInText, sizeOfRange } from "./locate.ts";
import { joinTexts } from "./merge-terms.ts";
import { type FoundTerm, findTerm, gatherDocuments, markWords, wordsAt } from "./term.ts";

/** A term, what it was found in, and how much work it is to make a set of that: entries, or numbers of a set. */
interface Candidate {
  readonly term: string;
  readonly found: FoundTerm;
  readonly work: number;
}

function isSet(found: FoundTerm): found is DocumentSet {
  return "kind" in found;
}

function isWords(found: FoundTerm): found is Uint32Array {
  return found instanceof Uint32Array;
}

/** So many of a term's words are looked at to estimate what all of them hold. */
const SAMPLES = 64;

function workOf({ grams, postings }: WordIndex, found: FoundTerm): number {
  if (isSet(found)) return sizeOf(found);
  if (isWords(found)) return countEntries(postings, found) + found.length * LIST_WORK;
  const [from] = found.range;
  const places = sizeOfRange(found.range);
  let entries = 0;
  for (let sample = 0; sample < SAMPLES; sample++) {
    const word = textAt(grams, grams.places[from + Math.floor((sample * places) / SAMPLES)]!);
    entries += postings.starts[word + 1]! - postings.starts[word]!;
  }
  return places * (entries / SAMPLES + LIST_WORK);
}

/** A set, or words that hold so little that there is no need to unite them first. */
function settled({ found, work }: Candidate): SetOrLists | undefined {
  if (isSet(found)) return found;
  return isWords(found) && work <= MOST_UNSETTLED ? found : undefined;
}

/** Makes a set of many words or of places, with pauses. */
function* settle(index: WordIndex, candidate: Candidate, loan: BitLoan): Work<SetOrLists> {
  const { term, found, work } = candidate;
  if (isSet(found)) return found;
  if (isWords(found)) {
    return work > MOST_UNSETTLED ? yield* unite(index.postings, found, index, loan) : found;
  }
  if (sizeOfRange(found.range) > AT_ONCE) return yield* gatherDocuments(index, found, term, loan);
  const words = yield* wordsAt(index.grams, yield* placesOf(index.grams, found, term));
  return yield* settle(index, { term, found: words, work: workOf(index, words) }, loan);
}

/** At so many places the words of a term are listed before it is known which term comes first. */
const FEW_PLACES = 2048;
/** A search with more work than this is long. */
export const LONG = 32_768;

/** Terms that no other holds: what holds the other, holds them. */
export function withoutContained(terms: readonly string[]): readonly string[] {
  return terms.filter((term) => !terms.some((other) => other.length > term.length && other.includes(term)));
}

/**
 * Finds the documents that contain every one of several terms.
 *
 * @param loan what sets of bits are taken from
 * @param frequent terms at more places are joined
 */
export function* findAll(
  index: WordIndex,
  terms: readonly string[],
  loan: BitLoan,
  frequent = AT_ONCE,
): Work<DocumentSet> {
  const all: Candidate[] = [];
  for (const term of terms) {
    const found = yield* findTerm(index, term, FEW_PLACES);
    const work = workOf(index, found);
    if (work === 0) return NO_DOCUMENTS;
    all.push({ term, found, work });
    yield;
  }
  all.sort((a, b) => a.work - b.work);
  const [smallest, ...others] = all;
  if (smallest!.work > LONG) yield "long";
  let set = settled(smallest!) ?? (yield* settle(index, smallest!, loan));
  for (let left = others; left.length > 0; ) {
    if (isSet(set) && sizeOf(set) === 0) break;
    const { text, parts } = joinFrequent(index, left, frequent);
    if (isBits(set) && parts.length > 1 && !isFewFor(set.size, left[0]!)) {
      set = yield* narrowByJoined(index, set, text, parts, loan);
      left = left.filter((one) => !parts.includes(one));
    } else {
      set = yield* narrow(index, set, left[0]!, loan);
      left = left.slice(1);
    }
    yield;
  }
  return isWords(set) ? yield* unite(index.postings, set, index, loan) : set;
}

/** A text, and the terms that it was joined of. */
interface Joined {
  readonly text: string;
  readonly parts: readonly Candidate[];
}

/** Joins the first of some terms with others, if they stand at very many places, and what contains them at half as many. */
function joinFrequent(index: WordIndex, terms: readonly Candidate[], frequent: number): Joined {
  const places = ({ found }: Candidate): number => ("range" in found ? sizeOfRange(found.range) : 0);
  const first = terms[0]!;
  if (places(first) <= frequent) return { text: first.term, parts: [first] };
  const all = terms.filter((one) => places(one) > frequent);
  const text = joinTexts(
    all.map(({ term }) => term),
    (longer) => sizeOfRange(locate(index.grams, longer).range) * 2 > places(first),
  );
  return { text, parts: all.filter(({ term }) => text.includes(term)) };
}

/** The documents of a set that hold all parts of a text: those that hold the text, and of the others those that hold each part. */
function* narrowByJoined(
  index: WordIndex,
  before: BitSet,
  text: string,
  parts: readonly Candidate[],
  loan: BitLoan,
): Work<DocumentSet> {
  const whole = yield* gatherDocuments(index, locate(index.grams, text), text, loan);
  let others: DocumentSet = splitBits(before, whole, loan);
  for (const part of parts) {
    if (sizeOf(others) === 0) break;
    yield;
    others = yield* narrow(index, others, part, loan);
  }
  return addSet(whole, others, loan);
}

/** To go through a document's words takes about as long as to pass over so many entries. */
const DOCUMENT_WORK = 64;

/** Whether so few documents are left that they are asked for their own words. */
function isFewFor(documents: number, { found, work }: Candidate): boolean {
  return !isSet(found) && documents * DOCUMENT_WORK < work;
}

/** The documents of a set that also hold another term. */
function* narrow(index: WordIndex, before: SetOrLists, other: Candidate, loan: BitLoan): Work<DocumentSet> {
  let set = before;
  const size = isWords(set) ? countEntries(index.postings, set) : sizeOf(set);
  if (isFewFor(size, other)) {
    if (isWords(set)) set = yield* unite(index.postings, set, index, loan);
    if (set.kind === "bits" && size <= mostListed(index.postings.documents)) set = listOfBits(set, loan);
    if (set.kind === "list") return yield* keepHolding(index, set, other);
  }
  const more = settled(other) ?? (yield* settle(index, other, loan));
  const kept = intersect(set, more, index.postings, index, loan);
  giveBack(set, kept, loan);
  giveBack(more, kept, loan);
  return kept;
}

function giveBack(used: SetOrLists, kept: DocumentSet, loan: BitLoan): void {
  if (isWords(used) || used.kind === "list" || (kept.kind === "bits" && kept.any === used.any)) return;
  loan.give(used.any);
  loan.give(used.inName);
}

/** To look at the text of a document's word takes about as long as to pass over so many places. */
const TEXT_WORK = 16;

/** The documents of a few that hold a term which stands in many words. */
function* keepHolding(index: WordIndex, list: ListSet, { term, found }: Candidate): Work<DocumentSet> {
  const { byDocument, postings, wordPool } = index;
  const places = isWords(found) ? found.length : sizeOfRange((found as Located).range);
  const words = byDocument.words.length / Math.max(postings.documents, 1);
  const isFew = list.entries.length * words * TEXT_WORK < places;
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
 * @param wanted the words with the term; without it their texts are looked at
 */
function* keepWithWords(
  { byDocument, grams }: WordIndex,
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
    for (let place = byDocument.starts[document]!; place < to; place++) {
      const entry = byDocument.words[place]!;
      const word = entry >>> 1;
      let isWanted: number;
      if (wanted !== undefined) isWanted = (wanted[word >>> 5]! >>> word) & 1;
      else {
        isWanted = (holds(grams.texts, word, term) ?? (yield* seekInText(grams.texts, word, term))) ? 1 : 0;
        work += grams.texts.starts[word + 1]! - grams.texts.starts[word]!;
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
