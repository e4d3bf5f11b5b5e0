/** Both searches of one generation, behind a cache of ranked results. */

import { LRUCache } from "lru-cache";
import type { Search, Store } from "../store/generation.ts";
import { indexUsers, searchUsers } from "./users.ts";
import { indexWorlds, searchWorlds } from "./worlds.ts";

/** Bytes that an entry costs beside its rows and its text; measured roughly. */
const ENTRY_BYTES = 200;

type Find = (term: string) => Uint32Array;

/** Remembers whole ranked results, so that paging a query again costs a slice. */
function cached(find: Find, cache: LRUCache<string, Uint32Array> | undefined, prefix: string): Find {
  if (cache === undefined) return find;
  return (term) => {
    const key = prefix + term;
    const known = cache.get(key);
    if (known !== undefined) return known;
    const rows = find(term);
    cache.set(key, rows);
    return rows;
  };
}

/**
 * Indexes a store for both searches.
 *
 * @param cacheBytes memory for recent results; 0 keeps none
 */
export function createSearch(store: Store, cacheBytes: number): Search {
  const users = indexUsers(store.users);
  const worlds = indexWorlds(store.worlds, store.popular.all);
  const cache =
    cacheBytes === 0
      ? undefined
      : new LRUCache<string, Uint32Array>({
          maxSize: cacheBytes,
          sizeCalculation: (rows, key) => rows.byteLength + key.length * 2 + ENTRY_BYTES,
        });
  return {
    users: cached((term) => searchUsers(users, term), cache, "u "),
    worlds: cached((term) => searchWorlds(worlds, term), cache, "w "),
  };
}
