/**
 * Search over names and descriptions of worlds. Documents are places in the
 * all-time ranking, so document order is popularity order.
 */

import type { PageOf } from "../store/generation.ts";
import { countEntries, type SetOrLists, unite } from "./documents.ts";
import { fold } from "./fold.ts";
import { rangeOf } from "./grams.ts";
import type { Matches } from "./matches.ts";
import { rank, rankWords } from "./ranked.ts";
import { findNameRange, type Ranking, rankingOf } from "./ranking.ts";
import { runNow, STEP, type Work } from "./slices.ts";
import { findTop, findTops, MOST_TOPS, noTops, type Tops } from "./tops.ts";
import { TextsBuilder } from "./units.ts";
import {
  findAll,
  findKnown,
  findTerm,
  openWords,
  WHITE_SPACE,
  type WordIndex,
  WordIndexBuilder,
  type Words,
  wordsAt,
} from "./words.ts";

/** What is indexed of all worlds. All of it lies in shared memory and can be handed to other threads. */
export interface Worlds {
  readonly words: Words;
  readonly ranking: Ranking;
  readonly tops: Tops;
}

/** Worlds that can be searched. */
export interface WorldIndex {
  readonly words: WordIndex;
  readonly ranking: Ranking;
  readonly tops: Tops;
}

/** Makes an index searchable on the calling thread. */
export function openWorlds({ words, ranking, tops }: Worlds): WorldIndex {
  return { words: openWords(words), ranking, tops };
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
 * @param least the best worlds of a run are found beforehand when its words hold so many documents together
 */
export function indexWorlds(
  ranking: Uint32Array,
  nameOf: (row: number) => string,
  descriptionOf: (row: number) => string,
  least = FREQUENT,
): Worlds {
  const builder = new WordIndexBuilder();
  const names = new TextsBuilder();
  for (const row of ranking) {
    const name = fold(nameOf(row));
    names.add(name);
    builder.beginDocument();
    builder.addField(name, true);
    builder.addField(fold(descriptionOf(row)), false);
  }
  const { words, entriesBefore } = builder.finish();
  const index = { words, ranking: rankingOf(names.finish(), ranking) };
  return { ...index, tops: topsOf(index, entriesBefore, least) };
}

/** The best worlds of a run are found beforehand when its words hold so many worlds together. */
const FREQUENT = 64;

/** Finds the best worlds of all runs within words that are worth it. @param entriesBefore see {@link WordIndexBuilder} */
function topsOf(worlds: Omit<Worlds, "tops">, entriesBefore: Float64Array, least: number): Tops {
  const index = openWorlds({ ...worlds, tops: noTops() });
  const { words, ranking } = index;
  const { grams, postings } = words;
  const weigh = (places: Uint32Array): number => {
    const [from, to] = rangeOf(grams, places);
    return entriesBefore[to]! - entriesBefore[from]!;
  };
  const most = Math.max(grams.places.length, postings.postings.length);
  return findTops(
    grams,
    { least, weigh, mostRuns: most * MOST_TOPS },
    ({ run }) => {
      const { from, equalEnd } = findNameRange(ranking, run);
      return from < equalEnd;
    },
    ({ run, places }) => {
      const found = findKnown(words, run) ?? runNow(wordsAt(grams, places));
      return runNow(rankFound(index, found, run));
    },
  );
}

/**
 * Finds the worlds that contain every term of a query in name or description.
 *
 * @param term folded and trimmed, not empty
 * @param page what is asked for; without it everything is found
 * @returns world rows: name equal to the query, name beginning with it, name
 *   containing every term, the rest
 */
export function* searchWorlds(index: WorldIndex, term: string, page?: PageOf): Work<Matches> {
  const top = page === undefined ? undefined : findTop(index.tops, term, page);
  if (top !== undefined) return top;
  const { words, ranking } = index;
  const terms = [...new Set(term.split(WHITE_SPACE))].slice(0, MAX_TERMS);
  if (terms.length > 1) return rank(yield* findAll(words, terms), ranking, term);
  return yield* rankFound(index, yield* findTerm(words, terms[0]!), term);
}

/** Ranks what a single term was found in. */
function* rankFound({ words, ranking }: WorldIndex, found: SetOrLists, term: string): Work<Matches> {
  if (!(found instanceof Uint32Array)) return rank(found, ranking, term);
  const entries = countEntries(words.postings, found);
  if (entries <= MANY) return rankWords(words, found, entries, ranking, term);
  if (entries > STEP) yield "long";
  return rank(yield* unite(words.postings, found, words.sorter), ranking, term);
}
