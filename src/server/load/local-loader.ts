/** Loading and searching on the calling thread; indexing what was loaded, on any thread. */

import { type PendingSearches, UNBOUNDED } from "../../search/schedule/pending.ts";
import { indexStore, openSearch, type SearchIndex } from "../../search/search.ts";
import { type Loaded, loadSnapshot, type Refused } from "../../snapshot/load.ts";
import { LimitError } from "../../store/limits.ts";
import { createInlineSearch, createSlicedSearch } from "../search/inline-search.ts";
import type { Loader } from "./loader.ts";

/** An index and the milliseconds it took. */
interface Indexed {
  readonly index: SearchIndex;
  readonly indexMs: number;
}

/**
 * Indexes what was loaded, unless its index was loaded, too. What is too large to be indexed is refused like what
 * cannot be read.
 */
export async function indexLoaded(
  folder: string,
  { fingerprint, index }: Pick<Loaded, "fingerprint" | "index">,
  makeIndex: () => SearchIndex | Promise<SearchIndex>,
): Promise<Indexed | Refused> {
  if (index !== undefined) return { index, indexMs: 0 };
  const began = performance.now();
  try {
    return { index: await makeIndex(), indexMs: performance.now() - began };
  } catch (error) {
    // Memory that is not there now may be there later; other limits stay.
    if (!(error instanceof RangeError)) throw error;
    const problems = [`${folder}: cannot be indexed for search: ${error.message}`];
    if (error instanceof LimitError) return { ok: false, problems, fingerprint };
    return { ok: false, problems, fingerprint: undefined, died: true };
  }
}

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
