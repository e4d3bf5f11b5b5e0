/** Recent search results, bounded in bytes. */

import { LRUCache } from "lru-cache";
import type { Observe } from "../observe.ts";
import type { Found, PageOf, Search } from "../store/generation.ts";
import { type Matches, pageOf } from "./matches.ts";

/** Bytes that an entry costs beside its rows and its text; measured roughly. */
const ENTRY_BYTES = 200;

/** What became of the searches of a generation, and what the cache holds. */
export interface CacheCounts {
  /** Answered from the cache. */
  readonly hits: number;
  /** Waited for the same search, which was under way. */
  readonly joined: number;
  /** Searched. */
  readonly misses: number;
  readonly entries: number;
  readonly bytes: number;
}

/** Tells what became of the searches of a generation, if there were any. */
export function observeSearches(observe: Observe, generation: string, counts: CacheCounts): void {
  if (counts.hits + counts.joined + counts.misses === 0) return;
  observe({ kind: "search-cache", generation, ...counts });
}

/** A search behind a cache. */
export interface CachedSearch extends Search {
  readonly counts: () => CacheCounts;
}

/** Finds what matches a term, or as much of it as a page takes. */
export type FindMatches = (term: string, page: PageOf) => Matches | Promise<Matches>;

/** Both searches, before the cache. */
export interface MatchSearch {
  readonly users: FindMatches;
  readonly worlds: FindMatches;
}

type FindPage = Search["users"];

/** A result. */
interface Entry {
  readonly matches: Matches;
  /** The page that was asked for last. */
  limit: number;
  offset: number;
  /** A page that is kept as JSON. */
  readonly kept?: PageOf & { readonly page: Found & { readonly text: string } };
}

/** Bytes of an entry; JSON is a one-byte text. */
function bytesOf({ matches, kept }: Entry, key: string): number {
  return matches.bytes + (kept?.page.text.length ?? 0) + key.length * 2 + ENTRY_BYTES;
}

const FIRST_MATCH: PageOf = { limit: 1, offset: 0 };

/**
 * Puts a cache in front of both searches: paging a query again mostly costs a slice.
 *
 * @param maxBytes memory for results; 0 keeps none
 */
export function withCache(search: MatchSearch, maxBytes: number): CachedSearch {
  const cache = new LRUCache<string, Entry>({
    // The cache takes no bound of 0; with 1 byte nothing fits.
    maxSize: Math.max(maxBytes, 1),
    sizeCalculation: bytesOf,
  });
  /** Searches whose results come later: who asks the same meanwhile waits for the same answer. */
  const underWay = new Map<string, Promise<Matches>>();
  let hits = 0;
  let joined = 0;
  let misses = 0;

  function keep(key: string, matches: Matches, { limit, offset }: PageOf): void {
    // A page from far behind is asked for once.
    if (matches.has(FIRST_MATCH)) cache.set(key, { matches, limit, offset });
  }

  /**
   * A page of a kept result. One that is asked for again, with no other of the
   * result between, is kept as JSON: to put it together takes a sixth of the
   * time of its reply.
   */
  function pageOfEntry(key: string, entry: Entry, asked: PageOf): Found {
    const { matches, kept } = entry;
    const { limit, offset } = asked;
    if (kept !== undefined && kept.limit === limit && kept.offset === offset) return kept.page;
    const page = pageOf(matches, asked);
    if (entry.limit !== limit || entry.offset !== offset) {
      entry.limit = limit;
      entry.offset = offset;
      return page;
    }
    const keepText = (joined: string): void => {
      // A flat copy: a text that was joined of many takes half as much memory again.
      const text = Buffer.from(joined, "latin1").toString("latin1");
      const larger = { ...entry, kept: { limit, offset, page: { ...page, text } } };
      // The cache would throw out what has become too large for it.
      if (bytesOf(larger, key) <= maxBytes) cache.set(key, larger);
    };
    return { ...page, keepText };
  }

  function cached(find: FindMatches, prefix: string): FindPage {
    function search(key: string, term: string, page: PageOf): Found | Promise<Found> {
      misses++;
      const found = find(term, page);
      if (!(found instanceof Promise)) {
        if (maxBytes > 0) keep(key, found, page);
        return pageOf(found, page);
      }
      if (maxBytes === 0) return found.then((matches) => pageOf(matches, page));
      const settled = found
        .then((matches) => {
          keep(key, matches, page);
          return matches;
        })
        .finally(() => {
          if (underWay.get(key) === settled) underWay.delete(key);
        });
      underWay.set(key, settled);
      return settled.then((matches) => pageOf(matches, page));
    }

    function findPage(term: string, page: PageOf): Found | Promise<Found> {
      const key = prefix + term;
      const known = cache.get(key);
      if (known?.matches.has(page)) {
        hits++;
        return pageOfEntry(key, known, page);
      }
      const coming = underWay.get(key);
      if (coming === undefined) return search(key, term, page);
      joined++;
      // What came may be another page; of all who wait for this one the first asks for it.
      return coming.then((matches) => (matches.has(page) ? pageOf(matches, page) : findPage(term, page)));
    }
    return findPage;
  }

  return {
    users: cached(search.users, "u "),
    worlds: cached(search.worlds, "w "),
    counts: () => ({ hits, joined, misses, entries: cache.size, bytes: cache.calculatedSize }),
  };
}
