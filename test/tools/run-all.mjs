/**
 * Runs the tests of `test/all`, with the output of `node --test`.
 *
 *     node --import tsx test/tools/run-all.mjs [FILE WITHOUT ENDING ...]
 *
 * Node's own runner orders files by name. Here the longest come first, so that none runs alone at the end, and more run
 * at once than the machine has cores, as many of them wait.
 */

import { readdirSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { run } from "node:test";
import { tap } from "node:test/reporters";
import { fileURLToPath } from "node:url";

const TESTS = fileURLToPath(new URL("../all", import.meta.url));

/** Long tests, the longest first. */
const LONG = (
  "again fleet damaged recipes next search-flood keys-faults package reference bun deno binary deploy crowds prepared export source " +
  "dashboard"
).split(" ");

/** Time limit of a file, in milliseconds. */
const MOST_MS = 600_000;

const names = readdirSync(TESTS)
  .filter((name) => name.endsWith(".test.ts"))
  .map((name) => name.slice(0, -".test.ts".length));
const wanted = process.argv.length > 2 ? process.argv.slice(2) : names;
for (const name of [...LONG, ...wanted]) {
  if (!names.includes(name)) throw new Error(`there is no test/all/${name}.test.ts`);
}
const files = [...new Set([...LONG, ...names])]
  .filter((name) => wanted.includes(name))
  .map((name) => join(TESTS, `${name}.test.ts`));

// Without a timeout, a file that does not end holds up the output of all later ones.
run({ files, concurrency: availableParallelism() + 1, timeout: MOST_MS })
  .on("test:fail", () => {
    process.exitCode = 1;
  })
  .compose(tap)
  .pipe(process.stdout);
