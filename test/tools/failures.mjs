/**
 * Prints the failures in an output of the test runner, with their reasons, for the end of a long log.
 *
 *     node test/tools/failures.mjs LOG
 */

import { readFileSync } from "node:fs";

const LINES_EACH = 40;

const log = readFileSync(process.argv[2], "utf8");
for (const block of log.match(/^ *not ok [\s\S]*?^ *\.\.\.$/gm) ?? []) {
  // Skips suites: a suite fails because of its tests.
  if (/failureType: 'subtestsFailed'/.test(block)) continue;
  const lines = block.split("\n");
  const indent = /^ */.exec(lines[0])[0].length;
  console.log(
    lines
      .slice(0, LINES_EACH)
      .map((line) => line.slice(indent))
      .join("\n"),
  );
}
