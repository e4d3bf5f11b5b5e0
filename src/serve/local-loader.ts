/** Loading and searching on the calling thread. */

import { indexStore, openSearch } from "../search/search.ts";
import { runInSlices } from "../search/slices.ts";
import { loadSnapshot } from "../snapshot/load.ts";
import type { PageOf } from "../store/generation.ts";
import { indexLoaded } from "./index-loaded.ts";
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
    const indexed = await indexLoaded(folder, result, () => indexStore(result.store));
    if ("problems" in indexed) return indexed;
    const searches = openSearch(indexed.index);
    const search = {
      users: (term: string, page: PageOf) => runInSlices(searches.users(term, page)),
      worlds: (term: string, page: PageOf) => runInSlices(searches.worlds(term, page)),
    };
    return { ...result, ...indexed, search, cacheBytes, retire: () => {} };
  };
}
