/** Folders to stores with their searches: what a loader is, and the one that works on the calling thread. */

import { createSearch } from "../search/search.ts";
import { type Loaded, type LoadOptions, loadSnapshot, type Refused } from "../snapshot/load.ts";
import type { Search } from "../store/generation.ts";

/** A snapshot that can be served, its searches included. */
export interface LoadedSearchable extends Omit<Loaded, "texts"> {
  readonly search: Search;
  /** Milliseconds that indexing took. */
  readonly indexMs: number;
  /** Lets go of what the search holds, once its last answer is given. */
  readonly retire: () => void;
}

/** Loads a folder. Never rejects for what is wrong with a snapshot or the file system. */
export type Loader = (folder: string, options: LoadOptions) => Promise<LoadedSearchable | Refused>;

/** Loads and searches on the calling thread: for hosts without worker threads. */
export const loadHere: Loader = async (folder, options) => {
  const result = await loadSnapshot(folder, options);
  if (!result.ok) return result;
  // The texts are let go: they are worth their memory only until the index is made.
  const { texts, ...loaded } = result;
  const began = performance.now();
  const search = createSearch(loaded.store, texts);
  return { ...loaded, search, indexMs: performance.now() - began, retire: () => {} };
};
