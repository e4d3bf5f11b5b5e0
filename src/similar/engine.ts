/** The similar search of one generation, on a thread or on the calling one, and the messages of its thread. */

import type { Observe } from "../observe/events.ts";
import type { SearchIndex } from "../search/search.ts";
import type { AskPage, SearchAnswer } from "../server/search/questions.ts";
import type { Store } from "../store/generation.ts";

/** What its thread is started with. */
export interface SimilarTask {
  readonly store: Store;
  /** For what the exact search finds. */
  readonly index: SearchIndex;
  readonly cacheBytes: number;
}

/** What the similar search of a generation is made from. */
export interface SimilarOptions extends SimilarTask {
  /** Id of the generation that is served with it: generations with the same names share one. */
  readonly generation: () => string;
  readonly observe: Observe;
}

export interface SimilarEngine {
  readonly ask: AskPage;
  start(): void;
  /** Lets go of the index after the last answer. */
  retire(): void;
}

export const SIMILAR_THREAD = "similar/similar-thread";

/** From the thread. */
export type FromSimilar =
  /** @param names distinct ones */
  | { readonly kind: "ready"; readonly names: number }
  /** There is more than an index can hold. */
  | { readonly kind: "refused"; readonly problem: string }
  | { readonly kind: "answers"; readonly answers: readonly SearchAnswer[] };
