/**
 * The time from the start of a process to its listening line, for each form of the program; the CPU time until then, and
 * memory a second later. For comparison also a Node that does nothing and one that only listens: on the same machine in
 * the same minute, no start can be faster.
 *
 *     npm run build; npm run build:binary
 *     npx tsx bench/start.ts [--smoke] [--rounds 5]
 *
 * Starts alternate between the forms. A short run leaves out forms that are not built.
 */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { indexStore } from "../src/search/search.ts";
import { loadSnapshot } from "../src/snapshot/load.ts";
import { NODE_OPTIONS, ROOT, snapshotOf } from "./support/child.ts";
import { addKey } from "./support/keys.ts";
import { readOptions } from "./support/options.ts";
import { machine, markdown, spread } from "./support/output.ts";
import { cpuOf, memoryOf } from "./support/process.ts";

const values = readOptions({
  options: {
    smoke: { type: "boolean", default: false },
    rounds: { type: "string" },
  },
});
const rounds = Number(values.rounds ?? (values.smoke ? 1 : 5));
const NODE = process.execPath;
const BUILT = join(ROOT, "dist/main.js");
const BINARY = join(ROOT, "dist/orrery");
/** Output of a build. */
const MADE: readonly string[] = [BUILT, BINARY];

interface Start {
  readonly name: string;
  readonly command: readonly [string, ...string[]];
  /** The line that ends the wait; without one, the end of the process does. */
  readonly line?: RegExp;
}

interface Measured {
  readonly ms: number;
  readonly cpuMs: number;
  readonly megabytes: number;
}

/** Starts a form once, and ends it. */
async function measure({ command: [file, ...args], line }: Start): Promise<Measured> {
  const began = performance.now();
  const child = spawn(file, args, {
    cwd: ROOT,
    env: { ...process.env, ORRERY_PORT: "0" },
    stdio: ["ignore", "pipe", "ignore"],
    detached: true,
  });
  const ended = once(child, "close");
  if (line === undefined) {
    await ended;
    return { ms: performance.now() - began, cpuMs: Number.NaN, megabytes: Number.NaN };
  }
  let output = "";
  for await (const chunk of child.stdout.iterator({ destroyOnReturn: false })) {
    output += String(chunk);
    if (line.test(output)) break;
  }
  const ms = performance.now() - began;
  // With npm, the server is a child of the started process.
  const isIt = file !== "npm";
  const cpuMs = isIt ? cpuOf(child.pid!) : Number.NaN;
  await new Promise((resolve) => setTimeout(resolve, 1000));
  const megabytes = isIt ? memoryOf(child.pid!, "VmRSS") / 1e6 : Number.NaN;
  process.kill(-child.pid!, "SIGTERM");
  child.stdout.resume();
  await ended;
  return { ms, cpuMs, megabytes };
}

const LISTENING = / listening /;
const LISTENER =
  'require("http").createServer().listen(0, "127.0.0.1", () => console.log("is listening now"))';

const folder = mkdtempSync(join(tmpdir(), "orrery-start-"));
const keys = join(folder, "keys.json");
await addKey(keys, { name: "bench", kind: "api", prefix: "svc_sk_" });
const serve = ["serve", "--snapshot", await snapshotOf(10_000), "--keys", keys];
const program = [NODE, ...NODE_OPTIONS, BUILT] as const;

const starts: readonly Start[] = [
  { name: "node -e 0", command: [NODE, "-e", "0"] },
  { name: "node, a listener", command: [NODE, "-e", LISTENER], line: LISTENING },
  { name: "demo", command: [...program, "demo"], line: LISTENING },
  { name: "10,000 users", command: [...program, ...serve], line: LISTENING },
  { name: "one file: --version", command: [BINARY, "--version"] },
  { name: "one file: demo", command: [BINARY, "demo"], line: LISTENING },
  { name: "one file: 10,000 users", command: [BINARY, ...serve], line: LISTENING },
  { name: "npm start, sources", command: ["npm", "start", "--silent"], line: LISTENING },
];

/** Milliseconds to load and index the sample in a warm process. */
async function load(): Promise<number> {
  const began = performance.now();
  const loaded = await loadSnapshot(`${ROOT}data/sample`);
  if (!loaded.ok) throw new Error(loaded.problems.join("\n"));
  indexStore(loaded.store);
  return performance.now() - began;
}

const built = starts.filter(({ command }) =>
  command.every((word) => !MADE.includes(word) || existsSync(word)),
);
if (built.length < starts.length && !values.smoke) {
  throw new Error("not built: run `npm run build && npm run build:binary`");
}
const measured = new Map<Start, Measured[]>(built.map((start) => [start, []]));
const loads: number[] = [];
try {
  // In turn, so that other work of the machine affects all of them.
  await load();
  for (let round = 0; round < rounds; round++) {
    for (const [start, all] of measured) all.push(await measure(start));
    loads.push(await load());
  }
} finally {
  rmSync(folder, { recursive: true });
}
console.log(`${machine()}; medians of ${rounds} starts in turns (lowest–highest).\n`);
const rows = [...measured].map(([{ name }, all]) => [
  name,
  ...(["ms", "cpuMs", "megabytes"] as const).map((figure) =>
    spread(
      all.map((one) => one[figure]),
      0,
    ),
  ),
]);
console.log(
  markdown(
    ["", "ms", "ms of CPU", "MB"],
    [...rows, ["the sample, loaded and indexed in a warm process", spread(loads, 0), undefined, undefined]],
  ),
);
