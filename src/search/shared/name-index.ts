/** Indexed names of users: their trigrams, and the best results of frequent n-grams. */

import type { TopTable } from "./top-table.ts";
import type { TrigramIndex } from "./trigrams.ts";

/** Indexed names. All of it lies in shared memory and can be handed to other threads. */
export interface NameIndex {
  readonly trigrams: TrigramIndex;
  readonly topTable: TopTable;
}
