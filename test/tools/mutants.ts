/**
 * Breaks the program on purpose, one place at a time; the tests must notice.
 *
 *     npm run mutants -- [--only WORDS]
 *
 * Applies each row of test/mutants.ts to a copy of the tree, never to the checkout, and runs its tests there: they must
 * pass before the change and fail with it. `--only` takes the rows that contain these words.
 */

import { execFile } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { basename, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs, promisify } from "node:util";
import { MUTANTS, type Mutant, mutate } from "../mutants.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** A run of a few tests that takes longer hangs; generous, so that a slow machine does not decide the verdict. */
const PATIENCE_MS = 180_000;

/** Left out of a copy of the tree: with build output the tests would run the unchanged program. */
const LEFT_OUT = new Set([".git", "bench", "dist", ".tests"]);

function copyTree(): string {
  const tree = mkdtempSync(join(tmpdir(), "orrery-mutants-"));
  const filter = (from: string): boolean =>
    basename(from) !== "node_modules" && !LEFT_OUT.has(relative(ROOT, from));
  cpSync(ROOT, tree, { recursive: true, filter });
  symlinkSync(join(ROOT, "node_modules"), join(tree, "node_modules"));
  return tree;
}

/** The test files of a row, and words that select tests by name. */
const testsOf = ({ tests }: Mutant): [file: string, name: string][] =>
  Object.entries(tests).map(([file, name]) => [`test/${file}.test.ts`, name]);

/** The outcome of tests. */
interface Ran {
  readonly passed: string[];
  readonly failed: string[];
  readonly output: string;
}

const RESULT = /^ *(not ok|ok) \d+ - (.*?)(?: # ((?:SKIP|TODO)\b.*))?$/;

/** Any failure is enough here, and shrinking one can take minutes. */
const END_ON_FAILURE = "./test/tools/end-on-failure.ts";

const execute = promisify(execFile);

/** Runs tests of one file by name; rejects if the run does not end. */
async function runTests(tree: string, file: string, names: readonly string[]): Promise<Ran> {
  const patterns = names.map((name) => `--test-name-pattern=${name.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&")}`);
  const { NODE_TEST_CONTEXT: _ours, ...environment } = process.env;
  const args = ["--import", "tsx", "--import", END_ON_FAILURE, "--test-reporter=tap", ...patterns, file];
  const { stdout, stderr, killed } = await execute(process.execPath, args, {
    cwd: tree,
    // Short waits: three tests detect their mutant by a wait that never ends.
    env: { ...environment, ORRERY_TEST_PATIENCE_MS: "20000" },
    timeout: PATIENCE_MS,
    killSignal: "SIGKILL",
    maxBuffer: Number.POSITIVE_INFINITY,
  }).catch((error) => error);
  if (killed) throw new Error(`${file} was ended after ${PATIENCE_MS} ms`);
  const ran: Ran = { passed: [], failed: [], output: stdout + stderr };
  for (const line of stdout.split("\n")) {
    const [, result, name, directive] = RESULT.exec(line) ?? [];
    if (name === undefined || directive !== undefined || !names.some((wanted) => name.includes(wanted)))
      continue;
    ran[result === "ok" ? "passed" : "failed"].push(name);
  }
  return ran;
}

/** The reason why a test is unusable, or undefined: without a change it must run and pass. */
function problemWith({ passed, failed, output }: Ran, [file, name]: [string, string]): string | undefined {
  if (failed.some((test) => test.includes(name))) return `${file} fails without the change\n${output}`;
  if (passed.some((test) => test.includes(name))) return undefined;
  return `${file} has no test of this name: ${name}\n${output}`;
}

/** Applies a row to a tree, runs its tests, and reverts the change. @returns the reason for a failure, or undefined */
async function tryMutant(tree: string, mutant: Mutant): Promise<string | undefined> {
  const file = join(tree, mutant.file);
  const before = readFileSync(file, "utf8");
  writeFileSync(file, mutate(before, mutant));
  try {
    for (const [test, name] of testsOf(mutant)) {
      const { passed, failed, output } = await runTests(tree, test, [name]);
      if (failed.length > 0) continue;
      if (passed.length > 0) return `SURVIVES ${test}: ${name}`;
      return `${test} could not be run with the change:\n${output}`;
    }
    return undefined;
  } finally {
    writeFileSync(file, before);
  }
}

const { values } = parseArgs({ options: { only: { type: "string", default: "" } } });
const chosen = MUTANTS.filter((mutant) => JSON.stringify(mutant).includes(values.only));
if (chosen.length === 0) throw new Error(`no row holds ${values.only}`);

const failures: string[] = [];
const trees = Array.from({ length: Math.min(availableParallelism(), 4) }, copyTree);

/** Gives each task to the next free tree. */
async function inTrees<T>(
  tasks: readonly T[],
  work: (tree: string, task: T) => Promise<void>,
): Promise<void> {
  const left = [...tasks];
  await Promise.all(
    trees.map(async (tree) => {
      for (let task = left.shift(); task !== undefined; task = left.shift()) await work(tree, task);
    }),
  );
}

try {
  /** The outcome of each file's tests without a change. */
  const unchanged = new Map<string, Ran>();
  const named = chosen.flatMap(testsOf);
  await inTrees([...new Set(named.map(([file]) => file))], async (tree, file) => {
    const names = new Set(named.filter(([of]) => of === file).map(([, name]) => name));
    unchanged.set(file, await runTests(tree, file, [...names]));
  });
  await inTrees(chosen, async (tree, mutant) => {
    const began = performance.now();
    const problem = testsOf(mutant)
      .map((tests) => problemWith(unchanged.get(tests[0])!, tests))
      .find(Boolean);
    const failure = problem ?? (await tryMutant(tree, mutant));
    const seconds = ((performance.now() - began) / 1000).toFixed(1).padStart(5);
    if (failure !== undefined) failures.push(`${mutant.breaks}: ${failure}`);
    console.log(`${failure === undefined ? "caught" : "FAILED"} ${seconds} s  ${mutant.breaks}`);
  });
} finally {
  for (const tree of trees) rmSync(tree, { recursive: true, force: true });
}
for (const failure of failures) console.error(`\n${failure}`);
console.log(`\n${chosen.length - failures.length} of ${chosen.length} caught on Node ${process.version}`);
if (failures.length > 0) process.exitCode = 1;
