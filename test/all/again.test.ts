/** Files of `npm test` once more: in their long form, over node:http, and over two serving threads. */

import { describe, test } from "node:test";
import { assertPassesOn, type FoundNode, findNode, lacking } from "../support/runtimes.ts";

const here: FoundNode = { path: process.execPath };
/** It has another parser of heads, and its threads can share a port. */
const other = findNode(24);

const LONG_FORMS =
  "changing commands conformance generate head http-splits prepared-damage prepared property scan search " +
  "shared-limits snapshot-rows threads";

/** How and where files run, and the minimum number of tests in each. */
const AGAIN: readonly {
  readonly how: string;
  readonly node: FoundNode;
  readonly variables: Readonly<Record<string, string>>;
  readonly files: Readonly<Record<string, number>>;
}[] = [
  {
    how: "in the long form (test/support/long.ts)",
    node: here,
    variables: { ORRERY_TEST_LONG: "1" },
    files: Object.fromEntries(LONG_FORMS.split(" ").map((name) => [name, 3])),
  },
  {
    how: "in the long form, beside another node:http",
    node: other,
    variables: { ORRERY_TEST_LONG: "1" },
    files: { head: 54 },
  },
  {
    how: "over node:http",
    node: here,
    variables: { ORRERY_TEST_HTTP: "node" },
    files: { conformance: 30, http: 100 },
  },
  {
    how: "over two serving threads",
    node: other,
    variables: { ORRERY_TEST_SERVING_THREADS: "2" },
    files: { http: 260, "all/http-connections": 17, "all/http-stop": 4 },
  },
];

// Two at once: tests on the wire mostly wait.
describe("again", { concurrency: 2 }, () => {
  for (const { how, node, variables, files } of AGAIN)
    for (const [name, atLeast] of Object.entries(files))
      test(`${name} ${how}`, { skip: lacking(node) }, () =>
        assertPassesOn(node, `test/${name}.test.ts`, { variables, atLeast }),
      );
});
