/** Figures from the counters: sums over all threads, by route and status, since the start or since an earlier moment. */

import {
  ACTIVE,
  BOUNDS_MS,
  BUCKETS,
  DURATIONS,
  METHODS,
  OUTCOMES,
  REASONS,
  REJECTED,
  REQUESTS,
  type RequestCells,
  ROUTE_NAMES,
  SEARCHED,
  SEARCHES,
  SERIES,
  SLICE,
  STATUSES,
} from "../../observe/metrics/counters.ts";
import type { Latency } from "../status.ts";

/**
 * The sums at one moment: the cells of a slice before its requests, then requests by route × status, then durations by
 * route × bucket. A few kilobytes: callers can keep some to compute differences.
 */
export type Totals = Float64Array;

const BY_STATUS = REQUESTS;
const BY_BUCKET = BY_STATUS + ROUTE_NAMES.length * STATUSES.length;

export function readTotals(cells: RequestCells): Totals {
  const totals = new Float64Array(BY_BUCKET + ROUTE_NAMES.length * BUCKETS);
  for (let slice = 0; slice < cells.length; slice += SLICE) {
    for (let at = 0; at < REQUESTS; at++) totals[at]! += cells[slice + at]!;
    for (let series = 0; series < SERIES; series++) {
      const count = cells[slice + REQUESTS + series]!;
      if (count === 0) continue;
      const route = Math.floor(series / (METHODS.length * STATUSES.length));
      totals[BY_STATUS + route * STATUSES.length + (series % STATUSES.length)]! += count;
      const from = slice + DURATIONS + series * BUCKETS;
      for (let bucket = 0; bucket < BUCKETS; bucket++) {
        totals[BY_BUCKET + route * BUCKETS + bucket]! += cells[from + bucket]!;
      }
    }
  }
  return totals;
}

/** Figures of sums. @param since earlier sums of the same cells, which are subtracted */
export function figuresOf(totals: Totals, since?: Totals) {
  const counts = since === undefined ? totals : totals.map((value, at) => value - since[at]!);
  const part = (from: number, length: number): Totals => counts.subarray(from, from + length);
  const overall = new Float64Array(STATUSES.length);
  // Routes with requests, as path patterns below the API's base path; "" for requests that matched none.
  const routes = ROUTE_NAMES.flatMap((route, number) => {
    const own = part(BY_STATUS + number * STATUSES.length, STATUSES.length);
    for (let at = 0; at < own.length; at++) overall[at]! += own[at]!;
    const total = sum(own);
    if (total === 0) return [];
    const latency = latencyOf(part(BY_BUCKET + number * BUCKETS, BUCKETS));
    return [{ route, total, byStatus: named(STATUSES, own), latency }];
  });
  return {
    total: sum(overall),
    /** Such as `{"200": 12}`; "0" counts requests whose peer was gone before the answer. */
    byStatus: named(STATUSES, overall),
    active: totals[ACTIVE]!,
    routes,
    /** By reason, such as `{"rate_limited": 5}`; only reasons that occurred. */
    rejected: named(REASONS, part(REJECTED, REASONS.length)),
    searches: SEARCHES.flatMap((search, at) => {
      const ended = part(SEARCHED + at * OUTCOMES.length, OUTCOMES.length);
      return OUTCOMES.map((outcome, of) => ({ search, outcome, total: ended[of]! }));
    }),
  };
}

function sum(values: Float64Array): number {
  return values.reduce((total, value) => total + value, 0);
}

function named(names: readonly (string | number)[], values: Float64Array): Record<string, number> {
  const entries = names.map((name, at): [string, number] => [String(name), values[at]!]);
  return Object.fromEntries(entries.filter(([, value]) => value !== 0));
}

/** Durations of requests, estimated from their buckets; null without requests. */
function latencyOf(buckets: Float64Array): Latency | null {
  const [p50Ms, p99Ms] = [0.5, 0.99].map((share) => quantile(buckets, share));
  if (p50Ms === undefined || p99Ms === undefined) return null;
  return { p50Ms: Math.round(p50Ms * 1000) / 1000, p99Ms: Math.round(p99Ms * 1000) / 1000 };
}

/** A quantile of durations in milliseconds, interpolated within its bucket like in Prometheus; undefined without durations. */
export function quantile(buckets: Float64Array, share: number): number | undefined {
  const total = sum(buckets);
  if (total === 0) return undefined;
  const rank = share * total;
  let below = 0;
  for (let bucket = 0; bucket < BOUNDS_MS.length; bucket++) {
    const count = buckets[bucket]!;
    if (count > 0 && below + count >= rank) {
      const from = bucket === 0 ? 0 : BOUNDS_MS[bucket - 1]!;
      return from + ((BOUNDS_MS[bucket]! - from) * (rank - below)) / count;
    }
    below += count;
  }
  return BOUNDS_MS.at(-1)!;
}
