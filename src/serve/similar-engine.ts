/** What a similar search of one generation is made from, and does, in a thread or without one. */

import type { Observe } from "../observe.ts";
import type { SearchIndex } from "../search/search.ts";
import type { Store } from "../store/generation.ts";
import type { AskSimilar } from "./bounded-similar.ts";

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
