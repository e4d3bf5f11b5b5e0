/**
 * Search over names and descriptions of worlds. Documents are places in the
 * all-time ranking, so document order is popularity order.
 */

import { countEntries, unite } from "./documents.ts";
import { fold } from "./fold.ts";
import type { Matches } from "./matches.ts";
import { rank, rankWords } from "./ranked.ts";
import { type Ranking, rankingOf } from "./ranking.ts";
import { STEP, type Work } from "./slices.ts";
import {
  findAll,
  findTerm,
  openWords,
  WHITE_SPACE,
  type WordIndex,
  WordIndexBuilder,
  type Words,
} from "./words.ts";

/** What is indexed of all worlds. All of it lies in shared memory and can be handed to other threads. */
export interface Worlds {
  readonly words: Words;
  readonly ranking: Ranking;
}

/** Worlds that can be searched. */
export interface WorldIndex {
  readonly words: WordIndex;
  readonly ranking: Ranking;
}

/** Makes an index searchable on the calling thread. */
export function openWorlds({ words, ranking }: Worlds): WorldIndex {
  return { words: openWords(words), ranking };
}

/** Up to so many entries of words are counted without a pause. */
const MANY = STEP / 2;

/** How many different terms of a query count. */
const MAX_TERMS = 10;

/**
 * Indexes worlds.
 *
 * @param ranking world rows, most popular first
 * @param nameOf name by row
 * @param descriptionOf description by row
 */
export function indexWorlds(
  ranking: Uint32Array,
  nameOf: (row: number) => string,
  descriptionOf: (row: number) => string,
): Worlds {
  const builder = new WordIndexBuilder();
  const names: string[] = [];
  for (const row of ranking) {
    const name = fold(nameOf(row));
    names.push(name);
    builder.beginDocument();
    builder.addField(name, true);
    builder.addField(fold(descriptionOf(row)), false);
  }
  return { words: builder.finish(), ranking: rankingOf(names, ranking) };
}

/**
 * Finds the worlds that contain every term of a query in name or description.
 *
 * @param term folded and trimmed, not empty
 * @returns world rows: name equal to the query, name beginning with it, name
 *   containing every term, the rest
 */
export function* searchWorlds({ words, ranking }: WorldIndex, term: string): Work<Matches> {
  const terms = [...new Set(term.split(WHITE_SPACE))].slice(0, MAX_TERMS);
  if (terms.length > 1) return rank(yield* findAll(words, terms), ranking, term);
  const found = yield* findTerm(words, terms[0]!);
  if (!(found instanceof Uint32Array)) return rank(found, ranking, term);
  const entries = countEntries(words.postings, found);
  if (entries <= MANY) return rankWords(words, found, entries, ranking, term);
  if (entries > STEP) yield "long";
  return rank(yield* unite(words.postings, found, words.sorter), ranking, term);
}
