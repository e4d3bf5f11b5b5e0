/** Files of `npm test` once more: in their long form, over node:http, and over two serving threads. */

import { describe, test } from "node:test";
import { assertPassesOn, type FoundNode, findNode, lacking } from "../support/runtimes.ts";

const here: FoundNode = { path: process.execPath };
/** It has another parser of heads, and its threads can share a port. */
const other = findNode(24);

/** A file: the fewest tests of it that must run, and which ones do, by their names; all without a pattern. */
interface Part {
  readonly atLeast: number;
  readonly pattern?: string;
}

/** Suites with a long form (`test/support/long.ts`): only the tests that it makes longer, as `npm test` runs the others whole. */
const LONG_FORMS: Readonly<Record<string, Part>> = {
  // A seed of sixty rounds, and thirty rounds in threads. Another seed would take a minute; `npm test` has one.
  changing: { atLeast: 2, pattern: "seed 1$|in threads" },
  commands: {
    atLeast: 5,
    pattern:
      "wrong usage|what cannot work|keys made at once|help and version|a pipe in place|that there is not",
  },
  conformance: { atLeast: 30 },
  generate: { atLeast: 1, pattern: "cut off at any step" },
  head: {
    atLeast: 4,
    pattern: "every byte in every place|heads$|a beginning of a head|fields of the head before",
  },
  // Three reads are ten thousand connections a request: for those that differ in how they end or are answered.
  "http-splits": {
    atLeast: 90,
    pattern:
      "(answered later|absolute target|1\\.0|a body|empty lines first|preface): three reads|at a time|then silence",
  },
  "prepared-damage": { atLeast: 2, pattern: "of any byte, a cut anywhere|in any UTF-8" },
  prepared: { atLeast: 1, pattern: "of any rows" },
  property: { atLeast: 5 },
  scan: { atLeast: 2, pattern: "every shape and writing|any byte changed" },
  search: { atLeast: 3, pattern: "as a scan finds them, in every script" },
  "shared-limits": { atLeast: 2, pattern: "in every history" },
  "snapshot-rows": { atLeast: 7, pattern: "just fits" },
};

/** How and where files run. */
const AGAIN: readonly {
  readonly how: string;
  readonly node: FoundNode;
  readonly variables: Readonly<Record<string, string>>;
  readonly files: Readonly<Record<string, Part>>;
}[] = [
  {
    how: "in the long form",
    node: here,
    variables: { ORRERY_TEST_LONG: "1" },
    files: LONG_FORMS,
  },
  {
    how: "in the long form, beside another node:http",
    node: other,
    variables: { ORRERY_TEST_LONG: "1" },
    files: { head: { atLeast: 54 } },
  },
  {
    how: "over node:http",
    node: here,
    variables: { ORRERY_TEST_HTTP: "node" },
    files: { conformance: { atLeast: 30 }, http: { atLeast: 100 } },
  },
  {
    how: "over two serving threads",
    node: other,
    variables: { ORRERY_TEST_SERVING_THREADS: "2" },
    files: {
      http: { atLeast: 260 },
      "all/http-connections": { atLeast: 17 },
      "all/http-stop": { atLeast: 4 },
    },
  },
];

// Two at once: tests on the wire mostly wait.
describe("again", { concurrency: 2 }, () => {
  for (const { how, node, variables, files } of AGAIN)
    for (const [name, part] of Object.entries(files))
      test(`${name} ${how}`, { skip: lacking(node) }, () =>
        assertPassesOn(node, `test/${name}.test.ts`, { ...part, variables }),
      );
});
