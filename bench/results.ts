/**
 * Makes `bench/RESULTS.md` anew: runs every bench, draws the pictures, and puts
 * both into `bench/report/TEMPLATE.md`.
 *
 *     npx tsx bench/results.ts [--node FILE]... [--only http,cost] [--minutes 45] [--out FOLDER]
 *     npx tsx bench/results.ts --only prepared,reload --update     these parts anew, the others as they were
 *     npx tsx bench/results.ts --quick     every bench for some seconds, into a temporary folder
 *     npx tsx bench/results.ts --smoke     two benches, into a temporary folder
 *
 * `--node` names further versions of Node, with which the comparison with bare
 * node:http is made as well. A bench that fails or takes too long says so in the
 * document, and this ends with 1; what time is left for is run. Leave the
 * machine alone meanwhile. With `--only` the document goes into a temporary
 * folder, too, unless `--out` names one or `--update` is given; above each result stands the commit that it is of. The commands and the one file that start.ts starts
 * have to be built (`npm run build`, `npm run build:binary`); what they and other
 * benches do not find, they leave out and say so.
 */

import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { cpus, tmpdir, totalmem } from "node:os";
import { join } from "node:path";
import type { HttpResults } from "./http/report.ts";
import { assemble, duration, type Outcome } from "./report/assemble.ts";
import { drawHttp } from "./report/http-chart.ts";
import { PARTS, type Part } from "./report/parts.ts";
import { type CostResults, drawSize, type ScaleResults } from "./report/size-chart.ts";
import { ROOT } from "./support/child.ts";
import { readOptions } from "./support/options.ts";
import { commitOf } from "./support/output.ts";

const values = readOptions({
  options: {
    quick: { type: "boolean", default: false },
    smoke: { type: "boolean", default: false },
    node: { type: "string", multiple: true, default: [] },
    only: { type: "string" },
    update: { type: "boolean", default: false },
    minutes: { type: "string", default: "45" },
    out: { type: "string" },
  },
});
const isShort = values.quick || values.smoke;
/** Only a whole run replaces the document. */
const isPartial = isShort || (values.only !== undefined && !values.update);
const out =
  values.out ?? (isPartial ? mkdtempSync(join(tmpdir(), "orrery-bench-results-")) : join(ROOT, "bench"));
const results = join(out, "results");
const commit = commitOf();
const machine = `${cpus().length} × ${cpus()[0]!.model.trim()}, ${Math.round(totalmem() / 2 ** 30)} GiB`;
const end = performance.now() + Number(values.minutes) * 60_000;

/** A version of Node, and what runs TypeScript with it. */
interface Runner {
  readonly node: string;
  readonly version: string;
  readonly options: readonly string[];
}

function runnerOf(node: string): Runner {
  const code = "console.log(process.version, Boolean(process.features.typescript))";
  const [version, runsTypeScript] = execFileSync(node, ["-e", code], { encoding: "utf8" }).trim().split(" ");
  return { node, version: version!, options: runsTypeScript === "true" ? [] : ["--import", "tsx"] };
}

const own = runnerOf(process.execPath);
const others = values.node.map(runnerOf);

/** The bench that runs, with all that it started. */
let running: ChildProcess | undefined;

function endRunning(): void {
  try {
    if (running !== undefined) process.kill(-running.pid!, "SIGKILL");
  } catch {
    // It is over.
  }
}
process.on("exit", endRunning);
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => process.exit(130));

/** Lines of a failure that are kept. */
const LAST_LINES = 12;

/** Runs a bench by itself, in a group of processes that is ended as a whole. */
async function run(part: Part, { node, version, options }: Runner): Promise<Outcome> {
  const args = isShort ? (part.quick ?? ["--smoke"]) : part.args;
  const json = part.json ? ["--json", jsonOf(part.name)] : [];
  const began = performance.now();
  const left = end - began;
  const about = {
    part: part.name,
    command: `npx tsx bench/${part.bench} ${args.join(" ")}`.trimEnd(),
    commit,
  };
  if (left <= 0) {
    return { ...about, node: version, machine, seconds: 0, output: "", failure: "no time was left for it" };
  }
  const child = spawn(node, [...options, `bench/${part.bench}`, ...args, ...json], {
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
  let isLate = false;
  const timer = setTimeout(
    () => {
      isLate = true;
      endRunning();
    },
    Math.min(part.minutes * 60_000, left),
  );
  const [code] = (await once(child, "close")) as [number | null];
  clearTimeout(timer);
  // What a bench that failed left running.
  endRunning();
  running = undefined;
  const seconds = (performance.now() - began) / 1000;
  const failure = isLate
    ? "it took too long and was ended"
    : code === 0
      ? undefined
      : `it ended with ${code}`;
  return {
    ...about,
    node: version,
    machine,
    seconds,
    output:
      failure === undefined
        ? output
        : [output.trim(), ...errors.trim().split("\n").slice(-LAST_LINES)].join("\n"),
    failure,
  };
}

function jsonOf(name: string): string {
  return join(results, `${name}.json`);
}

/** What a part of this run wrote for programs. */
function read<Value>(name: string, outcomes: readonly Outcome[]): Value | undefined {
  const isThere = outcomes.some(({ part, failure }) => part === name && failure === undefined);
  return isThere && existsSync(jsonOf(name))
    ? (JSON.parse(readFileSync(jsonOf(name), "utf8")) as Value)
    : undefined;
}

function drawPictures(outcomes: readonly Outcome[]): Parameters<typeof assemble>[2] {
  const http = read<HttpResults>("http", outcomes);
  const cost = read<CostResults>("cost", outcomes);
  const scale = read<ScaleResults>("scale", outcomes);
  if (http) writeFileSync(join(results, "http.svg"), drawHttp(http));
  if (cost && scale) writeFileSync(join(results, "size.svg"), drawSize(cost, scale));
  return {
    http: http && {
      file: "results/http.svg",
      title: "Requests a second of CPU time, by workload and server",
    },
    size: cost && scale && { file: "results/size.svg", title: "Cost of a request, and of a row, by size" },
  };
}

mkdirSync(results, { recursive: true });
const wanted = values.only?.split(",");
const parts = PARTS.filter(({ name, smoke }) => wanted?.includes(name) ?? (!values.smoke || smoke));
/** All that the document shows, for a later run of some parts. */
const OUTCOMES = join(results, "outcomes.json");
const outcomes: Outcome[] = [];
const earlier =
  values.update && existsSync(OUTCOMES) ? (JSON.parse(readFileSync(OUTCOMES, "utf8")) as Outcome[]) : [];

/** What was found in this run, and of the other parts before it. */
function shown(): Outcome[] {
  const isNew = ({ part }: Outcome): boolean => outcomes.some((outcome) => outcome.part === part);
  return [...earlier.filter((outcome) => !isNew(outcome)), ...outcomes];
}

for (const part of parts) {
  const runners = part.on === "other" ? others : part.on === "every" ? [own, ...others] : [own];
  for (const runner of runners) {
    console.error(`\n== ${part.name}, Node ${runner.version}`);
    const outcome = await run(part, runner);
    outcomes.push(outcome);
    console.error(`== ${part.name}: ${duration(outcome.seconds)} ${outcome.failure ?? ""}`);
    // As far as it has come: a run that is ended leaves what it found.
    const template = readFileSync(join(ROOT, "bench/report/TEMPLATE.md"), "utf8");
    writeFileSync(join(out, "RESULTS.md"), assemble(template, shown(), drawPictures(shown())));
    writeFileSync(OUTCOMES, `${JSON.stringify(shown(), null, 2)}\n`);
  }
}
for (const { part, node, seconds, failure } of outcomes) {
  console.log(
    `${part.padEnd(14)} ${node.padEnd(10)} ${duration(seconds).padStart(12)}  ${failure ?? ""}`.trimEnd(),
  );
}
const total = outcomes.reduce((sum, { seconds }) => sum + seconds, 0);
console.log(`${duration(total)} in all; ${join(out, "RESULTS.md")}`);
process.exit(outcomes.every(({ failure }) => failure === undefined) ? 0 : 1);
