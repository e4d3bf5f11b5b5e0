/** The tests on the wire, all of them once more, over servers of two threads. */

import { test } from "node:test";
import { assertPassesOn, findNode } from "../support/runtimes.ts";

const node = findNode(24);

test("hostile input over two serving threads", { skip: "missing" in node && node.missing }, () => {
  assertPassesOn(node, "test/http.test.ts", {
    variables: { ORRERY_TEST_SERVING_THREADS: "2" },
    atLeast: 500,
  });
});
