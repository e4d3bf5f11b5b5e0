/** The settings of similar search. */

import { SERVING, type Setting } from "../settings/settings.ts";

/** @internal Their rows. */
export const SIMILAR_SETTINGS = [
  {
    flag: "similar",
    isOption: true,
    after: "max-pending-searches",
    kind: "flag",
    meaning:
      "Answer searches with `match=similar` by names that may be misspelt. Takes memory and a thread that indexes " +
      "all names after every load.",
    commands: SERVING,
  },
] as const satisfies readonly Setting[];

/** Options of the library for similar search. */
export interface SimilarOption {
  /**
   * Answer searches with `match=similar` by names that may be misspelt; they are indexed in the background after every
   * load. False when absent.
   */
  readonly similar?: boolean;
}
