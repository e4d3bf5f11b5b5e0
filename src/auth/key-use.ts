/**
 * Use of keys: the passed and the refused requests of a key in the current window, reasons, and the time of the last one.
 *
 * Every serving thread has its own rows in shared memory, by the slots of the keys, which it alone writes; a reader sums
 * over the threads. A key takes 16 bytes per thread: the second of its last request, from which its window follows, and
 * the counts of that window. Rare refusals lie in a second table of the same size, so that its memory is touched only for
 * keys that meet them.
 */

import type { FaultName } from "../model/fault.ts";
import { MOST_SHARED } from "./limit.ts";

/** Why the requests of a key are refused. */
export const REFUSALS = ["rate_limited", "scope", "expired", "disabled", "busy"] as const;

export type Refusal = (typeof REFUSALS)[number];

const ROW = 4;
/** Second since the epoch of the last request; 0 for none. */
const SECOND = 0;
/** All requests of the window, refused ones included. */
const REQUESTS = 1;
/** Column of the first refusal reason. The first two reasons are columns of `rows`, the others of `rare`. */
const COMMON = 2;
const MOST = 2 ** 32 - 1;

export interface KeyUse {
  readonly windowSeconds: number;
  readonly rows: Uint32Array;
  readonly rare: Uint32Array;
}

/** Makes the tables of all threads, in shared memory. @param slots number of keys to count for */
export function createKeyUse(threads: number, windowSeconds: number, slots = MOST_SHARED): KeyUse[] {
  const table = (): Uint32Array =>
    new Uint32Array(new SharedArrayBuffer(slots * ROW * Uint32Array.BYTES_PER_ELEMENT));
  return Array.from({ length: threads }, () => ({ windowSeconds, rows: table(), rare: table() }));
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

function add(table: Uint32Array, at: number): void {
  if (table[at] !== MOST) table[at]!++;
}

function cellOf({ rows, rare }: KeyUse, row: number, refusal: Refusal): readonly [Uint32Array, number] {
  const place = REFUSALS.indexOf(refusal);
  return place < COMMON ? [rows, row + COMMON + place] : [rare, row + place - COMMON];
}

/** Counts a request. @param slot of its key; -1 for none @param fault why it was refused, if it was */
export function countUse(use: KeyUse, slot: number, fault: FaultName | undefined, now: number): void {
  const { rows, rare, windowSeconds } = use;
  const at = slot * ROW;
  if (slot < 0 || at >= rows.length) return;
  const second = Math.floor(now / 1000);
  const last = rows[at + SECOND]!;
  // If the clock stepped back, keep counting in the newer window.
  if (second > last) {
    if (Math.floor(second / windowSeconds) !== Math.floor(last / windowSeconds)) {
      rows.fill(0, at, at + ROW);
      if (last !== 0) rare.fill(0, at, at + ROW);
    }
    rows[at + SECOND] = second;
  }
  add(rows, at + REQUESTS);
  const refusal = fault && BY_FAULT[fault];
  if (refusal) add(...cellOf(use, at, refusal));
}

/** Notes that a request that was let in and counted is refused after all: too many searches wait. */
export function countBusy(use: KeyUse, slot: number): void {
  if (slot >= 0 && slot * ROW < use.rows.length) add(...cellOf(use, slot * ROW, "busy"));
}

/** Reads the window of `now`, or a newer one if the clock stepped back. */
export function readUse(threads: readonly KeyUse[], now: number) {
  const length = threads[0]?.windowSeconds ?? 1;
  const began = Math.floor(now / 1000 / length) * length;
  // A caller may read all keys, so `requestsBy` makes no objects.
  const tables = threads.map(({ rows }) => rows);
  return {
    /**
     * All requests of a key, including requests before a restart. @param used requests that were counted against its
     * limit
     */
    requestsBy(slot: number, used: number): number {
      const at = slot * ROW;
      let requests = 0;
      let counted = used;
      for (let thread = 0; thread < tables.length; thread++) {
        const rows = tables[thread]!;
        if (!(rows[at + SECOND]! >= began)) continue;
        requests += rows[at + REQUESTS]!;
        counted += rows[at + COMMON]!;
      }
      return Math.max(requests, counted);
    },
    /** `lastUsed` is the second since the epoch of the last request, refused or not; null if none came since the start. */
    useOf(slot: number) {
      const at = slot * ROW;
      const refused = { rate_limited: 0, scope: 0, expired: 0, disabled: 0, busy: 0 };
      let passed = 0;
      let last = 0;
      for (const use of threads) {
        last = Math.max(last, use.rows[at + SECOND] ?? 0);
        if (!(use.rows[at + SECOND]! >= began)) continue;
        passed += use.rows[at + REQUESTS]!;
        for (const refusal of REFUSALS) {
          const [table, cell] = cellOf(use, at, refusal);
          refused[refusal] += table[cell]!;
          passed -= table[cell]!;
        }
      }
      // The tables may change between two reads.
      return { passed: Math.max(0, passed), refused, lastUsed: last === 0 ? null : last };
    },
  };
}
