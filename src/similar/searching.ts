/**
 * Similar search of each generation: its index is built in the background, in a
 * thread of its own or, where there are none, on the calling one in slices.
 * Until it is there nothing is found, which says that the exact search is to answer.
 */

import type { Observe } from "../observe/events.ts";
import type { CountSearch } from "../search/cache.ts";
import type { PendingSearches } from "../search/schedule/pending.ts";
import type { SearchIndex } from "../search/search.ts";
import type { SimilarSearch, Store } from "../store/generation.ts";
import { boundedSimilar, type SimilarEngine, type SimilarOptions } from "./engine.ts";
import { SimilarThread } from "./worker.ts";

/** The similar search of one generation, as it is served. */
export interface OpenSimilar {
  readonly search: SimilarSearch;
  /** Another generation with the same names is served with it. */
  readonly serveAs: (generation: string) => void;
  readonly retire: () => void;
}

/** Similar search of whatever is served. */
export interface SimilarSearching {
  /** For a new generation. It is indexed at once, but none before {@link begin} was called. */
  readonly open: (store: Store, index: SearchIndex) => OpenSimilar;
  /** To be called when the first generation is served: loading and listening go first. */
  readonly begin: () => void;
}

/**
 * Makes it.
 *
 * @param threads whether there are threads
 * @param cacheBytes memory for the results of a generation
 * @param pending bounds the searches that wait
 * @param count told of each search
 */
export async function createSimilarSearching(
  threads: boolean,
  cacheBytes: number,
  pending: PendingSearches,
  observe: Observe,
  count?: CountSearch,
): Promise<SimilarSearching> {
  // Imported when it is needed: with threads only they need what indexes.
  const openHere = threads ? undefined : (await import("./local-similar.ts")).openSimilarHere;
  let begin = (): void => {};
  const begun = new Promise<void>((resolve) => {
    begin = resolve;
  });
  return {
    open(store, index) {
      let generation = store.id;
      const options: SimilarOptions = { store, generation: () => generation, index, cacheBytes, observe };
      const engine: SimilarEngine = openHere?.(options) ?? new SimilarThread(options);
      void begun.then(() => engine.start());
      return {
        search: boundedSimilar(engine.ask, pending, count),
        serveAs(id) {
          generation = id;
        },
        retire: () => engine.retire(),
      };
    },
    begin,
  };
}
