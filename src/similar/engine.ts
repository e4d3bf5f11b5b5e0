/** The similar search of one generation: what it is, wherever it is done, and what its thread says. */

import type { Observe } from "../observe/events.ts";
import type { SearchIndex } from "../search/search.ts";
import type { SearchAnswer } from "../server/search/search-messages.ts";
import type { AskSimilar } from "../server/search/similar.ts";
import type { Store } from "../store/generation.ts";

/** What the similar search of a generation is made from. */
export interface SimilarOptions {
  readonly store: Store;
  /** Id of what is served with it: generations with the same names share one. */
  readonly generation: () => string;
  /** What the exact search runs over. */
  readonly index: SearchIndex;
  /** Memory for results. */
  readonly cacheBytes: number;
  readonly observe: Observe;
}

/** The similar search of one generation, wherever it is done. */
export interface SimilarEngine {
  readonly ask: AskSimilar;
  /** Begins to index. */
  start(): void;
  /** Lets go of the index, behind the last answer. */
  retire(): void;
}

/** What the thread is started with. */
export interface SimilarTask {
  readonly store: Store;
  /** What the exact search runs over. */
  readonly index: SearchIndex;
  /** Memory for results. */
  readonly cacheBytes: number;
}

/** Where the thread begins. */
export const SIMILAR_THREAD = "similar/similar-thread";

/** From the thread. */
export type FromSimilar =
  /** @param names distinct ones */
  | { readonly kind: "ready"; readonly names: number }
  /** There is more than an index can hold. */
  | { readonly kind: "refused"; readonly problem: string }
  | { readonly kind: "answers"; readonly answers: readonly SearchAnswer[] };
