/** Opening what searches need: who loads and indexes, the bound of those that wait, and where they are counted. */

import {
  countersOf,
  type RequestCells,
  type RequestCounters,
  searchCounter,
} from "../../metrics/counters.ts";
import type { Observe } from "../../observe.ts";
import type { CountSearch } from "../../search/cache.ts";
import { createPendingSearches, type PendingSearches, UNBOUNDED } from "../../search/schedule/pending.ts";
import { defaultOf } from "../../settings.ts";
import { createFirstLoader } from "../load/first-loader.ts";
import type { Loader } from "../load/loader.ts";
import { createThreadedLoader } from "../load/threaded-loader.ts";
import type { SimilarSearching } from "../search/similar.ts";

/** Searches that may wait where nothing else is said. */
export const MAX_PENDING_SEARCHES = Number(defaultOf("max-pending-searches"));

/** Of the memory for results the share of searches for similar names, where there are any. */
const SIMILAR_SHARE = 1 / 4;

/** What is asked for; see `OpenStateOptions`. */
export interface SearchingOptions {
  readonly searchCacheBytes: number;
  readonly maxPendingSearches?: number;
  readonly similar?: boolean;
  readonly threads?: boolean;
  readonly startsHere?: boolean;
  readonly searchesHere?: boolean;
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
    (await import("../load/local-loader.ts")).createLocalLoader(searchCacheBytes, pending);
  if (options.threads === false) return await importLocal();
  const threaded = createThreadedLoader(observe, searchCacheBytes, searchesHere, pending);
  return options.startsHere ? createFirstLoader(threaded, importLocal) : threaded;
}

/** Opens them. */
export async function openSearching(options: SearchingOptions): Promise<Searching> {
  // Threads that ask for long searches keep the bound, and count what became of searches, themselves.
  const isServing = options.searchesHere !== false;
  const pending = isServing
    ? createPendingSearches(options.maxPendingSearches ?? MAX_PENDING_SEARCHES)
    : UNBOUNDED;
  const requestCounters = isServing && options.requestCells ? countersOf(options.requestCells, 0) : undefined;
  const countSearch = requestCounters && searchCounter(requestCounters);
  const similarBytes = options.similar ? Math.floor(options.searchCacheBytes * SIMILAR_SHARE) : 0;
  // Imported when it is needed, as what loads.
  const similar = options.similar
    ? await (await import("../search/similar.ts")).createSimilarSearching(
        options.threads ?? true,
        similarBytes,
        pending,
        options.observe,
        countSearch,
      )
    : undefined;
  const load = await chooseLoader(options, options.searchCacheBytes - similarBytes, pending);
  return { pending, requestCounters, countSearch, similar, load };
}
