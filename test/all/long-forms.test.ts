/** Suites of which `npm test` runs a part (`test/support/long.ts`), all of them. */

import { describe, test } from "node:test";
import { assertPassesOn, findNode } from "../support/runtimes.ts";

/** Its parser of heads is another one. */
const other = findNode(24);

/** The files, and how many tests each has at least. */
const FILES = {
  commands: 8,
  conformance: 101,
  generate: 38,
  head: 120,
  "http-splits": 60,
  "prepared-damage": 40,
  prepared: 8,
  property: 10,
  scan: 7,
  "search-turns": 3,
  search: 7,
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

  test("head, beside another node:http", { skip: "missing" in other && other.missing }, async () => {
    const variables = { ORRERY_TEST_LONG: "1" };
    await assertPassesOn(other, "test/head.test.ts", { variables, atLeast: FILES.head });
  });
});
