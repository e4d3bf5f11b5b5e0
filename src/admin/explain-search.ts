/** The searches of an explanation: they use no cache and count all hits by rank class. */

import { fold } from "../search/fold.ts";
import { pageOf, type ResultSet } from "../search/result-set.ts";
import { Scheduler } from "../search/schedule/scheduler.ts";
import { openSearch, type Searches } from "../search/search.ts";
import { WHITE_SPACE } from "../search/texts.ts";
import type { Work } from "../search/work.ts";
import type { OpenState } from "../server/open.ts";
import { BUSY, type Search, type SimilarSearch, type Store } from "../store/generation.ts";
import { displayNameOf, worldNameOf } from "../store/texts.ts";
import type { ClassExplanation, SearchExplanation } from "./explanation.ts";

type SearchedTable = SearchExplanation["table"];

/** Meanings of the rank classes. */
const MEANINGS: Readonly<Record<SearchedTable, readonly string[]>> = {
  users: ["name is the query", "name begins with the query", "name contains the query"],
  worlds: [
    "name is the query",
    "name begins with the query",
    "name contains every term",
    "every term is in the name or the description",
  ],
};

/** Maximum number of terms in a search for worlds; further terms are ignored. */
const MAX_TERMS = 10;

/** Maximum number of results to list at once. */
const LISTED = 16_384;

/** Larger than any page, so that the search finds all hits. */
const EVERYTHING = { limit: 2 ** 32, offset: 0 } as const;

function termsOf(table: SearchedTable, term: string): readonly string[] {
  return table === "users" ? [term] : [...new Set(term.split(WHITE_SPACE))].slice(0, MAX_TERMS);
}

interface CountedResults {
  readonly results: ResultSet;
  readonly classes: readonly ClassExplanation[];
  /** Time that the search ran, pauses excluded. */
  readonly ms: number;
}

/** Creates the function that returns the rank class of a hit. */
function rankOf(table: SearchedTable, { users, worlds }: Store, term: string): (row: number) => number {
  const nameOf = (row: number): string =>
    fold(table === "users" ? displayNameOf(users, row) : worldNameOf(worlds, row));
  const terms = termsOf(table, term);
  return (row) => {
    const name = nameOf(row);
    if (name === term) return 0;
    if (name.startsWith(term)) return 1;
    return terms.every((one) => name.includes(one)) ? 2 : 3;
  };
}

/** Counts results by rank class. They are sorted by class, so a binary search finds the end of each. */
function* countClasses(
  table: SearchedTable,
  results: ResultSet,
  rank: (row: number) => number,
): Work<readonly ClassExplanation[]> {
  const { total } = results;
  const listed = total <= LISTED ? results.page({ limit: total, offset: 0 }) : undefined;
  const rowAt = (at: number): number => listed?.[at] ?? results.page({ limit: 1, offset: at })[0]!;
  const classes: ClassExplanation[] = [];
  let begin = 0;
  for (const [number, meaning] of MEANINGS[table].entries()) {
    let end = begin;
    for (let beyond = total; end < beyond; ) {
      yield;
      const middle = (end + beyond) >>> 1;
      if (rank(rowAt(middle)) <= number) end = middle + 1;
      else beyond = middle;
    }
    classes.push({ rank: number, meaning, matches: end - begin });
    begin = end;
  }
  return classes;
}

function* searchAndCount(
  searches: Searches,
  store: Store,
  table: SearchedTable,
  term: string,
): Work<CountedResults> {
  const work = searches[table](term, EVERYTHING);
  let ms = 0;
  try {
    for (;;) {
      const began = performance.now();
      const step = work.next();
      ms += performance.now() - began;
      if (!step.done) {
        yield step.value;
        continue;
      }
      const results = step.value;
      return { results, classes: yield* countClasses(table, results, rankOf(table, store, term)), ms };
    }
  } finally {
    work.return(undefined as never);
  }
}

const scheduler = new Scheduler<CountedResults>();

/** Replaces the caller's key in the search queues: an explanation belongs to no key. */
const NO_KEY = { key: -1 } as const;

/** Receives the explanation of a search; its cache figures are still 0. */
type TakeSearch = (search: SearchExplanation) => void;

/** Both searches of a generation, without a cache. */
export function exactSearch({ state, served }: OpenState, take: TakeSearch): Search {
  const { store } = state.generation;
  const searches = openSearch(served.index);
  const exact =
    (table: SearchedTable): Search[SearchedTable] =>
    async (term, page, caller) => {
      const work = () => searchAndCount(searches, store, table, term);
      const done = await scheduler.run(work, { ...caller, ...NO_KEY });
      const [results, classes, ms] =
        done === BUSY ? [null, null, null] : [done.results, done.classes, Math.round(done.ms * 1000) / 1000];
      take({
        ...{ table, match: "exact", term, terms: termsOf(table, term), total: results?.total ?? null },
        ...{ classes, cache: { holding: 0, asked: 0 }, durationMs: ms },
      });
      return results === null ? BUSY : pageOf(results, page);
    };
  return { users: exact("users"), worlds: exact("worlds") };
}

/** Both searches for similar names, as requests run them. */
export function similarSearch(similar: SimilarSearch, take: TakeSearch): SimilarSearch {
  const like =
    (table: SearchedTable): SimilarSearch[SearchedTable] =>
    async (term, page, caller) => {
      const found = await similar[table](term, page, { ...caller, ...NO_KEY });
      if (found === undefined) return undefined;
      take({
        ...{ table, match: "similar", term, terms: termsOf(table, term) },
        ...{ total: found === BUSY ? null : found.total, classes: null },
        ...{ cache: { holding: 0, asked: 0 }, durationMs: null },
      });
      return found;
    };
  return { users: like("users"), worlds: like("worlds") };
}
