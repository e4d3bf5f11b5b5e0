/** Results of recent searches: an LRU cache bounded in bytes, in front of both searches. */

import { LRUCache } from "lru-cache";
import { copySlices, type Slices } from "../model/body.ts";
import type { CacheCounts, Observe } from "../observe/events.ts";
import type { CountSearch, SearchOutcome } from "../observe/metrics/counters.ts";
import {
  BUSY,
  type Busy,
  type Caller,
  type Found,
  type PageOf,
  type Search,
  type SearchName,
  type SearchOf,
} from "../store/generation.ts";
import { pageOf, type ResultSet } from "./result-set.ts";
import { type PendingSearches, UNBOUNDED } from "./schedule/pending.ts";
import type { Searches } from "./search.ts";
import type { Work } from "./work.ts";

/** Bytes that an entry costs beside its rows and its JSON; measured roughly. */
const ENTRY_BYTES = 200;

interface Entry {
  readonly results: ResultSet;
  /** The page that was requested last. */
  limit: number;
  offset: number;
  /** A page that is kept as JSON. */
  readonly kept?: PageOf & { readonly page: Found & { readonly json: string | Buffer } };
}

function bytesOf({ results, kept }: Entry, key: string): number {
  return results.bytes + (kept?.page.json.length ?? 0) + key.length * 2 + ENTRY_BYTES;
}

/** Up to this length, a ready text is sent faster than bytes. */
const TEXT_BYTES = 8192;

const FIRST_RESULT: PageOf = { limit: 1, offset: 0 };

/** Kept results, by the search and its term. */
class ResultCache {
  readonly #maxBytes: number;
  readonly #entries: LRUCache<string, Entry>;

  /** @param maxBytes memory for them; 0 keeps none */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
    // The cache rejects a limit of 0; nothing fits in 1 byte.
    this.#entries = new LRUCache({ maxSize: Math.max(maxBytes, 1), sizeCalculation: bytesOf });
  }

  /** A page of a kept result; undefined when it is not known. */
  find(key: string, page: PageOf): Found | undefined {
    const known = this.#entries.get(key);
    return known?.results.has(page) ? this.#pageOf(key, known, page) : undefined;
  }

  /** Whether a page is known; does not count as a use. */
  holds(key: string, page: PageOf): boolean {
    return this.#entries.peek(key)?.results.has(page) ?? false;
  }

  /** @param page the requested one */
  keep(key: string, results: ResultSet, { limit, offset }: PageOf): void {
    // Results without the first one are of a late page, which is requested once.
    if (this.#maxBytes === 0 || !results.has(FIRST_RESULT)) return;
    // A copy: a slice of the request's bytes would keep all of them in memory.
    this.#entries.set(Buffer.from(key).toString(), { results, limit, offset });
  }

  size(): { readonly entries: number; readonly bytes: number } {
    return { entries: this.#entries.size, bytes: this.#entries.calculatedSize };
  }

  /** A page that is requested twice in a row is kept as JSON: making it takes a sixth of the time of its reply. */
  #pageOf(key: string, entry: Entry, asked: PageOf): Found {
    const { results, kept } = entry;
    const { limit, offset } = asked;
    if (kept !== undefined && kept.limit === limit && kept.offset === offset) return kept.page;
    const page = pageOf(results, asked);
    if (entry.limit !== limit || entry.offset !== offset) {
      entry.limit = limit;
      entry.offset = offset;
      return page;
    }
    const keepJson = (slices: Slices): void => {
      // Its own memory: a slice of the pool would keep all of the pool.
      const bytes = Buffer.allocUnsafeSlow(slices.length);
      copySlices(slices, bytes, 0);
      const json = slices.length < TEXT_BYTES ? bytes.toString("latin1") : bytes;
      const larger = { ...entry, kept: { limit, offset, page: { ...page, json } } };
      // The cache would drop an entry that became too large for it.
      if (bytesOf(larger, key) <= this.#maxBytes) this.#entries.set(key, larger);
    };
    return { ...page, keepJson };
  }
}

/** @internal Both searches with a cache in front, for a thread that only searches. @param maxBytes 0 keeps none */
export function keepingResults(
  searches: Searches,
  maxBytes: number,
): (name: SearchName, term: string, page: PageOf) => Work<Found> {
  const cache = new ResultCache(maxBytes);
  return function* search(name, term, page) {
    const key = PREFIXES[name] + term;
    // Cached by the time it begins, if another caller asked for the same.
    const known = cache.find(key, page);
    if (known !== undefined) return known;
    const results = yield* searches[name](term, page);
    cache.keep(key, results, page);
    return pageOf(results, page);
  };
}

/** @internal Reports the searches of a generation, if there were any. */
export function observeSearches(observe: Observe, generation: string, counts: CacheCounts): void {
  if (counts.hits + counts.joined + counts.misses > 0)
    observe({ kind: "search-cache", generation, ...counts });
}

/** @internal Both searches, before the cache: find the results of a query, or as many as a page takes. */
export type FindResults = SearchOf<ResultSet | Busy | Promise<ResultSet | Busy>>;

/** Prefixes of the keys of each search. */
const PREFIXES = { users: "u ", worlds: "w " } as const;

type Answer = ReturnType<Search>;

/** @internal The outcome of a search without an answer. */
export function whyBusy(caller: Caller): SearchOutcome {
  return caller.isGone() ? "dropped" : "busy";
}

/** A search in progress, and its callers. */
interface RunningSearch {
  readonly result: Promise<ResultSet | Busy>;
  readonly callers: Caller[];
}

interface Asked {
  readonly name: SearchName;
  readonly key: string;
  readonly term: string;
  readonly page: PageOf;
  readonly caller: Caller;
}

/** @internal Both searches of a generation, their cache and waiting searches. Another page of a known query mostly costs a slice. */
export class CachedSearch {
  readonly #find: FindResults;
  readonly #cache: ResultCache;
  readonly #keepsResults: boolean;
  readonly #pending: PendingSearches;
  readonly #count: CountSearch | undefined;
  /** By key and search. Callers with another key do not join: they would wait in the queue of the first key. */
  readonly #running = new Map<string, RunningSearch>();
  readonly #counts = { hits: 0, joined: 0, misses: 0 };

  /** @param maxBytes 0 keeps none */
  constructor(find: FindResults, maxBytes: number, pending = UNBOUNDED, count?: CountSearch) {
    this.#find = find;
    this.#cache = new ResultCache(maxBytes);
    this.#keepsResults = maxBytes > 0;
    this.#pending = pending;
    this.#count = count;
  }

  counts(): CacheCounts {
    return { ...this.#counts, ...this.#cache.size() };
  }

  /** Whether a page would be answered from the cache. */
  holds(table: SearchName, term: string, page: PageOf): boolean {
    return this.#cache.holds(PREFIXES[table] + term, page);
  }

  readonly find: Search = (name, term, page, caller) => {
    const key = PREFIXES[name] + term;
    const known = this.#cache.find(key, page);
    if (known !== undefined) {
      this.#counts.hits++;
      this.#count?.(name, "cached");
      return known;
    }
    const asked = { name, key, term, page, caller };
    const coming = this.#running.size > 0 ? this.#running.get(`${caller.key} ${key}`) : undefined;
    return coming === undefined ? this.#search(asked) : this.#join(coming, asked);
  };

  /** Counts a search by its outcome. @returns the requested page */
  #pageOf(results: ResultSet | Busy, { name, page, caller }: Asked, outcome: SearchOutcome): Found | Busy {
    this.#count?.(name, results === BUSY ? whyBusy(caller) : outcome);
    return results === BUSY ? BUSY : pageOf(results, page);
  }

  #search(asked: Asked): Answer {
    const { name, key, term, page, caller } = asked;
    this.#counts.misses++;
    const callers = [caller];
    const isGone = (): boolean => callers.every((one) => one.isGone());
    const found = this.#find(name, term, page, { key: caller.key, isGone });
    if (!(found instanceof Promise)) return this.#searched(found, asked);
    const joint = `${caller.key} ${key}`;
    const result = found.finally(() => this.#running.delete(joint));
    if (this.#keepsResults) this.#running.set(joint, { result, callers });
    return result.then((results) => this.#searched(results, asked));
  }

  #searched(results: ResultSet | Busy, asked: Asked): Found | Busy {
    if (results !== BUSY) this.#cache.keep(asked.key, results, asked.page);
    return this.#pageOf(results, asked, "searched");
  }

  #join({ result, callers }: RunningSearch, asked: Asked): Answer {
    const { name, term, page, caller } = asked;
    const leave = this.#pending.enter(caller.key);
    if (leave === undefined) return this.#pageOf(BUSY, asked, "busy");
    this.#counts.joined++;
    callers.push(caller);
    return result.finally(leave).then((results) => {
      // The result may lack this page: the first of the waiting callers then searches for it.
      if (results !== BUSY && results.has(page)) return this.#pageOf(results, asked, "joined");
      return caller.isGone() ? this.#pageOf(BUSY, asked, "busy") : this.find(name, term, page, caller);
    });
  }
}
