/**
 * The documents that hold one term or several.
 *
 * Terms are taken as they come to hold more, and only as long as something is
 * left. What stands at few places is made a list of words; places of any number
 * are read in parts, straight into sets of bits, so that a search takes a few
 * sets whatever it is asked. Where few documents are left they are asked for
 * their own words instead.
 */

import { addRange, type BitLoan } from "./bits.ts";
import {
  AT_ONCE,
  addEntries,
  type BitPair,
  bitSetOf,
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
  takePair,
  unite,
} from "./documents.ts";
import { GRAM, type Grams, textAt } from "./grams.ts";
import { intersect } from "./intersect.ts";
import { PlaceReader } from "./place-reader.ts";
import { holds, type Located, locate, placesOf, seekInText, sizeOfRange } from "./places.ts";
import { findRun } from "./runs.ts";
import { STEP, type Work } from "./slices.ts";
import type { WordIndex } from "./words.ts";

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
  const located = locate(index, term);
  const places = sizeOfRange(located.range);
  if (places === 0) return NO_DOCUMENTS;
  return places <= most ? yield* wordsAt(index.grams, yield* placesOf(index, located, term)) : located;
}

/** Sets the bits of all documents that contain a term. */
export function* gatherDocuments(
  index: WordIndex,
  located: Located,
  term: string,
  loan: BitLoan,
): Work<DocumentSet> {
  const { starts, postings } = index.postings;
  const pair = takePair(loan);
  const reader = new PlaceReader(index, located, term);
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
  const words = yield* wordsAt(index.grams, yield* placesOf(index, found, term));
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
 */
export function* findAll(index: WordIndex, terms: readonly string[], loan: BitLoan): Work<DocumentSet> {
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
  for (const other of others) {
    if (isSet(set) && sizeOf(set) === 0) break;
    set = yield* narrow(index, set, other, loan);
    yield;
  }
  return isWords(set) ? yield* unite(index.postings, set, index, loan) : set;
}

/** To go through a document's words takes about as long as to pass over so many entries. */
const DOCUMENT_WORK = 64;

/** The documents of a set that also hold another term. */
function* narrow(index: WordIndex, before: SetOrLists, other: Candidate, loan: BitLoan): Work<DocumentSet> {
  let set = before;
  const size = isWords(set) ? countEntries(index.postings, set) : sizeOf(set);
  if (!isSet(other.found) && size * DOCUMENT_WORK < other.work) {
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

/** Sets the bits of all words in which a term was found. */
function* markWords(index: WordIndex, found: FoundTerm, term: string, wanted: Uint32Array): Work<void> {
  if (isWords(found)) {
    for (let at = 0; at < found.length; at++) wanted[found[at]! >>> 5]! |= 1 << found[at]!;
    return;
  }
  const reader = new PlaceReader(index, found as Located, term);
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
