/**
 * Search over display names.
 *
 * Folded names are indexed by their trigrams. The number of a name is its
 * user's row, so ascending numbers are list order.
 *
 * A search locates the postings of its term. Of few postings all names are
 * counted while the top-k are taken; a page after those takes a list of all.
 * Very many are gathered in bitsets.
 */

import type { PageOf } from "../store/generation.ts";
import { checkLimit, MOST_TEXTS } from "../store/limits.ts";
import { BitsetPool, EntrySorter } from "./bitset.ts";
import { fold } from "./fold.ts";
import { indexTrigrams } from "./index-trigrams.ts";
import { locate, postingsIn, sizeOfRange } from "./locate.ts";
import { equalNames, gatherNames, repeatedNames, topNames } from "./names.ts";
import { listPostings } from "./posting-reader.ts";
import { ListedResults, NO_RESULTS, ownBytes, type ResultSet, TopResults } from "./result-set.ts";
import { TextsBuilder } from "./texts.ts";
import { GRAM, isBeginning, type TrigramIndex, textOf } from "./trigrams.ts";
import type { Work } from "./work.ts";

/** Indexed names. All of it lies in shared memory and can be handed to other threads. */
export interface NameIndex {
  readonly trigrams: TrigramIndex;
}

/**
 * Indexes users.
 *
 * @param nameOf display name by row
 * @throws {LimitError} when there are more names than can be indexed
 */
export function indexUsers(rows: number, nameOf: (row: number) => string): NameIndex {
  checkLimit(rows, MOST_TEXTS, "names of users");
  const names = new TextsBuilder();
  for (let row = 0; row < rows; row++) names.add(fold(nameOf(row)));
  return { trigrams: indexTrigrams(names.finish()) };
}

/** Names that can be searched. */
export interface OpenNameIndex extends NameIndex {
  /** Empty between two searches, and used without a pause. */
  readonly sorter: EntrySorter;
  /** Bitsets of names. */
  readonly pool: BitsetPool;
}

/** Makes indexed names searchable on the calling thread. */
export function openUsers({ trigrams }: NameIndex): OpenNameIndex {
  const { count } = trigrams.texts;
  return { trigrams, sorter: new EntrySorter(count), pool: new BitsetPool(count) };
}

/** With more postings than these names are gathered in bitsets. Up to so many are listed without a pause. */
const MANY = 16_384;
/** The k of the top-k: a first page of the usual size, and some more. */
const TOP = 32;

/**
 * Finds the users whose folded name contains a term.
 *
 * @param term folded and trimmed, not empty
 * @param page what is asked for; of other results nothing need be known then
 * @returns user rows: names equal to the term, those that begin with it, the rest, each ascending
 */
export function* searchUsers(index: OpenNameIndex, term: string, page?: PageOf): Work<ResultSet> {
  const { trigrams } = index;
  const located = locate(trigrams, term);
  if (sizeOfRange(located.range) > MANY) return yield* gatherNames(index, located, term, page);
  const postings = located.isExact
    ? postingsIn(trigrams, located.range)
    : yield* listPostings(trigrams, located, term);
  if (postings.length === 0) return NO_RESULTS;
  const equal = equalNames(trigrams, postings, term);
  // Of a shorter term the trigrams do not tell which texts hold it twice.
  const repeated = term.length < GRAM ? undefined : repeatedNames(trigrams, postings);
  if (repeated === undefined) return new ListedResults(listNames(index, postings, equal));
  const total = postings.length - repeated.postings + repeated.names.length;
  const top = topNames(trigrams, postings, equal, repeated.names, Math.min(TOP, total));
  const listBytes = total * Uint32Array.BYTES_PER_ELEMENT;
  return new TopResults(total, top, listBytes + ownBytes(postings), () => {
    return new ListedResults(listNames(index, postings, equal));
  });
}

/** All names, ranked. */
function listNames(
  { trigrams, sorter }: OpenNameIndex,
  postings: Uint32Array,
  equal: Uint32Array,
): Uint32Array {
  const entries = new Uint32Array(postings.length);
  for (let at = 0; at < postings.length; at++) {
    entries[at] = textOf(trigrams, postings[at]!) * 2 + (isBeginning(trigrams, postings[at]!) ? 1 : 0);
  }
  sorter.add(entries, 0, entries.length);
  // Each name once; one that begins with the term may hold it once more.
  const total = sorter.drain(entries);
  const ranked = new Uint32Array(total);
  // In a file that other code made, one name may be at many postings.
  ranked.set(equal.subarray(0, total));
  let to = equal.length;
  // Both are ascending.
  for (let at = 0, skipped = 0; at < total; at++) {
    const name = entries[at]! >>> 1;
    if ((entries[at]! & 1) === 0) continue;
    if (name === equal[skipped]) skipped++;
    else ranked[to++] = name;
  }
  for (let at = 0; at < total; at++) if ((entries[at]! & 1) === 0) ranked[to++] = entries[at]! >>> 1;
  return ranked;
}
