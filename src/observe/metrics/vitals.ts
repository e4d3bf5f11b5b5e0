/**
 * How a thread is: its heap, event loop, garbage collections and search cache. The thread writes to its counters, and
 * the admin listener reads them, so a thread that hangs delays nobody: its figures get old.
 */

import { constants, PerformanceObserver } from "node:perf_hooks";
import { getHeapStatistics } from "node:v8";
import { watchEventLoop } from "../../util/process/event-loop.ts";
import type { CacheCounts } from "../events.ts";
import {
  bucketOf,
  COLLECTION_BOUNDS,
  COLLECTIONS,
  DELAY_BOUNDS,
  DELAYS,
  FIGURES,
  histogramCells,
  NEWEST,
  type RequestCounters,
} from "./counters.ts";

/** Null where the runtime does not report a figure, or nothing was measured yet. */
export type ThreadFigures = Readonly<Record<(typeof FIGURES)[number], number | null>>;

/** Delays of the event loop between two writes: 200 ms, if there is none. */
const WRITE_EVERY = 10;
/** Without a write for so long, a thread hangs. */
const LATE_MS = 1000;

/** Milliseconds by a clock that all threads share. */
function nowMs(): number {
  return Number(process.hrtime.bigint() / 1_000_000n);
}

/**
 * Watches the calling thread for good, and writes its figures about five times a second.
 * @param searches of the served generation's cache @returns writes the figures at once
 */
export function watchVitals(counters: RequestCounters, searches: () => CacheCounts): () => void {
  watchCollections(counters);
  let delays = 0;
  const eventLoop = watchEventLoop((ms) => {
    add(counters, DELAYS, DELAY_BOUNDS, ms / 1000);
    if (delays++ % WRITE_EVERY === 0) write();
  });
  function write(): void {
    const { used_heap_size: heapUsedBytes, total_heap_size: heapTotalBytes } = getHeapStatistics();
    const figures: ThreadFigures = {
      writtenMs: nowMs(),
      heapUsedBytes,
      heapTotalBytes,
      ...eventLoop(),
      ...searches(),
    };
    for (const [at, name] of FIGURES.entries()) counters[NEWEST + at] = figures[name] ?? Number.NaN;
  }
  return write;
}

/** The newest figures of a thread: "none" if it does not run, "late" if it hangs. */
export function readVitals(counters: RequestCounters): ThreadFigures | "none" | "late" {
  const cells = FIGURES.map((name, at) => [name, counters[NEWEST + at]!] as const);
  const figures = Object.fromEntries(
    cells.map(([name, value]) => [name, Number.isNaN(value) ? null : value]),
  ) as ThreadFigures;
  if (figures.writtenMs === 0) return "none";
  return nowMs() - figures.writtenMs! > LATE_MS ? "late" : figures;
}

/** Adds to a histogram: counts by bucket, followed by the sum. */
function add(counters: RequestCounters, from: number, bounds: readonly number[], seconds: number): void {
  counters[from + bucketOf(bounds, seconds)]!++;
  counters[from + bounds.length + 1]! += seconds;
}

/** Node's numbers of {@link COLLECTION_KINDS}. */
const KIND_NUMBERS: readonly (number | undefined)[] = [
  constants.NODE_PERFORMANCE_GC_MAJOR,
  constants.NODE_PERFORMANCE_GC_MINOR,
  constants.NODE_PERFORMANCE_GC_INCREMENTAL,
  constants.NODE_PERFORMANCE_GC_WEAKCB,
];

function watchCollections(counters: RequestCounters): void {
  const { supportedEntryTypes } = PerformanceObserver as { supportedEntryTypes?: readonly string[] };
  if (!supportedEntryTypes?.includes("gc")) return;
  const observer = new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) {
      const { duration, detail } = entry as { duration: number; detail?: { kind?: number } };
      const kind = KIND_NUMBERS.indexOf(detail?.kind);
      if (kind < 0) continue;
      const from = COLLECTIONS + kind * histogramCells(COLLECTION_BOUNDS);
      add(counters, from, COLLECTION_BOUNDS, duration / 1000);
    }
  });
  observer.observe({ entryTypes: ["gc"] });
}
