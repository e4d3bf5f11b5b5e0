/** A cache of recent results in front of the searches. */

import type { Observe } from "../observe/events.ts";
import { BUSY, type Busy, type Caller, type Found, type PageOf, type Search } from "../store/generation.ts";
import { createResultCache } from "./result-cache.ts";
import { pageOf, type ResultSet } from "./result-set.ts";
import { type PendingSearches, UNBOUNDED } from "./schedule/pending.ts";

/** What became of the searches of a generation, and what the cache holds. */
export interface CacheCounts {
  /** Answered from the cache. */
  readonly hits: number;
  /** Waited for the same search, which was running. */
  readonly joined: number;
  /** Searched. */
  readonly misses: number;
  readonly entries: number;
  readonly bytes: number;
}

/**
 * @internal What became of one search: `cached`, answered from the cache; `joined`, waited for the same one, which was
 * running; `searched`; `busy`, refused since too many wait; `dropped`, since who asked was gone.
 */
export type SearchOutcome = "cached" | "joined" | "searched" | "busy" | "dropped";

/** @internal What is searched. Those for similar names are searches that were answered as such. */
export type SearchKind = "users" | "worlds" | "similar_users" | "similar_worlds";

/** @internal Told of each search once, when it is over. One that failed with an error is none. */
export type CountSearch = (search: SearchKind, outcome: SearchOutcome) => void;

/** @internal Tells what became of the searches of a generation, if there were any. */
export function observeSearches(observe: Observe, generation: string, counts: CacheCounts): void {
  if (counts.hits + counts.joined + counts.misses === 0) return;
  observe({ kind: "search-cache", generation, ...counts });
}

/** @internal A search behind a cache. */
export interface CachedSearch extends Search {
  readonly counts: () => CacheCounts;
  /** Whether a page would be answered from the cache. */
  readonly holds: (table: "users" | "worlds", term: string, page: PageOf) => boolean;
}

/** @internal Finds what matches a query, or as much of it as a page takes. */
export type FindResults = (
  term: string,
  page: PageOf,
  caller: Caller,
) => ResultSet | Busy | Promise<ResultSet | Busy>;

/** @internal Both searches, before the cache. */
export interface UncachedSearch {
  readonly users: FindResults;
  readonly worlds: FindResults;
}

/** In front of the terms of each search. */
const PREFIXES = { users: "u ", worlds: "w " } as const;

type FindPage = Search["users"];
type Answer = ReturnType<FindPage>;

/** @internal What a search that was not answered came to. */
export function whyBusy(caller: Caller): SearchOutcome {
  return caller.isGone() ? "dropped" : "busy";
}

function pageOrBusy(results: ResultSet | Busy, page: PageOf): Found | Busy {
  return results === BUSY ? BUSY : pageOf(results, page);
}

/** A search whose result comes later, and who waits for it. */
interface UnderWay {
  readonly result: Promise<ResultSet | Busy>;
  readonly callers: Caller[];
}

/**
 * Puts a cache in front of both searches: paging a query again mostly costs a slice.
 *
 * @param maxBytes memory for results; 0 keeps none
 * @param pending bounds those that wait for searches of others
 * @param count told of each search
 * @internal
 */
export function withCache(
  search: UncachedSearch,
  maxBytes: number,
  pending: PendingSearches = UNBOUNDED,
  count?: CountSearch,
): CachedSearch {
  const cache = createResultCache(maxBytes);
  /**
   * Callers of one key that ask the same wait for the same answer. Those of another key do not: it would wait in the
   * queue of the first.
   */
  const underWay = new Map<string, UnderWay>();
  let hits = 0;
  let joined = 0;
  let misses = 0;

  function cached(name: "users" | "worlds", find: FindResults, prefix: string): FindPage {
    /** Counts a search by its outcome; returns what it found. */
    function counted<What>(found: What | Busy, caller: Caller, outcome: SearchOutcome): What | Busy {
      count?.(name, found === BUSY ? whyBusy(caller) : outcome);
      return found;
    }

    function search(key: string, term: string, page: PageOf, caller: Caller): Answer {
      misses++;
      const callers = [caller];
      const found = find(term, page, { key: caller.key, isGone: () => callers.every((one) => one.isGone()) });
      if (found === BUSY) return counted(BUSY, caller, "busy");
      if (!(found instanceof Promise)) {
        cache.keep(key, found, page);
        return counted(pageOf(found, page), caller, "searched");
      }
      if (maxBytes === 0)
        return found.then((results) => counted(pageOrBusy(results, page), caller, "searched"));
      const joint = `${caller.key} ${key}`;
      const result = found
        .then((results) => {
          if (results !== BUSY) cache.keep(key, results, page);
          return results;
        })
        .finally(() => {
          if (underWay.get(joint)?.result === result) underWay.delete(joint);
        });
      underWay.set(joint, { result, callers });
      return result.then((results) => counted(pageOrBusy(results, page), caller, "searched"));
    }

    function join(
      { result, callers }: UnderWay,
      term: string,
      page: PageOf,
      caller: Caller,
    ): Busy | Promise<Found | Busy> {
      const leave = pending.enter(caller.key);
      if (leave === undefined) return counted(BUSY, caller, "busy");
      joined++;
      callers.push(caller);
      return result.finally(leave).then((results) => {
        // What came may be another page; of all who wait for this one the first asks for it.
        if (results !== BUSY && results.has(page)) return counted(pageOf(results, page), caller, "joined");
        return caller.isGone() ? counted(BUSY, caller, "busy") : findPage(term, page, caller);
      });
    }

    function findPage(term: string, page: PageOf, caller: Caller): Answer {
      const key = prefix + term;
      const known = cache.find(key, page);
      if (known !== undefined) {
        hits++;
        return counted(known, caller, "cached");
      }
      const coming = underWay.size > 0 ? underWay.get(`${caller.key} ${key}`) : undefined;
      return coming === undefined ? search(key, term, page, caller) : join(coming, term, page, caller);
    }
    return findPage;
  }

  return {
    users: cached("users", search.users, PREFIXES.users),
    worlds: cached("worlds", search.worlds, PREFIXES.worlds),
    holds: (table, term, page) => cache.holds(PREFIXES[table] + term, page),
    counts: () => ({ hits, joined, misses, ...cache.size() }),
  };
}
