/** Counts requests: each serving thread writes its own counters alone. */

import type { FaultName } from "../../model/fault.ts";
import type { Reply } from "../../model/message.ts";
import {
  ACTIVE,
  BUCKETS,
  bucketOf,
  type CountSearch,
  DURATIONS,
  HEAP_USED,
  NO_STATUS,
  REJECTED,
  REQUESTS,
  reasonOf,
  SECONDS,
  SLICE,
  searchCell,
  seriesOf,
} from "./layout.ts";

/** The counters of all threads, a slice each, in shared memory. */
export type RequestCells = Float64Array<SharedArrayBuffer>;

/** The counters of one thread. Only that thread writes to them. */
export type RequestCounters = Float64Array<SharedArrayBuffer>;

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

/** Resets the active requests and the heap of a dead thread. */
export function forgetThread(cells: RequestCells, thread: number): void {
  const counters = countersOf(cells, thread);
  counters[ACTIVE] = 0;
  counters[HEAP_USED] = 0;
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
  countRequest(counters, performance.now() - began, method, route, status);
  if (fault !== undefined) countRejected(counters, fault);
}

/** Counts a begun request that will not be answered: its peer is gone. */
export function countAborted(counters: RequestCounters, began: number, method: string, route: string): void {
  counters[ACTIVE]!--;
  countRequest(counters, performance.now() - began, method, route, NO_STATUS);
}

/** Counts input that was refused before it was a request: its start is unknown, and mostly its method, too. */
export function countRefused(
  counters: RequestCounters,
  method: string,
  status: number,
  fault: FaultName,
): void {
  countRequest(counters, 0, method, "", status);
  countRejected(counters, fault);
}

function countRequest(
  counters: RequestCounters,
  ms: number,
  method: string,
  route: string,
  status: number,
): void {
  const series = seriesOf(method, route, status);
  counters[REQUESTS + series]!++;
  counters[SECONDS + series]! += ms / 1000;
  counters[DURATIONS + series * BUCKETS + bucketOf(ms)]!++;
}

function countRejected(counters: RequestCounters, fault: FaultName): void {
  const reason = reasonOf(fault);
  if (reason !== undefined) counters[REJECTED + reason]!++;
}

export function searchCounter(counters: RequestCounters): CountSearch {
  return (search, outcome) => {
    counters[searchCell(search, outcome)]!++;
  };
}
