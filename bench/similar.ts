/**
 * The cost of similar search: its memory, the time until it answers, and its searches.
 *
 *     npm run build -- --program
 *     npx tsx bench/similar.ts [--smoke] [--sizes 2000,20000,100000] [--rounds 5]
 *
 * A size is the number of users and visible worlds together. Each round starts the real command with `--similar on` and with
 * `--similar off`, in turn. "Until it answers" counts from the moment that the server listens. Memory is the difference
 * of both processes a second later. Figures are medians of the rounds, with the lowest and the highest.
 */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { NODE_OPTIONS, ROOT, snapshotOf } from "./support/child.ts";
import { addKey } from "./support/keys.ts";
import { percentile } from "./support/load.ts";
import { readOptions } from "./support/options.ts";
import { machine, markdown, spread, whole } from "./support/output.ts";
import { cpuOf, memoryOf } from "./support/process.ts";

const values = readOptions({
  options: {
    smoke: { type: "boolean", default: false },
    sizes: { type: "string" },
    rounds: { type: "string" },
  },
});
const sizes = (values.sizes ?? (values.smoke ? "2000" : "2000,20000,100000")).split(",").map(Number);
const rounds = Number(values.rounds ?? (values.smoke ? 1 : 5));
const REST_MS = 1000;
/** Misspelt names of the generator's vocabulary. */
const MISSPELT = ["rabit", "mooon", "drgaon", "stra", "nkeo", "gadren", "sakrua", "wolrd", "kitetn", "shdow"];
const SEARCHES = values.smoke ? 10 : 100;

interface Measured {
  /** Bytes. */
  readonly memory: number;
  /** Milliseconds from listening until `similar-ready`; CPU milliseconds until then. NaN if similar search is off. */
  readonly ready: number;
  readonly cpu: number;
  /** Milliseconds of the misspelt searches, ascending. */
  readonly searches: Float64Array;
}

const folder = mkdtempSync(join(tmpdir(), "orrery-bench-similar-"));
const keys = join(folder, "keys.json");
const token = await addKey(keys, { name: "bench", kind: "api", prefix: "svc_sk_", limit: 2_000_000_000 });

async function searchTimes(url: string): Promise<Float64Array> {
  const headers = { authorization: `Bearer ${token}` };
  const times = new Float64Array(SEARCHES);
  for (let at = 0; at < SEARCHES; at++) {
    const q = `${MISSPELT[at % MISSPELT.length]}${at < MISSPELT.length ? "" : at}`;
    const began = performance.now();
    const reply = await fetch(`${url}/users/search?match=similar&q=${q}`, { headers });
    const { match } = (await reply.json()) as { match?: string };
    if (match !== "similar") throw new Error(`${q}: match is ${match}`);
    times[at] = performance.now() - began;
  }
  return times.sort();
}

async function measure(snapshot: string, similar: "on" | "off"): Promise<Measured> {
  const settings = ["--snapshot", snapshot, "--keys", keys, "--port", "0", "--similar", similar];
  const args = [...NODE_OPTIONS, "bin/orrery.mjs", "serve", ...settings];
  const child = spawn(process.execPath, args, { cwd: ROOT, stdio: ["ignore", "pipe", "pipe"] });
  const pid = child.pid!;
  const isReady = new Promise<void>((resolve) => {
    createInterface({ input: child.stderr! }).on("line", (line) => {
      if (line.includes('"similar-ready"')) resolve();
    });
  });
  const [line] = (await once(child.stdout!, "data")) as [Buffer];
  const url = /http\S+/.exec(line.toString())![0];
  const [began, cpuBefore] = [performance.now(), cpuOf(pid)];
  if (similar === "on") await isReady;
  const [ready, cpu] = [performance.now() - began, cpuOf(pid) - cpuBefore];
  await sleep(REST_MS);
  const memory = memoryOf(pid, "VmRSS");
  const searches = similar === "on" ? await searchTimes(url) : new Float64Array();
  child.kill("SIGTERM");
  await once(child, "exit");
  return { memory, ready, cpu, searches };
}

async function rowOf(size: number): Promise<string[]> {
  // About three in four worlds are visible, and there is a world for each four users.
  const snapshot = await snapshotOf(Math.round(size / 1.19));
  const all: { readonly on: Measured; readonly megabytes: number }[] = [];
  for (let round = 0; round < rounds; round++) {
    const off = await measure(snapshot, "off");
    const on = await measure(snapshot, "on");
    all.push({ on, megabytes: (on.memory - off.memory) / 1e6 });
  }
  const show = (take: (one: Measured) => number, digits: number): string =>
    spread(
      all.map(({ on }) => take(on)),
      digits,
    );
  return [
    whole(size),
    show(({ ready }) => ready / 1000, 2),
    show(({ cpu }) => cpu / 1000, 2),
    spread(
      all.map(({ megabytes }) => megabytes),
      0,
    ),
    show(({ searches }) => percentile(searches, 0.5), 1),
    show(({ searches }) => percentile(searches, 0.99), 1),
  ];
}

try {
  const rows: string[][] = [];
  for (const size of sizes) rows.push(await rowOf(size));
  console.log(`${machine()}; ${rounds} rounds, ${SEARCHES} searches each, one after the other.\n`);
  console.log(
    markdown(["Names, about", "s until it answers", "s of CPU", "MB more", "search, ms", "p99, ms"], rows),
  );
} finally {
  rmSync(folder, { recursive: true });
}
