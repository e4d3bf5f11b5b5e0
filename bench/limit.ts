/**
 * What it costs to count a request against its key's limit.
 *
 *     npx tsx bench/limit.ts [--smoke]
 *
 * Prints nanoseconds of CPU time a request, medians of rounds in turn.
 */

import { countRequest, createCounters, createSharedCounters, slotOf } from "../src/auth/limit.ts";
import { median } from "./support/load.ts";
import { readOptions } from "./support/options.ts";
import { machine, markdown } from "./support/output.ts";

const { smoke } = readOptions({ options: { smoke: { type: "boolean", default: false } } });
const ROUNDS = smoke ? 3 : 15;
const REQUESTS = smoke ? 100_000 : 1_000_000;
const KEYS = 8;
const NOW = Date.parse("2026-01-01T00:00:00Z");

const subjects = [
  { name: "counters of one thread", make: createCounters, limit: Number.MAX_SAFE_INTEGER },
  { name: "counters that threads share", make: createSharedCounters, limit: Number.MAX_SAFE_INTEGER },
  { name: "a request that is refused", make: createCounters, limit: 1 },
].map(({ name, make, limit }) => ({ name, counters: make(3600), limit, times: [] as number[] }));

for (let round = 0; round <= ROUNDS; round++) {
  for (const { counters, limit, times } of subjects) {
    const slots = Array.from({ length: KEYS }, (_, key) => slotOf(counters, `key ${key}`));
    let remaining = 0;
    const before = process.cpuUsage();
    for (let at = 0; at < REQUESTS; at++) {
      remaining += countRequest(counters, slots[at % KEYS]!, limit, NOW + at / 1000).remaining;
    }
    const { user, system } = process.cpuUsage(before);
    if (Number.isNaN(remaining)) throw new Error("not counted");
    // The first round warms up.
    if (round > 0) times.push(((user + system) * 1000) / REQUESTS);
  }
}
console.log(`${machine()}; medians of ${ROUNDS}, nanoseconds a request.\n`);
console.log(
  markdown(
    ["", "ns"],
    subjects.map(({ name, times }) => [name, median(times).toFixed(0)]),
  ),
);
