/** A thread that counts requests of one key as fast as it can, from when all threads are there. */

import { workerData } from "node:worker_threads";
import { register } from "tsx/esm/api";

register();
const { countRequest } = await import("../../src/auth/limit.ts");
const { counters, slot, limit, windows, requests, threads, waiting, passed, refused } = workerData;
const { windowSeconds } = counters;
Atomics.add(waiting, 0, 1);
while (Atomics.load(waiting, 0) < threads);
for (let at = 0; at < windows * requests; at++) {
  const now = Math.floor(at / requests) * windowSeconds * 1000;
  const quota = countRequest(counters, slot, limit, now);
  Atomics.add(quota.passed ? passed : refused, quota.reset / windowSeconds - 1, 1);
}
