/**
 * Use of keys: the passed and the refused requests of a key in the current window, reasons, and the time of the last one.
 *
 * Every serving thread has its own rows in shared memory, by the slots of the keys, which it alone writes; a reader sums
 * over the threads. A row has the second of the key's last request, from which its window follows, and the counts of that
 * window. Memory that no key uses is never touched.
 */

import type { FaultName } from "../model/fault.ts";
import { MOST_SHARED } from "./limit.ts";

/** Why the requests of a key are refused. */
export const REFUSALS = ["rate_limited", "scope", "expired", "disabled", "busy"] as const;

export type Refusal = (typeof REFUSALS)[number];

/** Numbers in a row: a power of two, so that no row lies in two lines of the processor's cache. */
const ROW = 8;
/** Second since the epoch of the last request; 0 for none. */
const SECOND = 0;
/** All requests of the window, refused ones included. */
const REQUESTS = 1;
/** The first of {@link REFUSALS}; the others follow. */
const REFUSED = 2;
const MOST = 2 ** 32 - 1;

export interface KeyUse {
  readonly windowSeconds: number;
  readonly rows: Uint32Array;
}

/** Makes the tables of all threads, in shared memory. @param slots number of keys to count for */
export function createKeyUse(threads: number, windowSeconds: number, slots = MOST_SHARED): KeyUse[] {
  const bytes = slots * ROW * Uint32Array.BYTES_PER_ELEMENT;
  return Array.from({ length: threads }, () => {
    return { windowSeconds, rows: new Uint32Array(new SharedArrayBuffer(bytes)) };
  });
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

function add(rows: Uint32Array, at: number): void {
  if (rows[at] !== MOST) rows[at]!++;
}

/** Counts a request. @param slot of its key; -1 for none @param fault why it was refused, if it was */
export function countUse(use: KeyUse, slot: number, fault: FaultName | undefined, now: number): void {
  const { rows, windowSeconds } = use;
  const at = slot * ROW;
  if (slot < 0 || at >= rows.length) return;
  const second = Math.floor(now / 1000);
  const last = rows[at + SECOND]!;
  // If the clock stepped back, keep counting in the newer window.
  if (second > last) {
    if (Math.floor(second / windowSeconds) !== Math.floor(last / windowSeconds)) rows.fill(0, at, at + ROW);
    rows[at + SECOND] = second;
  }
  add(rows, at + REQUESTS);
  const refusal = fault && BY_FAULT[fault];
  if (refusal) add(rows, at + REFUSED + REFUSALS.indexOf(refusal));
}

/** Notes that a request that was let in and counted is refused after all: too many searches wait. */
export function countBusy({ rows }: KeyUse, slot: number): void {
  if (slot >= 0 && slot * ROW < rows.length) add(rows, slot * ROW + REFUSED + REFUSALS.indexOf("busy"));
}

/** Reads the window of `now`, or a newer one if the clock stepped back. */
export function readUse(threads: readonly KeyUse[], now: number) {
  const length = threads[0]?.windowSeconds ?? 1;
  const began = Math.floor(now / 1000 / length) * length;
  return {
    /**
     * All requests of a key, including requests before a restart. @param used requests that were counted against its
     * limit
     */
    requestsBy(slot: number, used: number): number {
      const at = slot * ROW;
      let requests = 0;
      let counted = used;
      for (const { rows } of threads) {
        if (!(rows[at + SECOND]! >= began)) continue;
        requests += rows[at + REQUESTS]!;
        counted += rows[at + REFUSED + REFUSALS.indexOf("rate_limited")]!;
      }
      return Math.max(requests, counted);
    },
    /** `lastUsed` is the second since the epoch of the last request, refused or not; null if none came since the start. */
    useOf(slot: number) {
      const at = slot * ROW;
      const refused = { rate_limited: 0, scope: 0, expired: 0, disabled: 0, busy: 0 };
      let passed = 0;
      let last = 0;
      for (const { rows } of threads) {
        const second = rows[at + SECOND] ?? 0;
        last = Math.max(last, second);
        if (second < began) continue;
        passed += rows[at + REQUESTS]!;
        for (const [place, refusal] of REFUSALS.entries()) {
          refused[refusal] += rows[at + REFUSED + place]!;
          passed -= rows[at + REFUSED + place]!;
        }
      }
      // The tables may change between two reads.
      return { passed: Math.max(0, passed), refused, lastUsed: last === 0 ? null : last };
    },
  };
}
