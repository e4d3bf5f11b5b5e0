/**
 * What `--state` costs the thread that serves: its longest pause while the counts of many keys are written and read.
 *
 *     npx tsx bench/state.ts [--keys 1000,100000,1000000] [--rounds N] [--smoke]
 *
 * Prints for each number of keys the file's size, the CPU time of writing it, of finding nothing new to write and of
 * taking it up, and the longest turns of the event loop beside the writing: of the median round, and of all rounds.
 */

import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sumOfCounts, writeCounts } from "../src/auth/counts-file.ts";
import { keepCounts } from "../src/auth/keep-counts.ts";
import { addUsage, createCounters, slotOf, windowAt } from "../src/auth/limit.ts";
import { median } from "./support/load.ts";
import { readOptions } from "./support/options.ts";
import { fixed, machine, markdown, whole } from "./support/output.ts";

const values = readOptions({
  options: {
    keys: { type: "string" },
    rounds: { type: "string" },
    smoke: { type: "boolean", default: false },
  },
});
const sizes = (values.keys ?? (values.smoke ? "1000,20000" : "1000,100000,1000000")).split(",").map(Number);
const rounds = Number(values.rounds ?? (values.smoke ? 2 : 7));
const NOW = Date.now();
const HOUR = 3600;

/** CPU time of the process so far, in milliseconds. */
function cpuTime(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

async function cpuOf(work: () => Promise<unknown>): Promise<number> {
  const before = cpuTime();
  await work();
  return cpuTime() - before;
}

/**
 * The longest turn of an event loop that turns as fast as it can beside work: by the CPU time of the process in it, since
 * a machine with other work to do lets any process wait.
 */
async function longestTurn(work: () => Promise<unknown>): Promise<number> {
  let longest = 0;
  let last = cpuTime();
  let over = false;
  const turn = (): void => {
    const now = cpuTime();
    longest = Math.max(longest, now - last);
    last = now;
    if (!over) setImmediate(turn);
  };
  setImmediate(turn);
  await work();
  over = true;
  return longest;
}

function countersOf(keys: number, used: number) {
  const counters = createCounters(HOUR);
  for (let key = 0; key < keys; key++) {
    const slot = slotOf(counters, `key_${key.toString(16).padStart(16, "0")}`);
    if (used > 0) addUsage(counters, slot, windowAt(counters, NOW), used + (key % 1000));
  }
  return counters;
}

const folder = mkdtempSync(join(tmpdir(), "orrery-state-"));
const rows: string[][] = [];
for (const keys of sizes) {
  const file = join(folder, String(keys));
  const counters = countersOf(keys, 1);
  const window = windowAt(counters, NOW);
  const head = { windowSeconds: HOUR, window, writer: "bench", started: NOW, sequence: 1, last: true };
  const writes: number[] = [];
  const looks: number[] = [];
  const turns: number[] = [];
  for (let round = 0; round <= rounds; round++) {
    const written = await cpuOf(() => writeCounts(file, head, counters));
    const looked = await cpuOf(() => sumOfCounts(counters, window));
    const turn = await longestTurn(() => writeCounts(file, head, counters));
    // The first round warms up.
    if (round === 0) continue;
    writes.push(written);
    looks.push(looked);
    turns.push(turn);
  }
  const fresh = countersOf(keys, 0);
  const taken = await cpuOf(() => keepCounts({ file, counters: fresh, observe: () => {}, now: () => NOW }));
  rows.push([
    whole(keys),
    whole(statSync(file).size),
    fixed(median(writes), 1),
    fixed(median(turns), 2),
    fixed(Math.max(...turns), 2),
    fixed(median(looks), 1),
    fixed(taken, 0),
  ]);
}
rmSync(folder, { recursive: true });
console.log(`${machine()}; medians of ${rounds} rounds, milliseconds of CPU time.\n`);
console.log(
  markdown(
    ["keys in use", "bytes", "writing", "longest turn", "of all rounds", "nothing new", "taking up"],
    rows,
  ),
);
