/** `serve --http node`: the conformance suite and hostile input over a server of node:http. */

import { describe, test } from "node:test";
import { assertPassesOn } from "../support/runtimes.ts";

/** The files, and how many tests each has at least. */
const FILES = { conformance: 35, http: 300, "http-answers": 45 };

describe("over node:http", { concurrency: 2 }, () => {
  for (const [name, atLeast] of Object.entries(FILES)) {
    test(name, () =>
      assertPassesOn({ path: process.execPath }, `test/${name}.test.ts`, {
        variables: { ORRERY_TEST_HTTP: "node" },
        atLeast,
      }),
    );
  }
});
