/**
 * Use of keys since the start of the server: passed requests, refused ones by reason, and the time of the last request.
 *
 * Every serving thread has its own table in shared memory, with a row for the slot of each key. It alone writes there; a
 * reader sums over the threads.
 */

import type { FaultName } from "../model/fault.ts";
import { MOST_SHARED } from "./limit.ts";

export const REFUSALS = ["rate_limited", "scope", "expired", "disabled", "busy"] as const;

export type Refusal = (typeof REFUSALS)[number];

/** Columns of a row; after these, one for each of {@link REFUSALS}. `LAST` is a second since the epoch, 0 for none. */
const LAST = 0;
const PASSED = 1;
const REFUSED = 2;
const ROW = REFUSED + REFUSALS.length;
const BUSY = REFUSED + REFUSALS.indexOf("busy");

/** A thread's table. Counts of 32 bits would be full after weeks. */
export type KeyUse = Float64Array;

/** Makes the tables of all threads, in shared memory. @param slots number of keys to count for */
export function createKeyUse(threads: number, slots = MOST_SHARED): KeyUse[] {
  const bytes = slots * ROW * Float64Array.BYTES_PER_ELEMENT;
  return Array.from({ length: threads }, () => new Float64Array(new SharedArrayBuffer(bytes)));
}

/** The refusals of a known key, by error. A disabled CLI token gets the answer of an unknown one. */
const BY_FAULT: Readonly<Partial<Record<FaultName, Refusal>>> = {
  rateLimited: "rate_limited",
  scopeWorlds: "scope",
  scopeUsers: "scope",
  scopeInstances: "scope",
  apiKeyExpired: "expired",
  cliTokenExpired: "expired",
  apiKeyInactive: "disabled",
  cliTokenUnknown: "disabled",
};

/** Counts a request. @param slot of its key; -1 for none @param fault why it was refused, if it was */
export function countUse(use: KeyUse, slot: number, fault: FaultName | undefined, now: number): void {
  const at = slot * ROW;
  if (slot < 0 || at >= use.length) return;
  // The clock may step back.
  use[at + LAST] = Math.max(use[at + LAST]!, Math.floor(now / 1000));
  const refusal = fault && BY_FAULT[fault];
  use[at + (refusal ? REFUSED + REFUSALS.indexOf(refusal) : PASSED)]!++;
}

/** Notes that a request that was let in and counted is refused after all: too many searches wait. */
export function countBusy(use: KeyUse, slot: number): void {
  const at = slot * ROW;
  if (slot < 0 || at >= use.length) return;
  use[at + PASSED]!--;
  use[at + BUSY]!++;
}

/** All requests of a key, refused ones included; makes no objects, since a caller may read all keys. */
export function requestsOf(threads: readonly KeyUse[], slot: number): number {
  let requests = 0;
  for (const use of threads) {
    for (let column = PASSED; column < ROW; column++) requests += use[slot * ROW + column] ?? 0;
  }
  return requests;
}

/** Use of a key. `lastUsed` is the second since the epoch of the last request, refused or not; null if none came. */
export function useOf(threads: readonly KeyUse[], slot: number) {
  const sumOf = (column: number): number =>
    threads.reduce((sum, use) => sum + (use[slot * ROW + column] ?? 0), 0);
  const refused = Object.fromEntries(REFUSALS.map((refusal, at) => [refusal, sumOf(REFUSED + at)]));
  const last = Math.max(0, ...threads.map((use) => use[slot * ROW + LAST] ?? 0));
  return {
    passed: sumOf(PASSED),
    refused: refused as Record<Refusal, number>,
    lastUsed: last === 0 ? null : last,
  };
}
