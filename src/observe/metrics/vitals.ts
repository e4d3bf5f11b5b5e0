/** Vital figures that a thread counts: its garbage collections, delays of its event loop, its heap. */

import { constants, PerformanceObserver } from "node:perf_hooks";
import { getHeapStatistics } from "node:v8";
import type { RequestCounters } from "./counters.ts";
import {
  boundAt,
  COLLECTION_BOUNDS,
  COLLECTION_KINDS,
  COLLECTIONS,
  DELAY_BOUNDS,
  DELAYS,
  HEAP_USED,
  histogramCells,
} from "./layout.ts";

/** Adds to a histogram: counts by bucket, followed by the sum. */
function add(counters: RequestCounters, from: number, bounds: readonly number[], seconds: number): void {
  counters[from + boundAt(bounds, seconds)]!++;
  counters[from + bounds.length + 1]! += seconds;
}

const KIND_NUMBERS = new Map<number | undefined, number>([
  [constants.NODE_PERFORMANCE_GC_MAJOR, COLLECTION_KINDS.indexOf("major")],
  [constants.NODE_PERFORMANCE_GC_MINOR, COLLECTION_KINDS.indexOf("minor")],
  [constants.NODE_PERFORMANCE_GC_INCREMENTAL, COLLECTION_KINDS.indexOf("incremental")],
  [constants.NODE_PERFORMANCE_GC_WEAKCB, COLLECTION_KINDS.indexOf("weakcb")],
]);

function watchCollections(counters: RequestCounters): void {
  const { supportedEntryTypes } = PerformanceObserver as { supportedEntryTypes?: readonly string[] };
  if (!supportedEntryTypes?.includes("gc")) return;
  const observer = new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) {
      const { duration, detail } = entry as { duration: number; detail?: { kind?: number } };
      const kind = KIND_NUMBERS.get(detail?.kind);
      if (kind === undefined) continue;
      add(
        counters,
        COLLECTIONS + kind * histogramCells(COLLECTION_BOUNDS),
        COLLECTION_BOUNDS,
        duration / 1000,
      );
    }
  });
  observer.observe({ entryTypes: ["gc"] });
}

const HEAP_EVERY = 50;

/**
 * Watches the calling thread for good. @returns a function to call with a delay of its event loop, in milliseconds, fifty
 * times a second
 */
export function watchVitals(counters: RequestCounters): (delayMs: number) => void {
  watchCollections(counters);
  let delays = 0;
  return (ms) => {
    add(counters, DELAYS, DELAY_BOUNDS, ms / 1000);
    if (delays++ % HEAP_EVERY === 0) counters[HEAP_USED] = getHeapStatistics().used_heap_size;
  };
}
