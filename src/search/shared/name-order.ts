/**
 * The order of all names, by which worlds are ranked: those whose names begin
 * with a query are neighbours in it, and those whose names are the query come
 * first among them.
 */

import type { Texts } from "./texts.ts";

/** What found documents are ranked by. All of it lies in shared memory. */
export interface NameOrder {
  /** Names in their order, which is that of their code units. */
  readonly names: Texts;
  /** Documents in order of their names, those of the same name ascending. */
  readonly byName: Uint32Array;
  /** By document: its rank in that order. */
  readonly ranks: Uint32Array;
  /** What stands for each document in a result. */
  readonly rows: Uint32Array;
}
