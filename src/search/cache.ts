/** Recent search results, bounded in bytes. */

import { LRUCache } from "lru-cache";
import type { Found, PageOf, Search, WholeSearch } from "../store/generation.ts";

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

type FindPage = Search["users"];

/** A result, or as many of its rows as are kept. */
interface Entry {
  readonly total: number;
  readonly rows: Uint32Array;
  /** The page that was asked for last. */
  limit: number;
  offset: number;
  /** A page that is kept as JSON. */
  readonly kept?: PageOf & { readonly page: Found & { readonly text: string } };
}

function pageOf(rows: Uint32Array, total: number, { limit, offset }: PageOf): Found {
  const from = Math.min(offset, rows.length);
  return { total, rows: rows.subarray(from, Math.min(from + limit, rows.length)) };
}

/** Bytes of an entry; JSON is a one-byte text. */
function bytesOf({ rows, kept }: Entry, key: string): number {
  return rows.byteLength + (kept?.page.text.length ?? 0) + key.length * 2 + ENTRY_BYTES;
}

/** Pages of whole results. */
export function withPages(search: WholeSearch): Search {
  const paged =
    (find: WholeSearch["users"]): FindPage =>
    (term, page) => {
      const rows = find(term);
      if (!(rows instanceof Promise)) return pageOf(rows, rows.length, page);
      return rows.then((later) => pageOf(later, later.length, page));
    };
  return { users: paged((term) => search.users(term)), worlds: paged((term) => search.worlds(term)) };
}

/**
 * Puts a cache in front of both searches: paging a query again costs a slice.
 *
 * @param maxBytes memory for results; 0 keeps none
 * @param window how many rows of each result are kept. Where the search is in another thread, which has a cache of its
 *   own, a few are enough: to be sent whole results, a megabyte now and then, makes a thread collect garbage all the
 *   time. Pages behind the window are asked for one by one.
 */
export function withCache(search: Search, maxBytes: number, window = Number.POSITIVE_INFINITY): CachedSearch {
  const cache = new LRUCache<string, Entry>({
    // The cache takes no bound of 0; with 1 byte nothing fits.
    maxSize: Math.max(maxBytes, 1),
    sizeCalculation: bytesOf,
  });
  /** Searches under way elsewhere: who asks the same meanwhile waits for the same answer. */
  const underWay = new Map<string, Promise<Found>>();
  const head: PageOf = { limit: window, offset: 0 };
  let hits = 0;
  let joined = 0;
  let misses = 0;

  function keep(key: string, { total, rows }: Found, { limit, offset }: PageOf): void {
    cache.set(key, { total, rows, limit, offset });
  }

  /**
   * A page of a kept result. One that is asked for again, with no other of the
   * result between, is kept as JSON: to put it together takes a sixth of the
   * time of its reply.
   */
  function pageOfEntry(key: string, entry: Entry, asked: PageOf): Found {
    const { rows, total, kept } = entry;
    const { limit, offset } = asked;
    if (kept !== undefined && kept.limit === limit && kept.offset === offset) return kept.page;
    if (entry.limit !== limit || entry.offset !== offset) {
      entry.limit = limit;
      entry.offset = offset;
      return pageOf(rows, total, asked);
    }
    const page = pageOf(rows, total, asked);
    const keepText = (joined: string): void => {
      // A flat copy: a text that was joined of many takes half as much memory again.
      const text = Buffer.from(joined, "latin1").toString("latin1");
      const larger = { ...entry, kept: { limit, offset, page: { ...page, text } } };
      // The cache would throw out what has become too large for it.
      if (bytesOf(larger, key) <= maxBytes) cache.set(key, larger);
    };
    return { ...page, keepText };
  }

  function cached(find: FindPage, prefix: string): FindPage {
    return (term, page) => {
      const key = prefix + term;
      const known = cache.get(key);
      if (known !== undefined && (known.rows.length === known.total || page.offset + page.limit <= window)) {
        hits++;
        return pageOfEntry(key, known, page);
      }
      if (maxBytes === 0 || page.offset + page.limit > window) {
        misses++;
        return find(term, page);
      }
      const coming = underWay.get(key);
      if (coming !== undefined) {
        joined++;
        return coming.then(({ rows, total }) => pageOf(rows, total, page));
      }
      misses++;
      const found = find(term, head);
      if (!(found instanceof Promise)) {
        keep(key, found, page);
        return pageOf(found.rows, found.total, page);
      }
      const settled = found
        .then((later) => {
          keep(key, later, page);
          return later;
        })
        .finally(() => underWay.delete(key));
      underWay.set(key, settled);
      return settled.then(({ rows, total }) => pageOf(rows, total, page));
    };
  }

  return {
    users: cached((term, page) => search.users(term, page), "u "),
    worlds: cached((term, page) => search.worlds(term, page), "w "),
    counts: () => ({ hits, joined, misses, entries: cache.size, bytes: cache.calculatedSize }),
  };
}
