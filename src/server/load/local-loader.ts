/** Loading and searching on the calling thread. */

import { type PendingSearches, UNBOUNDED } from "../../search/schedule/pending.ts";
import { indexStore, openSearch } from "../../search/search.ts";
import { loadSnapshot } from "../../snapshot/load.ts";
import { createInlineSearch, createSlicedSearch } from "../search/inline-search.ts";
import { indexLoaded } from "./index-loaded.ts";
import type { Loader } from "./loader.ts";

/**
 * Makes a loader that loads and searches on the calling thread: for hosts without worker threads.
 *
 * @param cacheBytes memory for search results
 * @param pending bounds the searches that wait
 */
export function createLocalLoader(cacheBytes: number, pending: PendingSearches = UNBOUNDED): Loader {
  return async (folder, options) => {
    const result = await loadSnapshot(folder, options);
    if (!result.ok) return result;
    const { store } = result;
    const indexed = await indexLoaded(folder, result, () => indexStore(store, options.before));
    if ("problems" in indexed) return indexed;
    const searches = openSearch(indexed.index);
    const search = createInlineSearch(searches, createSlicedSearch(searches), pending);
    return { ...result, ...indexed, search, cacheBytes, retire: () => {} };
  };
}
