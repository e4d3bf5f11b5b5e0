/** Indexed worlds: their words, and the order of their names. */

import type { NameOrder } from "./name-order.ts";
import type { WordIndex } from "./word-index.ts";

/** What is indexed of all worlds. All of it lies in shared memory and can be handed to other threads. */
export interface WorldIndex {
  readonly words: WordIndex;
  readonly nameOrder: NameOrder;
}
