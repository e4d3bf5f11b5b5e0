/** Similar search on the calling thread: names are indexed and searched in slices. */

import { Scheduler } from "../search/schedule/scheduler.ts";
import { openSearch } from "../search/search.ts";
import { BUSY, type Found } from "../store/generation.ts";
import type { SimilarEngine, SimilarOptions } from "./engine.ts";
import { indexSimilar, keepSimilar, namesIn, openSimilar, type SimilarIndex } from "./similar.ts";

export function openSimilarHere(options: SimilarOptions): SimilarEngine {
  const { store, generation, index, cacheBytes, observe } = options;
  const scheduler = new Scheduler<Found>();
  let search: ReturnType<typeof keepSimilar> | undefined;
  let retired = false;

  async function build(): Promise<void> {
    const began = performance.now();
    const indexing = new Scheduler<SimilarIndex>();
    const made = await indexing.run(() => indexSimilar(store), { key: 0, isGone: () => retired });
    if (made === BUSY) return;
    search = keepSimilar(openSimilar(store, made, openSearch(index)), cacheBytes);
    const ms = Math.round(performance.now() - began);
    observe({ kind: "similar-ready", generation: generation(), names: namesIn(made), ms });
  }

  return {
    async ask(name, term, page, caller) {
      const find = search;
      return find && (await scheduler.run(() => find(name, term, page), caller));
    },
    start() {
      if (retired) return;
      build().catch((error: unknown) =>
        observe({ kind: "similar-failed", generation: generation(), problem: String(error) }),
      );
    },
    retire() {
      retired = true;
    },
  };
}
