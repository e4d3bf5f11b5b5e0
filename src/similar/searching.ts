/**
 * Similar search of each generation: its index is built in the background, in a
 * thread of its own or, where there are none, on the calling one in slices.
 * Until it is there nothing is found, which says that the exact search is to answer.
 */

import { boundedSimilar, type SimilarGiven, type SimilarSearching } from "../server/search/similar.ts";
import type { SimilarEngine, SimilarOptions } from "./engine.ts";
import { SimilarThread } from "./worker.ts";

/** Of the memory for results the share of searches for similar names. */
const SHARE = 1 / 4;

/** Makes it. */
export async function createSimilarSearching(given: SimilarGiven): Promise<SimilarSearching> {
  const { threads, pending, observe, count } = given;
  const cacheBytes = Math.floor(given.cacheBytes * SHARE);
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
    cacheBytes,
  };
}
