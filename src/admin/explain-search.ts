/** The searches of an explanation: they use no cache and count all hits by rank class. */

import { fold } from "../search/fold.ts";
import { pageOf, type ResultSet } from "../search/result-set.ts";
import { Scheduler } from "../search/schedule/scheduler.ts";
import { openSearch, type Searches } from "../search/search.ts";
import type { Work } from "../search/work.ts";
import { termsOf } from "../search/worlds.ts";
import type { OpenState } from "../server/open.ts";
import { BUSY, type Generation, type SearchName, type Store } from "../store/generation.ts";
import { displayNameOf, worldNameOf } from "../store/texts.ts";
import { endWhere } from "../util/sorted.ts";
import type { WatchedServer } from "./watched.ts";

/** How a search would be answered. */
export interface SearchExplanation {
  readonly table: SearchName;
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
  /** Duration of the search without the cache, beside the requests of this thread; null if `classes` is. */
  readonly durationMs: number | null;
}

interface ClassExplanation {
  readonly rank: number;
  readonly meaning: string;
  readonly matches: number;
}

/** Meanings of the rank classes. */
const MEANINGS: Readonly<Record<SearchName, readonly string[]>> = {
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

function termsIn(table: SearchName, term: string): readonly string[] {
  return table === "users" ? [term] : termsOf(term);
}

interface CountedResults extends Pick<SearchExplanation, "classes" | "durationMs"> {
  readonly results: ResultSet;
}

/** Creates the function that returns the rank class of a hit. */
function rankOf(table: SearchName, { users, worlds }: Store, term: string): (row: number) => number {
  const terms = termsIn(table, term);
  return (row) => {
    const name = fold(table === "users" ? displayNameOf(users, row) : worldNameOf(worlds, row));
    if (name === term) return 0;
    if (name.startsWith(term)) return 1;
    return terms.every((one) => name.includes(one)) ? 2 : 3;
  };
}

/** Counts results by rank class. They are sorted by class, so a binary search finds the end of each. */
function* countClasses(
  meanings: readonly string[],
  results: ResultSet,
  rank: (row: number) => number,
): Work<readonly ClassExplanation[]> {
  const { total } = results;
  const listed = total <= LISTED ? results.page({ limit: total, offset: 0 }) : undefined;
  const rowAt = (at: number): number => listed?.[at] ?? results.page({ limit: 1, offset: at })[0]!;
  const classes: ClassExplanation[] = [];
  let begin = 0;
  for (const [number, meaning] of meanings.entries()) {
    yield;
    const end = endWhere(begin, total, (at) => rank(rowAt(at)) <= number);
    classes.push({ rank: number, meaning, matches: end - begin });
    begin = end;
  }
  return classes;
}

function* searchAndCount(
  searches: Searches,
  store: Store,
  table: SearchName,
  term: string,
): Work<CountedResults> {
  const began = performance.now();
  const results = yield* searches[table](term, EVERYTHING);
  const durationMs = Math.round((performance.now() - began) * 1000) / 1000;
  const classes = yield* countClasses(MEANINGS[table], results, rankOf(table, store, term));
  return { results, classes, durationMs };
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
      const { classes, durationMs } = done === BUSY ? { classes: null, durationMs: null } : done;
      const cache = await askHolding({ table, term, page: { limit: page.limit, offset: page.offset } });
      const total = done === BUSY ? null : done.results.total;
      take({ table, match: "exact", term, terms: termsIn(table, term), total, classes, cache, durationMs });
      return done === BUSY ? BUSY : pageOf(done.results, page);
    },
    similar:
      similar &&
      (async (table, term, page, caller) => {
        const found = await similar(table, term, page, caller);
        if (found === undefined) return undefined;
        const unknown = { classes: null, cache: { holding: 0, asked: 0 }, durationMs: null };
        const total = found === BUSY ? null : found.total;
        take({ table, match: "similar", term, terms: termsIn(table, term), total, ...unknown });
        return found;
      }),
  };
}
