/**
 * Runs the tests of a folder, with the output of `node --test`.
 *
 *     node --import tsx test/tools/run.mjs test|test/all [FILE WITHOUT ENDING ...]
 *
 * Node's own runner orders files by name, and starts a process for each. Here the longest come first, so that none runs
 * alone at the end, and more run at once than the machine has cores, as many of them wait. Most files of `test` share
 * a few processes, since a process takes most of a second of CPU time to start and to compile.
 */

import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { run } from "node:test";
import { tap } from "node:test/reporters";
import { pathToFileURL } from "node:url";

/** Long tests, the longest first. */
const LONG = {
  test: "conformance threads closing".split(" "),
  "test/all": (
    "again deno bun export fleet features binary deploy crowds damaged recipes next package rounds-source dashboard " +
    "reference http-connections http-stop search-flood keys-faults source prepared"
  ).split(" "),
};

/** Files whose measurements of time or memory need a process of their own. */
const MEASURING = "busy dear-heads export".split(" ");

/** A hook at the top of a file would be one of all files of its process. */
const HAS_HOOKS = /^(before|beforeEach|afterEach)\(/m;

/** Time limit of a file, in milliseconds. Without one, a file that does not end holds up the output of all later ones. */
const MOST_MS = 900_000;

const AT_ONCE = availableParallelism() + 1;

const [folder, ...wanted] = process.argv.slice(2);
const long = LONG[folder];
if (long === undefined) throw new Error(`the folder must be one of ${Object.keys(LONG).join(", ")}`);
const names = readdirSync(folder)
  .filter((name) => name.endsWith(".test.ts"))
  .map((name) => name.slice(0, -".test.ts".length));
for (const name of [...long, ...wanted])
  if (!names.includes(name)) throw new Error(`there is no ${folder}/${name}.test.ts`);
const chosen = [...new Set([...long, ...names])].filter(
  (name) => wanted.length === 0 || wanted.includes(name),
);
const fileOf = (name) => resolve(folder, `${name}.test.ts`);

const isAlone = (name) =>
  folder !== "test" || MEASURING.includes(name) || HAS_HOOKS.test(readFileSync(fileOf(name), "utf8"));
const alone = chosen.filter(isAlone);
const together = chosen.filter((name) => !isAlone(name));
const parts = mkdtempSync(join(tmpdir(), "orrery-parts-"));
process.once("exit", () => rmSync(parts, { recursive: true, force: true }));
const partFiles = Array.from({ length: Math.min(AT_ONCE, together.length) }, (_, part) => {
  const imports = together
    .filter((_name, at) => at % AT_ONCE === part)
    .map((name) => `await import(${JSON.stringify(pathToFileURL(fileOf(name)))});\n`);
  const file = join(parts, `part-${part + 1}.mjs`);
  writeFileSync(file, imports.join(""));
  return file;
});

run({ files: [...partFiles, ...alone.map(fileOf)], concurrency: AT_ONCE, timeout: MOST_MS })
  .on("test:fail", () => {
    process.exitCode = 1;
  })
  .compose(tap)
  .pipe(process.stdout);
