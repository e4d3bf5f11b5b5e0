/** The similar search of one generation, on a thread or on the calling one, and the messages of its thread. */

import type { Observe } from "../observe/events.ts";
import type { SearchIndex } from "../search/search.ts";
import type { AskPage, SearchAnswer } from "../server/search/questions.ts";
import type { Store } from "../store/generation.ts";

/** The data of a thread of similar search. */
export interface SimilarTask {
  readonly store: Store;
  /** For the exact search, which gives the names at distance 0. */
  readonly index: SearchIndex;
  readonly cacheBytes: number;
}

/** The sources of the similar search of a generation. */
export interface SimilarOptions extends SimilarTask {
  /** Id of the generation that it serves: generations with the same names share a similar search. */
  readonly generation: () => string;
  readonly observe: Observe;
}

export interface SimilarEngine {
  readonly ask: AskPage;
  start(): void;
  /** Drops the index after the last answer. */
  retire(): void;
}

export const SIMILAR_THREAD = "similar/similar-thread";

/** Messages from the thread. */
export type FromSimilar =
  /** @param names number of distinct names */
  | { readonly kind: "ready"; readonly names: number }
  /** The names are too many for an index. */
  | { readonly kind: "refused"; readonly problem: string }
  | { readonly kind: "answers"; readonly answers: readonly SearchAnswer[] };
