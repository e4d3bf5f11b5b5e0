/** Suites of which `npm test` runs a part (`test/support/long.ts`), all of them. */

import { describe, test } from "node:test";
import { assertPassesOn } from "../support/runtimes.ts";

/** The files, and how many tests each has at least. */
const FILES = {
  commands: 8,
  conformance: 101,
  generate: 38,
  "prepared-damage": 40,
  prepared: 8,
  property: 10,
  scan: 7,
  "search-turns": 3,
  search: 8,
  "shared-limits": 7,
  "snapshot-rows": 56,
  threads: 6,
};

describe("the long forms", () => {
  for (const [name, atLeast] of Object.entries(FILES)) {
    test(name, async () => {
      const variables = { ORRERY_TEST_LONG: "1" };
      await assertPassesOn({ path: process.execPath }, `test/${name}.test.ts`, { variables, atLeast });
    });
  }
});
