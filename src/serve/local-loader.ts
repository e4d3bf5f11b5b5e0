/** Loading and searching on the calling thread. */

import type { PendingSearches } from "../search/pending.ts";
import { indexStore, openSearch } from "../search/search.ts";
import { loadSnapshot } from "../snapshot/load.ts";
import type { Loader } from "./loader.ts";
import { createNearSearch, createSlicedSearch } from "./near-search.ts";

/**
 * Makes a loader that loads and searches on the calling thread: for hosts without worker threads.
 *
 * @param cacheBytes memory for search results
 * @param pending bounds the searches that wait
 */
export function createLocalLoader(cacheBytes: number, pending: PendingSearches): Loader {
  return async (folder, options) => {
    const result = await loadSnapshot(folder, options);
    if (!result.ok) return result;
    const began = performance.now();
    const index = indexStore(result.store);
    const indexMs = performance.now() - began;
    const searches = openSearch(index);
    const search = createNearSearch(searches, createSlicedSearch(searches), pending);
    return { ...result, index, search, cacheBytes, indexMs, retire: () => {} };
  };
}
