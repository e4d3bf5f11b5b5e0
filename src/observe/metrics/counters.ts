/** Counting requests: what every thread that serves adds to, and nobody else. */

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

/** The counters of all threads, a slice each; handed to another thread they are the same counters. */
export type RequestCells = Float64Array<SharedArrayBuffer>;

/** The counters of one thread. Only that thread writes to them. */
export type RequestCounters = Float64Array<SharedArrayBuffer>;

/** Makes counters for so many serving threads and the main thread. A new thread goes on with those of a dead one. */
export function createRequestCells(threads: number): RequestCells {
  return new Float64Array(new SharedArrayBuffer((threads + 1) * SLICE * Float64Array.BYTES_PER_ELEMENT));
}

/** The number of the main thread. What it counts of itself lies there; where it serves, it counts requests as thread 0. */
export function mainThread(cells: RequestCells): number {
  return cells.length / SLICE - 1;
}

export function countersOf(cells: RequestCells, thread: number): RequestCounters {
  return cells.subarray(thread * SLICE, (thread + 1) * SLICE);
}

/** What had begun in a thread that died is over, and its heap is gone. */
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

/** A request that had begun will not be answered: its peer is gone. */
export function countAborted(counters: RequestCounters, began: number, method: string, route: string): void {
  counters[ACTIVE]!--;
  countRequest(counters, performance.now() - began, method, route, NO_STATUS);
}

/** Something was refused before it was a request: nobody knows when it began, nor mostly its method. */
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
