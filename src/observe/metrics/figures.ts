/**
 * Figures from the counters: sums over all threads, by route and status, since the start or since an earlier moment.
 */

import type { RequestCells } from "./counters.ts";
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
  ROUTE_NAMES,
  SEARCHED,
  SEARCHES,
  SERIES,
  SLICE,
  STATUSES,
} from "./layout.ts";

/** The sums at one moment. A few kilobytes: callers can keep some to compute differences. */
export interface Totals {
  readonly requests: Float64Array;
  readonly durations: Float64Array;
  readonly active: number;
  readonly rejected: Float64Array;
  readonly searches: Float64Array;
}

export function readTotals(cells: RequestCells): Totals {
  const requests = new Float64Array(ROUTE_NAMES.length * STATUSES.length);
  const durations = new Float64Array(ROUTE_NAMES.length * BUCKETS);
  const rejected = new Float64Array(REASONS.length);
  const searches = new Float64Array(SEARCHES.length * OUTCOMES.length);
  let active = 0;
  for (let slice = 0; slice < cells.length; slice += SLICE) {
    active += cells[slice + ACTIVE]!;
    for (let at = 0; at < rejected.length; at++) rejected[at]! += cells[slice + REJECTED + at]!;
    for (let at = 0; at < searches.length; at++) searches[at]! += cells[slice + SEARCHED + at]!;
    for (let series = 0; series < SERIES; series++) {
      const count = cells[slice + REQUESTS + series]!;
      if (count === 0) continue;
      const route = Math.floor(series / (METHODS.length * STATUSES.length));
      requests[route * STATUSES.length + (series % STATUSES.length)]! += count;
      const from = slice + DURATIONS + series * BUCKETS;
      for (let bucket = 0; bucket < BUCKETS; bucket++) {
        durations[route * BUCKETS + bucket]! += cells[from + bucket]!;
      }
    }
  }
  return { requests, durations, active, rejected, searches };
}

/** Durations of requests in milliseconds, estimated from their buckets. */
export interface Quantiles {
  readonly p50Ms: number;
  readonly p99Ms: number;
}

export interface RouteFigures {
  /** Path pattern below the API's base path, such as `/worlds/:id`; "" for requests that matched none. */
  readonly route: string;
  readonly total: number;
  /** By status, such as `{"200": 12}`; "0" counts requests whose peer was gone before the answer. */
  readonly byStatus: Readonly<Record<string, number>>;
  readonly latency: Quantiles | undefined;
}

export interface Figures {
  readonly total: number;
  readonly byStatus: Readonly<Record<string, number>>;
  readonly active: number;
  /** Routes with requests, in the order of the route table. */
  readonly routes: readonly RouteFigures[];
  /** By reason, such as `{"rate_limited": 5}`; only reasons that occurred. */
  readonly rejected: Readonly<Record<string, number>>;
  /** By search and outcome, zeros included. */
  readonly searches: readonly { readonly search: string; readonly outcome: string; readonly total: number }[];
}

/** Figures of sums. @param since earlier sums of the same cells, which are subtracted */
export function figuresOf(totals: Totals, since?: Totals): Figures {
  const requests = difference(totals.requests, since?.requests);
  const durations = difference(totals.durations, since?.durations);
  const rejected = difference(totals.rejected, since?.rejected);
  const searches = difference(totals.searches, since?.searches);
  const overall = new Float64Array(STATUSES.length);
  const routes: RouteFigures[] = [];
  for (const [number, route] of ROUTE_NAMES.entries()) {
    const own = requests.subarray(number * STATUSES.length, (number + 1) * STATUSES.length);
    for (let at = 0; at < own.length; at++) overall[at]! += own[at]!;
    const total = sum(own);
    if (total === 0) continue;
    const buckets = durations.subarray(number * BUCKETS, (number + 1) * BUCKETS);
    routes.push({ route, total, byStatus: named(STATUSES, own), latency: quantilesOf(buckets) });
  }
  return {
    total: sum(overall),
    byStatus: named(STATUSES, overall),
    active: totals.active,
    routes,
    rejected: named(REASONS, rejected),
    searches: SEARCHES.flatMap((search, at) =>
      OUTCOMES.map((outcome, of) => ({ search, outcome, total: searches[at * OUTCOMES.length + of]! })),
    ),
  };
}

function difference(now: Float64Array, before: Float64Array | undefined): Float64Array {
  return before === undefined ? now : now.map((value, at) => value - before[at]!);
}

function sum(values: Float64Array): number {
  return values.reduce((total, value) => total + value, 0);
}

function named(names: readonly (string | number)[], values: Float64Array): Record<string, number> {
  const entries = names.map((name, at): [string, number] => [String(name), values[at]!]);
  return Object.fromEntries(entries.filter(([, value]) => value !== 0));
}

function quantilesOf(buckets: Float64Array): Quantiles | undefined {
  const p50Ms = quantile(buckets, 0.5);
  const p99Ms = quantile(buckets, 0.99);
  return p50Ms === undefined || p99Ms === undefined ? undefined : { p50Ms, p99Ms };
}

/**
 * A quantile of durations in milliseconds, interpolated within its bucket like in Prometheus; undefined without durations.
 *
 * @param share from 0 to 1
 */
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
