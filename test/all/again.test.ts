/** Files of `npm test` once more: in their long form, over node:http, and over two serving threads. */

import { describe, test } from "node:test";
import { assertPassesOn, type FoundNode, findNode, lacking } from "../support/runtimes.ts";

const here: FoundNode = { path: process.execPath };
/** It has another parser of heads, and its threads can share a port. */
const other = findNode(24);

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
    files: {
      ...{ commands: 9, conformance: 88, generate: 14, head: 112, "http-splits": 57, "prepared-damage": 36 },
      ...{ prepared: 7, property: 7, scan: 6, "search-turns": 3, search: 6, "shared-limits": 7 },
      ...{ "snapshot-rows": 56, threads: 5 },
    },
  },
  {
    how: "in the long form, beside another node:http",
    node: other,
    variables: { ORRERY_TEST_LONG: "1" },
    files: { head: 112 },
  },
  {
    how: "over node:http",
    node: here,
    variables: { ORRERY_TEST_HTTP: "node" },
    files: { conformance: 30, http: 245 },
  },
  {
    how: "over two serving threads",
    node: other,
    variables: { ORRERY_TEST_SERVING_THREADS: "2" },
    files: { http: 370, "http-connections": 21, "all/http-stop": 6 },
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
