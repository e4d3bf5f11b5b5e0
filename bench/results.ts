/**
 * Rebuilds `bench/RESULTS.md` and its chart: builds the program, runs every bench, and inserts their output into
 * `bench/report/TEMPLATE.md`.
 *
 *     npx tsx bench/results.ts [--beside NODE] [--dirty] [--out FOLDER]
 *     npx tsx bench/results.ts --only http,reload     prints these parts and writes nothing
 *     npx tsx bench/results.ts --quick [--out FOLDER] every bench for some seconds, into a temporary folder
 *     npx tsx bench/results.ts --smoke                one bench for a second, writes nothing
 *
 * The Node that runs this runs the benches: the current LTS, with peers built for it (CONTRIBUTING.md). `--beside` is the path of an
 * older one, which runs some workloads, too.
 *
 * All results are of one commit: the working tree must be clean and stay so; `--dirty` is for trials. The requirements of
 * all benches are checked before the first. The first part that fails ends the run with its name, its last lines and
 * status 1, and nothing is written. A run takes three quarters of an hour on two quiet cores; after 75 minutes it is ended. Leave the machine
 * alone meanwhile.
 */

import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { cpus, tmpdir, totalmem } from "node:os";
import { join } from "node:path";
import type { HttpResults } from "./http/report.ts";
import { assemble, duration, type Result } from "./report/assemble.ts";
import { drawHttp } from "./report/http-chart.ts";
import { PARTS, type Part, SMOKED } from "./report/parts.ts";
import { summarize } from "./report/summary.ts";
import { ROOT, RUN_TYPESCRIPT } from "./support/child.ts";
import { demand } from "./support/need.ts";
import { readOptions } from "./support/options.ts";
import { commitOf, git } from "./support/output.ts";

const values = readOptions({
  options: {
    quick: { type: "boolean", default: false },
    smoke: { type: "boolean", default: false },
    only: { type: "string" },
    beside: { type: "string" },
    dirty: { type: "boolean", default: false },
    out: { type: "string" },
  },
});
const isShort = values.quick || values.smoke;
const wanted = values.only?.split(",") ?? (values.smoke ? SMOKED : undefined);
const parts = PARTS.filter(({ name }) => wanted?.includes(name) ?? true);
/** Only a whole run of a clean tree replaces the document. */
const mustBeClean = !isShort && wanted === undefined && !values.dirty;
const MOST_MINUTES = 75;
const end = performance.now() + MOST_MINUTES * 60_000;
const scratch = mkdtempSync(join(tmpdir(), "orrery-bench-results-"));
const httpJson = join(scratch, "http.json");

/** The running bench, leader of the group of its processes. */
let running: ChildProcess | undefined;

function endRunning(): void {
  try {
    if (running !== undefined) process.kill(-running.pid!, "SIGKILL");
  } catch {
    // It has ended already.
  }
}
process.on("exit", () => {
  endRunning();
  rmSync(scratch, { recursive: true, force: true });
});
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => process.exit(130));

function checkParts(): void {
  const unknown = wanted?.find((name) => !PARTS.some((part) => part.name === name));
  if (unknown === undefined) return;
  throw new Error(`no part ${unknown}; --only takes ${PARTS.map(({ name }) => name).join(", ")}`);
}

function checkTree(commit: string): void {
  if (!mustBeClean) return;
  if (values.beside === undefined)
    throw new Error("--beside: the path of an older Node, for the part http-beside");
  const changed = git("status", "--porcelain");
  if (changed !== "") {
    throw new Error(`the working tree is not clean; commit first, or try out with --dirty:\n${changed}`);
  }
  if (commitOf() !== commit) throw new Error(`the commit is no longer ${commit}`);
}

/** Builds the programs that the benches start, so that they are of this commit, too. */
function build(): void {
  for (const script of ["build", "build:binary"]) {
    const { status, stderr } = spawnSync("npm", ["run", "--silent", script], { cwd: ROOT, encoding: "utf8" });
    if (status !== 0) throw new Error(`npm run ${script} failed:\n${stderr}`);
  }
}

/** Number of lines shown of a failure. */
const LAST_LINES = 12;

/** Runs a bench in its own process group, which ends as a whole. @throws {Error} naming a part that fails or takes too long */
async function run(part: Part): Promise<Result> {
  const args = isShort ? (values.smoke ? ["--smoke"] : part.quick) : part.args;
  const json = part.name === "http" ? ["--json", httpJson] : [];
  const began = performance.now();
  const node = (part.isBeside && values.beside) || process.execPath;
  // Older versions need tsx for TypeScript.
  const typescript = node === process.execPath ? RUN_TYPESCRIPT : ["--import", "tsx"];
  const child = spawn(node, [...typescript, `bench/${part.bench}`, ...args, ...json], {
    cwd: ROOT,
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  running = child;
  let output = "";
  let errors = "";
  child.stdout.on("data", (bytes) => {
    output += String(bytes);
  });
  child.stderr.on("data", (bytes) => {
    errors += String(bytes);
    process.stderr.write(bytes);
  });
  const most = Math.min(part.minutes * 60_000, end - began);
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    endRunning();
  }, most);
  const [code] = (await once(child, "close")) as [number | null];
  clearTimeout(timer);
  // Ends processes that a failed bench left running.
  endRunning();
  running = undefined;
  if (isLate || code !== 0) {
    const why = isLate ? `was ended after ${duration(most / 1000)}` : `ended with ${code}`;
    const last = `${output}\n${errors}`.trim().split("\n").slice(-LAST_LINES).join("\n");
    throw new Error(`the part ${part.name} ${why}:\n${last}`);
  }
  const program = part.isBeside ? "node20 --import tsx" : "npx tsx";
  const command = `${program} bench/${part.bench} ${args.join(" ")}`.trimEnd();
  return { part: part.name, command, seconds: (performance.now() - began) / 1000, output };
}

/** Writes the document and its chart together, once all results are complete. */
function publish(results: readonly Result[], commit: string): string {
  const out =
    values.out ?? (mustBeClean ? join(ROOT, "bench") : mkdtempSync(join(tmpdir(), "orrery-results-")));
  const machine = `${cpus().length} × ${cpus()[0]!.model.trim()}, ${Math.round(totalmem() / 2 ** 30)} GiB`;
  const template = readFileSync(join(ROOT, "bench/report/TEMPLATE.md"), "utf8");
  const picture = "![Requests a second of CPU time, by workload and server](results/http.svg)";
  const http = JSON.parse(readFileSync(httpJson, "utf8")) as HttpResults;
  const drawn = { picture, summary: summarize(http) };
  const text = assemble(template, results, { commit, node: process.version, machine }, drawn);
  const svg = drawHttp(http);
  mkdirSync(join(out, "results"), { recursive: true });
  writeFileSync(join(out, "results/http.svg"), svg);
  writeFileSync(join(out, "RESULTS.md"), text);
  return join(out, "RESULTS.md");
}

async function main(): Promise<void> {
  checkParts();
  const commit = commitOf();
  checkTree(commit);
  if (!values.smoke) demand(...parts.flatMap(({ needs }) => needs));
  if (!isShort) build();
  const results: Result[] = [];
  for (const part of parts) {
    console.error(`\n== ${part.name}`);
    const result = await run(part);
    results.push(result);
    console.error(`== ${part.name}: ${duration(result.seconds)}`);
  }
  checkTree(commit);
  if (wanted !== undefined) console.log(results.map(({ output }) => output.trim()).join("\n\n"));
  for (const { part, seconds } of results) console.error(`${part.padEnd(14)} ${duration(seconds)}`);
  if (wanted === undefined) console.log(publish(results, commit));
}

try {
  await main();
} catch (error) {
  console.error(`no results: ${(error as Error).message}`);
  process.exitCode = 1;
}
process.exit();
