/**
 * Search over names and descriptions of worlds. Documents are places in the
 * all-time ranking, so document order is popularity order.
 */

import type { PageOf } from "../store/generation.ts";
import { fold } from "./fold.ts";
import { openWords, WHITE_SPACE, type WordIndex, WordIndexBuilder, type Words } from "./index/word-index.ts";
import { findAll, LONG, withoutContained } from "./query/conjunction.ts";
import { sizeOfRange } from "./query/locate.ts";
import { type Asked, rank, rankList, rankWords } from "./query/rank.ts";
import type { Matches } from "./query/result-set.ts";
import { type FoundTerm, findKnown, findTerm, gatherDocuments, wordsAt } from "./query/term.ts";
import { BitLoan } from "./shared/bits.ts";
import { AT_ONCE, countEntries, unite } from "./shared/document-set.ts";
import { findNameRange, type Ranking, rankingOf } from "./shared/name-order.ts";
import { TextsBuilder } from "./shared/texts.ts";
import { FIRST_TOPS, findTop, findTops, MOST_TOPS, noTops, type Tops } from "./shared/top-table.ts";
import { rangeOf } from "./shared/trigrams.ts";
import { runNow, type Work } from "./shared/work.ts";

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
  const loan = new BitLoan(words.pool);
  return findTops(
    grams,
    { least, weigh, mostRuns: most * MOST_TOPS },
    ({ run }) => {
      const { from, equalEnd } = findNameRange(ranking, run);
      return from < equalEnd;
    },
    ({ run, places }) => {
      const found = findKnown(words, run) ?? runNow(wordsAt(grams, places));
      const short = rankShort(index, found, run);
      if (short !== undefined) return short;
      const matches = runNow(rankFound(index, found, run, { term: run, page: FIRST_TOPS }, loan));
      loan.end();
      return matches;
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
  const terms = termsOf(term);
  const found = terms.length === 1 ? yield* findTerm(index.words, terms[0]!) : undefined;
  // Most searches end here: nothing of what long ones need is made for them.
  const short = found === undefined ? undefined : rankShort(index, found, term);
  if (short !== undefined) return short;
  const loan = new BitLoan(index.words.pool);
  const asked = { term, page };
  try {
    if (found !== undefined) return yield* rankFound(index, found, terms[0]!, asked, loan);
    const set = yield* findAll(index.words, terms, loan);
    return rankShort(index, set, term) ?? (yield* rank(set, index.ranking, asked, loan));
  } finally {
    loan.end();
  }
}

/** The terms that count. */
function termsOf(query: string): readonly string[] {
  const terms = query.split(WHITE_SPACE);
  return terms.length === 1 ? terms : withoutContained([...new Set(terms)].slice(0, MAX_TERMS));
}

/** Ranks what a single term was found in, if that is so little that there is no need to pause. */
function rankShort({ words, ranking }: WorldIndex, found: FoundTerm, term: string): Matches | undefined {
  if (found instanceof Uint32Array) {
    const entries = countEntries(words.postings, found);
    return entries <= AT_ONCE ? rankWords(words, found, entries, ranking, term) : undefined;
  }
  if (!("kind" in found) || found.kind === "bits" || found.entries.length > AT_ONCE) return undefined;
  return rankList(found.entries, ranking, term);
}

/** Ranks what a single term was found in, with pauses. */
function* rankFound(
  { words, ranking }: WorldIndex,
  found: FoundTerm,
  term: string,
  asked: Asked,
  loan: BitLoan,
): Work<Matches> {
  if ("kind" in found) return yield* rank(found, ranking, asked, loan);
  if ("range" in found) {
    if (sizeOfRange(found.range) > LONG) yield "long";
    return yield* rank(yield* gatherDocuments(words, found, term, loan), ranking, asked, loan);
  }
  const { starts, postings } = words.postings;
  if (countEntries(words.postings, found) > LONG) yield "long";
  if (found.length === 1) {
    const list = postings.subarray(starts[found[0]!]!, starts[found[0]! + 1]!);
    return yield* rank({ kind: "list", entries: list }, ranking, asked, loan);
  }
  return yield* rank(yield* unite(words.postings, found, words, loan), ranking, asked, loan);
}
