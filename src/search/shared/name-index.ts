/** Indexed names of users. */

import type { TrigramIndex } from "./trigrams.ts";

/** Indexed names. All of it lies in shared memory and can be handed to other threads. */
export interface NameIndex {
  readonly trigrams: TrigramIndex;
}
