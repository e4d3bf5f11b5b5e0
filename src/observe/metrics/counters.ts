/**
 * The counters of each thread, and their labels.
 *
 * Every serving thread has its own slice in one shared array, so it counts without synchronization, and a reader sums
 * over the slices. A slice:
 *
 *     active │ newest figures │ event loop's delays │ garbage collections, by kind │
 *     rejected, by reason │ searches, by search × outcome │
 *     requests, by series │ seconds, by series │ durations, by series × bucket
 *
 * A series is a route × method × status: these tables bound their number, independent of client input. The array is
 * sparse, and memory without counts is never touched.
 */

import { FAULTS, type FaultName } from "../../model/fault.ts";
import type { Reply } from "../../model/message.ts";
import { PATHS } from "../../model/paths.ts";

const NAMES = "GET HEAD OPTIONS POST PUT DELETE PATCH CONNECT TRACE _OTHER";

/** The methods of RFC 9110, and PATCH. The last one stands for all others. */
export const METHODS: readonly string[] = NAMES.split(" ");

/** Path patterns as in the access log; the first stands for requests that matched none. */
export const ROUTE_NAMES: readonly string[] = ["", ...PATHS];

/** Stands for requests whose peer was gone before the answer: no status was sent. */
export const NO_STATUS = 0;

/** Statuses that are ever sent, in order. The first is {@link NO_STATUS}. */
export const STATUSES: readonly number[] = [
  ...new Set([NO_STATUS, 200, 204, 302, 304, ...Object.values(FAULTS).map(({ status }) => status)]),
].sort((a, b) => a - b);

/** Errors that are no rejection: answers of completed operations, a defect, and errors that no server sends. */
const ANSWERS: ReadonlySet<string> = new Set<FaultName>([
  "worldMissing",
  "userMissing",
  "instanceMissing",
  "snapshotChanged",
  "internal",
  "closed",
]);

const REJECTIONS = (Object.keys(FAULTS) as FaultName[]).filter((name) => !ANSWERS.has(name));

/** Reasons of rejections in metrics: the errors' names in snake case, such as `rate_limited`. */
export const REASONS: readonly string[] = REJECTIONS.map((name) =>
  name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
);

export const SEARCHES = ["users", "worlds", "similar_users", "similar_worlds"] as const;

/**
 * `busy` searches were refused, since too many wait; `dropped` ones lost their client. Similar searches count as `searched`: it is unknown whether a cache had the result.
 */
export const OUTCOMES = ["cached", "searched", "busy", "dropped"] as const;
export type SearchOutcome = (typeof OUTCOMES)[number];

/** Called once for each search, at its end; not for a search that failed with an error. */
export type CountSearch = (search: (typeof SEARCHES)[number], outcome: SearchOutcome) => void;

/**
 * Upper ends of the buckets of durations, in milliseconds; an unbounded bucket follows. From 5 ms on they follow
 * OpenTelemetry's conventions; the shorter ones are for quantiles, since most answers take less.
 */
export const BOUNDS_MS: readonly number[] = [
  0.02, 0.05, 0.1, 0.2, 0.5, 1, 2.5, 5, 10, 25, 50, 75, 100, 250, 500, 750, 1000, 2500, 5000, 7500, 10_000,
];
export const FIRST_SHOWN: number = BOUNDS_MS.indexOf(5);
export const BUCKETS: number = BOUNDS_MS.length + 1;

export const SERIES: number = ROUTE_NAMES.length * METHODS.length * STATUSES.length;

/** Upper ends of the buckets of the event loop's delays, in seconds. */
export const DELAY_BOUNDS: readonly number[] = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5,
];

/** Kinds of garbage collections, and the upper ends of their buckets in seconds. */
export const COLLECTION_KINDS = ["major", "minor", "incremental", "weakcb"] as const;
export const COLLECTION_BOUNDS: readonly number[] = [0.001, 0.01, 0.1, 1, 2, 5];

export function histogramCells(bounds: readonly number[]): number {
  return bounds.length + 2;
}

/** A thread's newest figures, which `vitals.ts` writes and reads: a cell each. `writtenMs` is 0 without a running thread. */
export const FIGURES = [
  "writtenMs",
  "heapUsedBytes",
  "heapTotalBytes",
  "utilization",
  "p50Ms",
  "p99Ms",
  "maxMs",
  "hits",
  "misses",
  "entries",
  "bytes",
] as const;

export const ACTIVE = 0;
export const NEWEST = 1;
export const HEAP_USED: number = NEWEST + FIGURES.indexOf("heapUsedBytes");
export const DELAYS: number = NEWEST + FIGURES.length;
export const COLLECTIONS: number = DELAYS + histogramCells(DELAY_BOUNDS);
export const REJECTED: number = COLLECTIONS + COLLECTION_KINDS.length * histogramCells(COLLECTION_BOUNDS);
export const SEARCHED: number = REJECTED + REASONS.length;
export const REQUESTS: number = SEARCHED + SEARCHES.length * OUTCOMES.length;
export const SECONDS: number = REQUESTS + SERIES;
export const DURATIONS: number = SECONDS + SERIES;

/** Cells of 8 bytes in a memory page: no two threads write to the same page. */
const PAGE = 512;
export const SLICE: number = Math.ceil((DURATIONS + SERIES * BUCKETS) / PAGE) * PAGE;

const METHOD_NUMBERS = new Map<string, number>(METHODS.map((name, number) => [name, number]));
const OTHER_METHOD = METHODS.length - 1;
const ROUTE_NUMBERS = new Map(ROUTE_NAMES.map((name, number) => [name, number]));
const REASON_NUMBERS = new Map(REJECTIONS.map((name, number) => [name, number]));
const STATUS_NUMBERS = new Uint8Array(600);
for (const [number, status] of STATUSES.entries()) STATUS_NUMBERS[status] = number;

/** Number of the series of a request. Unknown values count as `_OTHER` method, no route, no status. */
export function seriesOf(method: string, route: string, status: number): number {
  const methodNumber = method === "GET" ? 0 : (METHOD_NUMBERS.get(method) ?? OTHER_METHOD);
  const routeNumber = ROUTE_NUMBERS.get(route) ?? 0;
  return (routeNumber * METHODS.length + methodNumber) * STATUSES.length + STATUS_NUMBERS[status]!;
}

export function seriesAt(series: number): { route: string; method: string; status: number } {
  const rest = Math.floor(series / STATUSES.length);
  return {
    route: ROUTE_NAMES[Math.floor(rest / METHODS.length)]!,
    method: METHODS[rest % METHODS.length]!,
    status: STATUSES[series % STATUSES.length]!,
  };
}

/** Number of a value's bucket. @param bounds upper ends of all buckets but the last */
export function bucketOf(bounds: readonly number[], value: number): number {
  let bucket = 0;
  while (bucket < bounds.length && value > bounds[bucket]!) bucket++;
  return bucket;
}

/** The counters of all threads, a slice each, in shared memory. */
export type RequestCells = Float64Array<SharedArrayBuffer>;

/** The slice of one thread. Only that thread writes to it. */
export type RequestCounters = RequestCells;

/** Creates counters for all serving threads and the main thread. A new thread continues the counters of a dead one. */
export function createRequestCells(threads: number): RequestCells {
  return new Float64Array(new SharedArrayBuffer((threads + 1) * SLICE * Float64Array.BYTES_PER_ELEMENT));
}

/** The number of the main thread, for its vital figures; if it serves, it counts requests as thread 0. */
export function mainThread(cells: RequestCells): number {
  return cells.length / SLICE - 1;
}

export function countersOf(cells: RequestCells, thread: number): RequestCounters {
  return cells.subarray(thread * SLICE, (thread + 1) * SLICE);
}

/** Resets the active requests and the newest figures of a dead thread. */
export function forgetThread(cells: RequestCells, thread: number): void {
  countersOf(cells, thread).fill(0, 0, DELAYS);
}

export function countBegun(counters: RequestCounters): void {
  counters[ACTIVE]!++;
}

export function countAnswered(
  counters: RequestCounters,
  began: number,
  method: string,
  { route, status, fault }: Pick<Reply, "route" | "status" | "fault">,
): void {
  counters[ACTIVE]!--;
  countRequest(counters, performance.now() - began, seriesOf(method, route, status));
  if (fault !== undefined) countRejected(counters, fault);
}

/** Counts a begun request that will not be answered: its peer is gone. */
export function countAborted(counters: RequestCounters, began: number, method: string, route: string): void {
  counters[ACTIVE]!--;
  countRequest(counters, performance.now() - began, seriesOf(method, route, NO_STATUS));
}

/** Counts input that was refused before it was a request: its start and its method are unknown. */
export function countRefused(counters: RequestCounters, status: number, fault: FaultName): void {
  countRequest(counters, 0, seriesOf("", "", status));
  countRejected(counters, fault);
}

function countRequest(counters: RequestCounters, ms: number, series: number): void {
  counters[REQUESTS + series]!++;
  counters[SECONDS + series]! += ms / 1000;
  counters[DURATIONS + series * BUCKETS + bucketOf(BOUNDS_MS, ms)]!++;
}

function countRejected(counters: RequestCounters, fault: FaultName): void {
  const reason = REASON_NUMBERS.get(fault);
  if (reason !== undefined) counters[REJECTED + reason]!++;
}

export function searchCounter(counters: RequestCounters): CountSearch {
  return (search, outcome) => {
    counters[SEARCHED + SEARCHES.indexOf(search) * OUTCOMES.length + OUTCOMES.indexOf(outcome)]!++;
  };
}
