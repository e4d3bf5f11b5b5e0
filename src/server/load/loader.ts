/** Folders to stores with their searches: what a loader is, and who is told of loads. */

import type { UncachedSearch } from "../../search/cache.ts";
import type { Indexed, SearchIndex } from "../../search/search.ts";
import type { Before, Loaded, LoadOptions, Refused } from "../../snapshot/load.ts";

/** What is being served, as far as the next load can use it again. All of it can be handed to other threads. */
export type Serving = Before & Indexed;

/** How to load. */
export interface LoaderOptions extends LoadOptions {
  readonly before?: Serving;
}

/** A snapshot that can be served, its searches included. */
export interface LoadedSearchable extends Loaded {
  readonly search: UncachedSearch;
  /** For other threads that search. */
  readonly index: SearchIndex;
  /** What a cache in front of the search may take. */
  readonly cacheBytes: number;
  /** Milliseconds that indexing took. */
  readonly indexMs: number;
  /** Lets go of what the search holds, once its last answer is given. */
  readonly retire: () => void;
}

/** Loads a folder. Never rejects for what is wrong with a snapshot or the file system. */
export type Loader = (folder: string, options: LoaderOptions) => Promise<LoadedSearchable | Refused>;

/** Told of events that are not worth a line in a log. */
export interface SnapshotEvents {
  /** A load begins. */
  readonly began: () => void;
  /** It is over. */
  readonly ended: () => void;
  /**
   * What is served is what there is.
   *
   * @param ageMs how long ago that was so, in milliseconds
   * @param createdAt the moment of the data, as the manifest tells it
   */
  readonly confirmed: (ageMs: number, createdAt?: string | undefined) => void;
}
