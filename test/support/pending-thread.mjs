/** A thread that enters and leaves a shared bound as fast as it can, and counts what it sees. */

import { workerData } from "node:worker_threads";
import { register } from "tsx/esm/api";

register();
const { sharePending } = await import("../../src/search/pending.ts");
const { cells, thread, seen } = workerData;
const pending = sharePending(cells, thread);
const inside = [];

function raise(at, value) {
  for (let now = Atomics.load(seen, at); now < value; now = Atomics.load(seen, at)) {
    Atomics.compareExchange(seen, at, now, value);
  }
}

for (let round = 0; round < 20_000; round++) {
  // All threads use key 1.
  const key = round % 2 === 0 ? 1 : 10 + thread;
  const leave = pending.enter(key);
  if (leave !== undefined) {
    Atomics.add(seen, 4, 1);
    raise(2, Atomics.add(seen, 0, 1) + 1);
    if (key === 1) raise(3, Atomics.add(seen, 1, 1) + 1);
    inside.push({ key, leave });
  }
  if (inside.length > 3 || leave === undefined) {
    const one = inside.shift();
    if (one === undefined) continue;
    Atomics.sub(seen, 0, 1);
    if (one.key === 1) Atomics.sub(seen, 1, 1);
    one.leave();
  }
}
for (const { key, leave } of inside) {
  Atomics.sub(seen, 0, 1);
  if (key === 1) Atomics.sub(seen, 1, 1);
  leave();
}
