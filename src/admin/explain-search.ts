/** The searches of an explanation: they use no cache and count all hits by rank class. */

import type { Results } from "../search/results.ts";
import { Scheduler } from "../search/schedule.ts";
import { openSearch } from "../search/search.ts";
import type { Work } from "../search/work.ts";
import { termsOf } from "../search/worlds.ts";
import type { OpenState } from "../server/open.ts";
import { BUSY, type Generation, type SearchName } from "../store/generation.ts";
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

function termsIn(table: SearchName, term: string): readonly string[] {
  return table === "users" ? [term] : termsOf(term);
}

interface TimedResults {
  readonly results: Results;
  readonly durationMs: number;
}

function* timed(search: Work<Results>): Work<TimedResults> {
  const began = performance.now();
  const results = yield* search;
  return { results, durationMs: Math.round((performance.now() - began) * 1000) / 1000 };
}

function classesOf(table: SearchName, { classes }: Results): readonly ClassExplanation[] {
  return MEANINGS[table].map((meaning, rank) => ({ rank, meaning, matches: classes[rank]! }));
}

const scheduler = new Scheduler();

/** The searches of a generation as requests run them, but without a cache. @param take receives each explanation */
export function explainedSearches(
  { state, served }: OpenState,
  askHolding: WatchedServer["askHolding"],
  take: (search: SearchExplanation) => void,
): Pick<Generation, "search" | "similar"> {
  const { similar } = state.generation;
  const { store, index } = served.shared();
  const search = openSearch(store, index);
  return {
    search: async (table, term, page, caller) => {
      const done = await scheduler.run(timed(search(table, term, page)), caller);
      const cache = await askHolding({ table, term, page: { limit: page.limit, offset: page.offset } });
      const asked = { table, match: "exact", term, terms: termsIn(table, term), cache } as const;
      if (done === BUSY) {
        take({ ...asked, total: null, classes: null, durationMs: null });
        return BUSY;
      }
      const classes = classesOf(table, done.results);
      const total = classes.reduce((sum, { matches }) => sum + matches, 0);
      take({ ...asked, total, classes, durationMs: done.durationMs });
      return { total, rows: done.results.rows };
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
