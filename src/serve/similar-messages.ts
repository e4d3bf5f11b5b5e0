/** What the main thread and a generation's thread for similar names say to each other; questions are as for any search. */

import type { SearchIndex } from "../search/search.ts";
import type { Store } from "../store/generation.ts";
import type { SearchAnswer } from "./thread-messages.ts";

/** What the thread is started with. */
export interface SimilarTask {
  readonly store: Store;
  /** What the exact search runs over. */
  readonly index: SearchIndex;
  /** Memory for results. */
  readonly cacheBytes: number;
}

/** From the thread. */
export type FromSimilar =
  /** @param names distinct ones */
  | { readonly kind: "ready"; readonly names: number }
  /** There is more than an index can hold. */
  | { readonly kind: "refused"; readonly problem: string }
  | { readonly kind: "answers"; readonly answers: readonly SearchAnswer[] };
