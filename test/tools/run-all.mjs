/**
 * Runs the tests of `test/all` as `tools/build-tests.ts --all` has made them, and prints what `node --test` would.
 *
 *     node test/tools/run-all.mjs [FILE WITHOUT ENDING ...]
 *
 * Node's own runner takes files by their names. Here the longest ones come first, so that none of them runs
 * alone at the end; and more run at once than there are cores, since many of them wait.
 */

import { readdirSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { run } from "node:test";
import { tap } from "node:test/reporters";
import { fileURLToPath } from "node:url";

const TESTS = fileURLToPath(new URL("../../.tests/all", import.meta.url));

/** The longest first. */
const LONG = [
  ...[
    "again",
    "fleet",
    "damaged",
    "search-flood",
    "keys-faults",
    "package",
    "reference",
    "bun",
    "deno",
    "binary",
  ],
  ...["slow-readers", "prepared", "export", "source", "dashboard"],
];

/** Milliseconds that a file may take. */
const MOST_MS = 600_000;

const names = readdirSync(TESTS)
  .filter((name) => name.endsWith(".test.js"))
  .map((name) => name.slice(0, -".test.js".length));
const wanted = process.argv.length > 2 ? process.argv.slice(2) : names;
for (const name of [...LONG, ...wanted]) {
  if (!names.includes(name)) throw new Error(`there is no test/all/${name}.test.ts`);
}
const files = [...new Set([...LONG, ...names])]
  .filter((name) => wanted.includes(name))
  .map((name) => join(TESTS, `${name}.test.js`));

// A file that something keeps from ending holds up the output of all after it.
run({ files, concurrency: availableParallelism() + 1, timeout: MOST_MS })
  .on("test:fail", () => {
    process.exitCode = 1;
  })
  .compose(tap)
  .pipe(process.stdout);
