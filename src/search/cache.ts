/** Recent search results, bounded in bytes. */

import { LRUCache } from "lru-cache";
import type { FoundRows, Search } from "../store/generation.ts";

/** Bytes that an entry costs beside its rows and its text; measured roughly. */
const ENTRY_BYTES = 200;

type Find = (term: string) => FoundRows;

/** Remembers whole ranked results, so that paging a query again costs a slice and never a second search. */
function cached(find: Find, cache: LRUCache<string, Uint32Array>, prefix: string): Find {
  /** Searches under way elsewhere: who asks the same meanwhile waits for the same answer. */
  const underWay = new Map<string, Promise<Uint32Array>>();
  return (term) => {
    const key = prefix + term;
    const known = cache.get(key) ?? underWay.get(key);
    if (known !== undefined) return known;
    const found = find(term);
    if (!(found instanceof Promise)) {
      cache.set(key, found);
      return found;
    }
    underWay.set(key, found);
    return found
      .then((rows) => {
        cache.set(key, rows);
        return rows;
      })
      .finally(() => underWay.delete(key));
  };
}

/**
 * Puts a cache in front of both searches.
 *
 * @param bytes memory for results; 0 keeps none
 */
export function withCache(search: Search, bytes: number): Search {
  if (bytes === 0) return search;
  const cache = new LRUCache<string, Uint32Array>({
    maxSize: bytes,
    sizeCalculation: (rows, key) => rows.byteLength + key.length * 2 + ENTRY_BYTES,
  });
  return {
    users: cached((term) => search.users(term), cache, "u "),
    worlds: cached((term) => search.worlds(term), cache, "w "),
  };
}
