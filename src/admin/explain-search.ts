/** What a search of an explanation finds: all of it, counted by rank class, without any cache. */

import { fold } from "../search/fold.ts";
import type { ResultSet } from "../search/result-set.ts";
import type { Searches } from "../search/search.ts";
import { WHITE_SPACE } from "../search/texts.ts";
import type { Work } from "../search/work.ts";
import type { Store } from "../store/generation.ts";
import { displayNameOf, worldNameOf } from "../store/texts.ts";
import type { ClassExplanation } from "./explanation.ts";

/** Which search. */
export type SearchedTable = "users" | "worlds";

/** What the rank classes of each search are. */
const MEANINGS: Readonly<Record<SearchedTable, readonly string[]>> = {
  users: ["name is the query", "name begins with the query", "name contains the query"],
  worlds: [
    "name is the query",
    "name begins with the query",
    "name contains every term",
    "every term is in the name or the description",
  ],
};

/** Most terms of a search over worlds that count. */
const MAX_TERMS = 10;

/** Up to so many results are listed at once. */
const LISTED = 16_384;

/** Beyond every page: so that all is found. */
const EVERYTHING = { limit: 2 ** 32, offset: 0 } as const;

/** The parts of a query of which all must be contained. */
export function termsOf(table: SearchedTable, term: string): readonly string[] {
  return table === "users" ? [term] : [...new Set(term.split(WHITE_SPACE))].slice(0, MAX_TERMS);
}

/** What was found. */
export interface CountedResults {
  readonly results: ResultSet;
  readonly classes: readonly ClassExplanation[];
  /** Milliseconds that the search was at work. */
  readonly ms: number;
}

/** Rank class of a row that was found. */
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

/** Counts results by class. They are in order of it, so the ends of the classes are found by halving. */
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

/** Searches and counts. */
export function* searchAndCount(
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
