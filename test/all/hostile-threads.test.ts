/** The tests on the wire, all of them once more, over servers of two threads. */

import { describe, test } from "node:test";
import { assertPassesOn, findNode } from "../support/runtimes.ts";

const node = findNode(24);

/** The files, and how many tests each has at least. */
const FILES = { http: 430, "http-answers": 45, "http-connections": 35, "all/http-stop": 6 };

// Two at once: they wait for the most part.
describe("hostile input over two serving threads", {
  skip: "missing" in node && node.missing,
  concurrency: 2,
}, () => {
  for (const [name, atLeast] of Object.entries(FILES)) {
    test(name, async () => {
      const variables = { ORRERY_TEST_SERVING_THREADS: "2" };
      await assertPassesOn(node, `test/${name}.test.ts`, { variables, atLeast });
    });
  }
});
