/** Counts requests of a key without end and saves the counts in a file. Before each step prints the count that it will reach. */

import { writeSync } from "node:fs";
import { keepCounts } from "../../src/auth/keep-counts.ts";
import { createCounters, slotOf, takeUsage, usageOf, windowAt } from "../../src/auth/limit.ts";

/** So long that no window ends during the test. */
const WINDOW_SECONDS = 315_360_000;

const counters = createCounters(WINDOW_SECONDS);
const slot = slotOf(counters, "key_1");
// Many keys, so that a write takes a while.
for (let key = 2; key < 3000; key++)
  takeUsage(counters, slotOf(counters, `key_${key}`), windowAt(counters, Date.now()), 1);
const keeper = await keepCounts({
  file: process.argv[2]!,
  counters,
  observe: (observation) => process.stderr.write(`${JSON.stringify(observation)}\n`),
  everyMs: 1,
});
keeper.begin();
setInterval(() => {
  const { used } = usageOf(counters, slot);
  writeSync(1, `${used + 10}\n`);
  takeUsage(counters, slot, windowAt(counters, Date.now()), used + 10);
}, 1);
