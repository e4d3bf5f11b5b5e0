/** Opening what searches need: who loads and indexes, the bound of those that wait, and where they are counted. */

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
import type { Features } from "./features.ts";
import { createFirstLoader } from "./load/first-loader.ts";
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
