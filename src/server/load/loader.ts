/** Loaders make stores and indexes from folders: their types, and the one that loads on the calling thread. */

import type { SearchIndex } from "../../search/search.ts";
import { loadSnapshot } from "../../snapshot/load.ts";
import {
  type Loaded,
  type LoadOptions,
  type Previous,
  type Refused,
  refusedFor,
} from "../../snapshot/loaded.ts";
import { indexReusing } from "../../snapshot/reuse.ts";
import { LimitError } from "../../store/limits.ts";

/** The parts of the served generation that the next load can use again. All can be sent to other threads. */
export type Serving = Previous & { readonly index: SearchIndex };

export interface LoaderOptions extends LoadOptions {
  readonly previous?: Serving | undefined;
}

export interface LoadedSearchable extends Loaded {
  readonly index: SearchIndex;
  readonly indexMs: number;
}

/** Loads a folder. Never rejects for faults of a snapshot or the file system. */
export type Loader = (folder: string, options: LoaderOptions) => Promise<LoadedSearchable | Refused>;

/** Events of loads that are too minor for the log. */
export interface SnapshotEvents {
  readonly began: () => void;
  readonly ended: () => void;
  /** The served snapshot is the current one: so it was `ageMs` ago. `createdAt` is the time of the data, from the manifest. */
  readonly confirmed: (ageMs: number, createdAt?: string | undefined) => void;
}

/** Indexes a loaded store, unless its index was loaded, too. Refuses a store that is too large for an index. */
export async function indexLoaded<L extends Pick<Loaded, "fingerprint" | "index">>(
  folder: string,
  loaded: L,
  makeIndex: () => SearchIndex | Promise<SearchIndex>,
): Promise<(L & Pick<LoadedSearchable, "index" | "indexMs">) | Refused> {
  const { fingerprint, index } = loaded;
  if (index !== undefined) return { ...loaded, index, indexMs: 0 };
  const began = performance.now();
  try {
    return { ...loaded, index: await makeIndex(), indexMs: performance.now() - began };
  } catch (error) {
    // A lack of memory may pass; other limits stay.
    if (!(error instanceof RangeError)) throw error;
    const problem = `${folder}: cannot be indexed for search: ${error.message}`;
    if (error instanceof LimitError) return { ok: false, problems: [problem], fingerprint };
    return refusedFor(problem, { died: true });
  }
}

/** Loads on the calling thread: for hosts without worker threads, and for small first snapshots. */
export const loadHere: Loader = async (folder, options) => {
  const result = await loadSnapshot(folder, options);
  if (!result.ok) return result;
  return await indexLoaded(folder, result, () => indexReusing(result, options.previous?.index));
};
