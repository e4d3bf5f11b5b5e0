/** The settings of similar search. */

import { SERVING, type Setting } from "../settings/settings.ts";

/** Their rows. */
export const SIMILAR_SETTINGS = [
  {
    flag: "similar",
    after: "max-pending-searches",
    kind: "flag",
    meaning:
      "Answer searches with `match=similar` by names that may be misspelt. Takes memory and a thread that indexes " +
      "all names after every load.",
    commands: SERVING,
  },
] as const satisfies readonly Setting[];
