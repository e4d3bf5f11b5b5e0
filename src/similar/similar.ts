/**
 * Similar search: finds misspelt names.
 *
 * 1. The names that the exact search finds lie at distance 0.
 * 2. n-grams lead to candidates: names that have most of the query's.
 * 3. A candidate counts when a substring of it lies within the distance. The nearest names as a whole, about a page,
 *    must not be hidden: to a misspelt "rabbit" all of "rabbit_1" to "rabbit_999" are as near as "rabbit" itself. So
 *    names that would come before the nearest are left out.
 * 4. All are sorted by distance, rank class, and the order of their documents.
 *
 * So a row can be missed; every found row lies within the distance.
 */

import type { Observe } from "../observe/events.ts";
import { ResultCache } from "../search/cache.ts";
import { fold } from "../search/fold.ts";
import { Scheduler } from "../search/schedule.ts";
import { openSearch, type Searches, type SearchIndex, termsOf } from "../search/search.ts";
import type { Work } from "../search/work.ts";
import type { AskPage, SearchAnswer } from "../server/similar/questions.ts";
import { BUSY, type Store } from "../store/generation.ts";
import { rowsOf } from "../store/lists.ts";
import { displayNameOf, worldNameOf } from "../store/texts.ts";
import { codePointsOf, substringDistance, wholeDistance } from "../util/distance.ts";
import { indexSimilarNames, type SimilarNames } from "./names.ts";

/** Most results, the best ones. */
export const MOST_SIMILAR = 1000;

/** Rows, about a page, that others must not hide. */
const FIRST_ROWS = 20;

/** Candidates compared between two yields. */
const AT_ONCE = 16;

/** Most edits between a query and a name, by the query's code points. */
function mostEdits(codePoints: number): 0 | 1 | 2 {
  if (codePoints <= 2) return 0;
  return codePoints <= 5 ? 1 : 2;
}

export interface SimilarIndex {
  readonly users: SimilarNames;
  /** Documents are positions in the order of popularity. */
  readonly worlds: SimilarNames;
}

/** @throws {RangeError} when there are too many names */
export function* indexSimilar({ users, worlds, popular }: Store): Work<SimilarIndex> {
  return {
    users: yield* indexSimilarNames(users.rows, (row) => fold(displayNameOf(users, row))),
    worlds: yield* indexSimilarNames(worlds.rows, (document) =>
      fold(worldNameOf(worlds, popular.all[document]!)),
    ),
  };
}

export function namesIn({ users, worlds }: SimilarIndex): number {
  return users.count + worlds.count;
}

/** Opens both similar searches, which find {@link MOST_SIMILAR} at most. @param exact finds the names at distance 0 */
export function openSimilar(
  { popular }: Pick<Store, "popular">,
  { places }: Pick<SearchIndex, "places">,
  index: SimilarIndex,
  exact: Searches,
): Searches {
  return function* search(name, term, { limit, offset }) {
    const { rows: found } = yield* exact(name, term, { limit: MOST_SIMILAR, offset: 0 });
    let rows: Uint32Array;
    if (name === "users") rows = yield* findSimilar(index.users, term, [term], found);
    else {
      const documents = found.map((row) => places[row]!);
      const similar = yield* findSimilar(index.worlds, term, termsOf(term), documents);
      rows = similar.map((document) => popular.all[document]!);
    }
    return { total: rows.length, rows: rows.subarray(offset, offset + limit) };
  };
}

/** The rank class of a name; the last is that of names without some of the terms. */
function classOf(name: string, term: string, terms: readonly string[]): number {
  if (name === term) return 0;
  if (name.startsWith(term)) return 1;
  return terms.every((one) => name.includes(one)) ? 2 : 3;
}

/** Opens both searches with a cache in front, so that turning pages takes one search. */
export function keepSimilar({ store, index, cacheBytes }: SimilarTask, made: SimilarIndex): ResultCache {
  return new ResultCache(openSimilar(store, index, made, openSearch(store, index)), cacheBytes);
}

/** Finds documents whose names are similar to a term. @param found by the exact search, in names and other texts */
function* findSimilar(
  names: SimilarNames,
  term: string,
  terms: readonly string[],
  found: Iterable<number>,
): Work<Uint32Array> {
  /** By document; a later rank replaces an earlier one. */
  const ranks = new Map<number, number>();
  for (const document of found) {
    const name = names.nameOf(document);
    if (name.includes(term)) ranks.set(document, rankOf(0, classOf(name, term, terms)) + document);
  }
  yield;
  const most = mostEdits(codePointsOf(term).length);
  if (most > 0 && ranks.size < MOST_SIMILAR) {
    addRanks(names, yield* findNear(names, term, terms, most), ranks);
  }
  const sorted = Float64Array.from(ranks.values()).sort().subarray(0, MOST_SIMILAR);
  return Uint32Array.from(sorted, (rank) => rank % 2 ** 32);
}

interface NearName {
  readonly number: number;
  /** The distance of the name as a whole. */
  readonly whole: number;
  /** See {@link rankOf}. */
  readonly rank: number;
}

/** Candidates within a distance, sorted by their distance as a whole. */
function* findNear(
  names: SimilarNames,
  term: string,
  terms: readonly string[],
  most: number,
): Work<NearName[]> {
  const near: NearName[] = [];
  const query = codePointsOf(term);
  const candidates = names.candidates(term);
  for (let at = 0; at < candidates.length; at++) {
    if (at % AT_ONCE === 0) yield;
    const number = candidates[at]!;
    const name = names.nameOf(rowsOf(names.documents, number)[0]!);
    const points = codePointsOf(name);
    const distance = substringDistance(query, points, most);
    if (distance > most) continue;
    const rank = rankOf(distance, classOf(name, term, terms));
    near.push({ number, whole: wholeDistance(query, points), rank });
  }
  return near.sort((a, b) => a.whole - b.whole);
}

/** Ranks the documents of near names, without rows that would hide the first ones. */
function addRanks(names: SimilarNames, near: readonly NearName[], ranks: Map<number, number>): void {
  let rows = 0;
  let lastOfFirst = 0;
  for (const { number, whole, rank: rankOfName } of near) {
    const isFirst = rows < FIRST_ROWS || whole === near[0]!.whole;
    // More documents of one name cannot be among the results.
    const documents = rowsOf(names.documents, number).subarray(0, MOST_SIMILAR);
    for (const document of documents) {
      const rank = rankOfName + document;
      if (isFirst) lastOfFirst = Math.max(lastOfFirst, rank);
      if (isFirst || rank >= lastOfFirst) ranks.set(document, rank);
    }
    rows += documents.length;
  }
}

const CLASSES = 4;

/** Distance and class in one number, with room for the document, which is added: the lower the better. */
function rankOf(distance: number, rankClass: number): number {
  return (distance * CLASSES + rankClass) * 2 ** 32;
}

export interface SimilarTask {
  readonly store: Store;
  /** For the exact search, which gives the names at distance 0. */
  readonly index: SearchIndex;
  readonly cacheBytes: number;
}

export interface SimilarOptions extends SimilarTask {
  /** Id of the generation that it serves: generations with the same names share a similar search. */
  readonly generation: () => string;
  readonly observe: Observe;
}

/** The similar search of one generation, on a thread or on the calling one. */
export interface SimilarEngine {
  readonly ask: AskPage;
  start(): void;
  /** Drops the index after the last answer. */
  retire(): void;
}

export type FromSimilar =
  /** @param names number of distinct names */
  | { readonly kind: "ready"; readonly names: number }
  | { readonly kind: "answer"; readonly answer: SearchAnswer };

/** Similar search on the calling thread: names are indexed and searched in slices. */
export function openSimilarHere(options: SimilarOptions): SimilarEngine {
  const { store, generation, observe } = options;
  const scheduler = new Scheduler();
  let searches: ResultCache | undefined;
  let retired = false;

  async function build(): Promise<void> {
    const began = performance.now();
    const indexing = new Scheduler();
    const made = await indexing.run(indexSimilar(store), { key: 0, isGone: () => retired });
    if (made === BUSY) return;
    searches = keepSimilar(options, made);
    const ms = Math.round(performance.now() - began);
    observe({ kind: "similar-ready", generation: generation(), names: namesIn(made), ms });
  }

  return {
    async ask(name, term, page, caller) {
      return searches && (await scheduler.run(searches.search(name, term, page), caller));
    },
    start() {
      if (retired) return;
      build().catch((error: unknown) =>
        observe({ kind: "similar-failed", generation: generation(), problem: String(error) }),
      );
    },
    retire() {
      retired = true;
    },
  };
}
