/** Loading and searching on the calling thread. */

import { withPages } from "../search/cache.ts";
import { createSearch } from "../search/search.ts";
import { runInSlices } from "../search/slices.ts";
import { loadSnapshot } from "../snapshot/load.ts";
import type { Loader } from "./loader.ts";

/**
 * Makes a loader that loads and searches on the calling thread: for hosts without worker threads.
 *
 * @param cacheBytes memory for search results
 */
export function createLocalLoader(cacheBytes: number): Loader {
  return async (folder, options) => {
    const result = await loadSnapshot(folder, options);
    if (!result.ok) return result;
    const began = performance.now();
    const searches = createSearch(result.store);
    const indexMs = performance.now() - began;
    const search = withPages({
      users: (term) => runInSlices(searches.users(term)),
      worlds: (term) => runInSlices(searches.worlds(term)),
    });
    const cache = { bytes: cacheBytes, window: Number.POSITIVE_INFINITY };
    return { ...result, search, cache, indexMs, retire: () => {} };
  };
}
