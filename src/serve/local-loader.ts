/** Loading and searching on the calling thread. */

import { createSearch } from "../search/search.ts";
import { runInSlices } from "../search/slices.ts";
import { loadSnapshot } from "../snapshot/load.ts";
import type { WholeSearch } from "../store/generation.ts";
import type { Loader } from "./loader.ts";

/** Loads and searches on the calling thread: for hosts without worker threads. */
export const loadHere: Loader = async (folder, options) => {
  const result = await loadSnapshot(folder, options);
  if (!result.ok) return result;
  const began = performance.now();
  const searches = createSearch(result.store);
  const search: WholeSearch = {
    users: (term) => runInSlices(searches.users(term)),
    worlds: (term) => runInSlices(searches.worlds(term)),
  };
  return { ...result, search, indexMs: performance.now() - began, retire: () => {} };
};
