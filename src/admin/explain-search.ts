/** The searches of an explanation: they use no cache and count all hits by rank class. */

import { fold } from "../search/fold.ts";
import { pageOf, type ResultSet } from "../search/result-set.ts";
import { Scheduler } from "../search/schedule/scheduler.ts";
import { openSearch, type Searches } from "../search/search.ts";
import type { Work } from "../search/work.ts";
import { termsOf } from "../search/worlds.ts";
import type { OpenState } from "../server/open.ts";
import { BUSY, type Generation, type Store } from "../store/generation.ts";
import { displayNameOf, worldNameOf } from "../store/texts.ts";
import type { WatchedServer } from "./watched.ts";

type SearchedTable = "users" | "worlds";

/** How a search would be answered. */
export interface SearchExplanation {
  readonly table: SearchedTable;
  /** `exact`, too, if similar names were asked for and have no index. */
  readonly match: "exact" | "similar";
  /** The query as it is compared: folded and trimmed. */
  readonly term: string;
  /** The terms that a match must all contain: one for users. */
  readonly terms: readonly string[];
  /** Number of matches; null if the search took too long for an explanation. */
  readonly total: number | null;
  /** Matches by rank class, the first class first. Null for a search for similar names, and if `total` is. */
  readonly classes: readonly ClassExplanation[] | null;
  /** Threads that hold the page of this request, and threads with a cache that were asked. */
  readonly cache: Readonly<Record<"holding" | "asked", number>>;
  /** Duration of the search without the cache, on the thread that explains; null if `classes` is. */
  readonly durationMs: number | null;
}

interface ClassExplanation {
  readonly rank: number;
  readonly meaning: string;
  readonly matches: number;
}

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

/** Maximum number of results to list at once. */
const LISTED = 16_384;

/** Larger than any page, so that the search finds all hits. */
const EVERYTHING = { limit: 2 ** 32, offset: 0 } as const;

function termsIn(table: SearchedTable, term: string): readonly string[] {
  return table === "users" ? [term] : termsOf(term);
}

interface CountedResults {
  readonly results: ResultSet;
  readonly classes: readonly ClassExplanation[];
  /** Time that the search ran, pauses excluded. */
  readonly durationMs: number;
}

const UNKNOWN = { results: null, classes: null, durationMs: null } as const;

/** Creates the function that returns the rank class of a hit. */
function rankOf(table: SearchedTable, { users, worlds }: Store, term: string): (row: number) => number {
  const nameOf = (row: number): string =>
    fold(table === "users" ? displayNameOf(users, row) : worldNameOf(worlds, row));
  const terms = termsIn(table, term);
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
      const classes = yield* countClasses(table, results, rankOf(table, store, term));
      return { results, classes, durationMs: Math.round(ms * 1000) / 1000 };
    }
  } finally {
    work.return(undefined as never);
  }
}

const scheduler = new Scheduler<CountedResults>();

/**
 * The searches of a generation as requests run them, but without a cache.
 * @param askHolding asks which threads have a page in their caches
 * @param take receives each explanation
 */
export function explainedSearches(
  { state, served }: OpenState,
  askHolding: WatchedServer["askHolding"],
  take: (search: SearchExplanation) => void,
): Pick<Generation, "search" | "similar"> {
  const { similar } = state.generation;
  const { store, index } = served.shared();
  const searches = openSearch(index);
  return {
    search: async (table, term, page, caller) => {
      const done = await scheduler.run(() => searchAndCount(searches, store, table, term), caller);
      const { results, classes, durationMs } = done === BUSY ? UNKNOWN : done;
      const cache = await askHolding({ table, term, page: { limit: page.limit, offset: page.offset } });
      const total = results?.total ?? null;
      take({ table, match: "exact", term, terms: termsIn(table, term), total, classes, cache, durationMs });
      return results === null ? BUSY : pageOf(results, page);
    },
    similar:
      similar &&
      (async (table, term, page, caller) => {
        const found = await similar(table, term, page, caller);
        if (found === undefined) return undefined;
        const { classes, durationMs } = UNKNOWN;
        const cache = { holding: 0, asked: 0 };
        const total = found === BUSY ? null : found.total;
        take({
          table,
          match: "similar",
          term,
          terms: termsIn(table, term),
          total,
          classes,
          cache,
          durationMs,
        });
        return found;
      }),
  };
}
