/** A thread that counts requests of one key as fast as it can, for test/auth.test.ts. */

import { parentPort, workerData } from "node:worker_threads";
import { type Counters, countRequest } from "../../src/auth/limit.ts";

export interface Counting {
  readonly counters: Counters;
  readonly slot: number;
  readonly limit: number;
  /** Number of windows, and the requests that each thread counts in each of them. */
  readonly windows: number;
  readonly requests: number;
  /** One element: 0 until all may begin. */
  readonly gate: Int32Array;
}

export interface Counted {
  readonly passed: number[];
  readonly refused: number[];
}

export function countAll({ counters, slot, limit, windows, requests }: Counting): Counted {
  const { windowSeconds } = counters;
  const passed: number[] = new Array(windows).fill(0);
  const refused: number[] = new Array(windows).fill(0);
  for (let at = 0; at < windows * requests; at++) {
    const now = Math.floor(at / requests) * windowSeconds * 1000;
    const quota = countRequest(counters, slot, limit, now);
    (quota.passed ? passed : refused)[quota.reset / windowSeconds - 1]!++;
  }
  return { passed, refused };
}

if (parentPort !== null) {
  const counting = workerData as Counting;
  parentPort.postMessage("ready");
  Atomics.wait(counting.gate, 0, 0);
  parentPort.postMessage(countAll(counting));
}
