/** Recent search results, bounded in bytes. */

import { LRUCache } from "lru-cache";
import type { Found, FoundRows, PageOf, Search, WholeSearch } from "../store/generation.ts";

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

/** A search behind a cache. */
export interface CachedSearch extends Search {
  readonly counts: () => CacheCounts;
}

type Find = (term: string) => FoundRows;

function pageOf(rows: Uint32Array, { limit, offset }: PageOf): Found {
  const from = Math.min(offset, rows.length);
  return { total: rows.length, rows: rows.subarray(from, Math.min(from + limit, rows.length)) };
}

type FindPage = Search["users"];

function paged(find: Find): FindPage {
  return (term, page) => {
    const rows = find(term);
    return rows instanceof Promise ? rows.then((later) => pageOf(later, page)) : pageOf(rows, page);
  };
}

/**
 * Puts a cache in front of both searches. It remembers whole ranked results,
 * so that paging a query again costs a slice and never a second search.
 *
 * @param maxBytes memory for results; 0 keeps none
 */
export function withCache(search: WholeSearch, maxBytes: number): CachedSearch {
  const cache = new LRUCache<string, Uint32Array>({
    // The cache takes no bound of 0; with 1 byte nothing fits.
    maxSize: Math.max(maxBytes, 1),
    sizeCalculation: (rows, key) => rows.byteLength + key.length * 2 + ENTRY_BYTES,
  });
  /** Searches under way elsewhere: who asks the same meanwhile waits for the same answer. */
  const underWay = new Map<string, Promise<Uint32Array>>();
  let hits = 0;
  let joined = 0;
  let misses = 0;

  function cached(find: Find, prefix: string): Find {
    return (term) => {
      const key = prefix + term;
      const known = cache.get(key);
      if (known !== undefined) {
        hits++;
        return known;
      }
      const coming = underWay.get(key);
      if (coming !== undefined) {
        joined++;
        return coming;
      }
      misses++;
      const found = find(term);
      if (!(found instanceof Promise)) {
        cache.set(key, found);
        return found;
      }
      const settled = found
        .then((rows) => {
          cache.set(key, rows);
          return rows;
        })
        .finally(() => underWay.delete(key));
      underWay.set(key, settled);
      return settled;
    };
  }

  return {
    users: paged(cached((term) => search.users(term), "u ")),
    worlds: paged(cached((term) => search.worlds(term), "w ")),
    counts: () => ({ hits, joined, misses, entries: cache.size, bytes: cache.calculatedSize }),
  };
}
