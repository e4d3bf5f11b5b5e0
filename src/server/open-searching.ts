/** Opening what searches need: who loads and indexes, the bound of waiting searches, and where searches are counted. */

import { stat } from "node:fs/promises";
import { join } from "node:path";
import { ROW_FILES } from "../model/model.ts";
import type { Observe } from "../observe/events.ts";
import {
  countersOf,
  type RequestCells,
  type RequestCounters,
  searchCounter,
} from "../observe/metrics/counters.ts";
import type { CountSearch } from "../observe/metrics/layout.ts";
import { createPendingSearches, type PendingSearches, UNBOUNDED } from "../search/schedule/pending.ts";
import type { Settings } from "../settings/settings.ts";
import { PREPARED } from "../snapshot/files.ts";
import type { Features } from "./features.ts";
import type { Loader } from "./load/loader.ts";
import { createThreadedLoader } from "./load/threaded-loader.ts";
import type { SimilarSearching } from "./search/similar.ts";

/** What is asked for. */
export interface SearchingOptions {
  readonly settings: Settings;
  readonly features: Features;
  /** Whether snapshots are loaded and searched in threads of their own; true when absent. */
  readonly threads?: boolean;
  /** Whether a small first snapshot is loaded and searched on the calling thread for all that; false when absent. */
  readonly startsHere?: boolean;
  /** Whether short searches are done on the calling thread, not asked for by others as long ones; true when absent. */
  readonly searchesHere?: boolean;
  /** Where requests are counted; nothing is when absent. Threads that serve count for themselves. */
  readonly requestCells?: RequestCells | undefined;
  readonly observe: Observe;
}

/** What a state is given of them. */
export interface Searching {
  readonly pending: PendingSearches;
  /** Where this thread counts requests; undefined where others serve, or nobody asks for metrics. */
  readonly requestCounters: RequestCounters | undefined;
  readonly countSearch: CountSearch | undefined;
  readonly similar: SimilarSearching | undefined;
  readonly load: Loader;
}

/** Most bytes of row files, together, that are small: some 20,000 users. Their longest searches take a few milliseconds. */
const MOST_BYTES = 8 * 1_048_576;
/** As many rows, prepared. */
const MOST_PREPARED_BYTES = 3 * MOST_BYTES;

/** Bytes of files in a folder together; NaN when one cannot be looked at. */
async function bytesOf(folder: string, names: readonly string[]): Promise<number> {
  const sizes = names.map(async (name) => (await stat(join(folder, name))).size);
  return (await Promise.all(sizes).catch(() => [Number.NaN])).reduce((bytes, size) => bytes + size, 0);
}

/** Whether a folder holds few rows. How many are in a compressed file is not known; to say what is wrong is the load's matter. */
async function isSmall(folder: string): Promise<boolean> {
  return (
    (await bytesOf(folder, ROW_FILES)) <= MOST_BYTES ||
    (await bytesOf(folder, [PREPARED])) <= MOST_PREPARED_BYTES
  );
}

/**
 * Makes a loader whose first load, if it is small, is done on the serving thread, and its long searches, too: nobody is
 * served yet, and to start a thread and its own copy of the program takes longer, and more memory, than there is to do.
 *
 * @param elsewhere does all others: later ones must not hold up requests
 * @param importHere gives the one for the calling thread
 */
export function createFirstLoader(elsewhere: Loader, importHere: () => Promise<Loader>): Loader {
  let isFirst = true;
  return async (folder, options) => {
    const isHere = isFirst && (await isSmall(folder));
    isFirst = false;
    return (isHere ? await importHere() : elsewhere)(folder, options);
  };
}

async function chooseLoader(
  options: SearchingOptions,
  searchCacheBytes: number,
  pending: PendingSearches,
): Promise<Loader> {
  const { observe, searchesHere = true } = options;
  // Imported when it is needed: what loads and indexes is half of all code, and mostly threads alone need it.
  const importLocal = async (): Promise<Loader> =>
    (await import("./load/local-loader.ts")).createLocalLoader(searchCacheBytes, pending);
  if (options.threads === false) return await importLocal();
  const threaded = createThreadedLoader(observe, searchCacheBytes, searchesHere, pending);
  return options.startsHere ? createFirstLoader(threaded, importLocal) : threaded;
}

/** Opens them. */
export async function openSearching(options: SearchingOptions): Promise<Searching> {
  const { settings, threads = true, observe } = options;
  const { searchCacheBytes, maxPendingSearches } = settings;
  // Threads that ask for long searches keep the bound, and count what became of searches, themselves.
  const isServing = options.searchesHere !== false;
  const pending = isServing ? createPendingSearches(maxPendingSearches) : UNBOUNDED;
  const requestCounters = isServing && options.requestCells ? countersOf(options.requestCells, 0) : undefined;
  const countSearch = requestCounters && searchCounter(requestCounters);
  const given = { threads, cacheBytes: searchCacheBytes, pending, observe, count: countSearch };
  const similar = await options.features.openSimilar?.(settings, given);
  const load = await chooseLoader(options, searchCacheBytes - (similar?.cacheBytes ?? 0), pending);
  return { pending, requestCounters, countSearch, similar, load };
}
