/** Counts of questions and of requests without a permit since the start, over all threads. */

import type { SharedLimitsFigures } from "../observe/metrics/table.ts";

const NAMES = ["asks", "failures", "waited", "alone", "refused"] as const;

/** In shared memory, one cell for each of the names. */
export type Tally = BigInt64Array;

export function createTally(): Tally {
  return new BigInt64Array(new SharedArrayBuffer(NAMES.length * BigInt64Array.BYTES_PER_ELEMENT));
}

export function tallyUp(tally: Tally, name: (typeof NAMES)[number]): void {
  Atomics.add(tally, NAMES.indexOf(name), 1n);
}

export function readTally(tally: Tally): SharedLimitsFigures {
  const entries = NAMES.map((name, at) => [name, Number(Atomics.load(tally, at))]);
  return Object.fromEntries(entries) as SharedLimitsFigures;
}
