/** The process: memory, delay of event loops, threads; and the cache of searches. */

import type { Moment, Status, ThreadStatus } from "../status.ts";
import { Chart, type Line } from "./charts.ts";
import { make } from "./dom.ts";
import { bytes, count, counted, millis, NONE, percent } from "./format.ts";
import type { SampleFigures } from "./history.ts";
import { card, type Fact, facts, note, table } from "./parts.ts";

const MEMORY_LINES: readonly Line[] = [
  { name: "rss", label: "resident", colour: 1 },
  { name: "arrays", label: "array buffers", colour: 2 },
  { name: "heap", label: "heap", colour: 5 },
];
const DELAY_LINES: readonly Line[] = [{ name: "delay", label: "event loop delay", colour: 1 }];

/** The figures of a moment that the charts remember. */
export function processFigures({ memory, threads }: Moment): SampleFigures {
  return {
    rss: memory.rssBytes,
    arrays: memory.arrayBuffersBytes,
    heap: memory.heapUsedBytes,
    delay: threads.delayP99Ms,
  };
}

function threadName({ role, number, isAnswering }: ThreadStatus, { threads }: Status): HTMLElement | string {
  const ofMain = threads.serving > 1 ? "main" : "main, serving";
  const name = role === "main" ? ofMain : `serving ${number}`;
  return isAnswering ? name : make("span", { class: "problem" }, `${name}: does not answer`);
}

function restartsOf({ threads }: Status): string {
  const died = Object.entries(threads.restarts).filter(([, times]) => times > 0);
  const told = died.map(([role, times]) => `${role} ${counted(times, "time")}`).join(", ");
  return told === "" ? "" : `Died and replaced since the start: ${told}.`;
}

function searchFacts({ searchCache }: Status): readonly Fact[] {
  const { hits, joined, misses, entries, maxBytes } = searchCache;
  const searches = hits + joined + misses;
  return [
    ["Hit rate", searches === 0 ? "no search yet" : percent(hits / searches)],
    ["Hits", count(hits)],
    ["Waited for the same search", count(joined)],
    ["Searched", count(misses)],
    ["Results kept", count(entries)],
    ["Memory", maxBytes === 0 ? "turned off" : bytes(searchCache.bytes)],
    ["At most", maxBytes === 0 ? NONE : bytes(maxBytes)],
  ];
}

/** The cache of searches. */
export const SEARCH_CACHE_CARD = card(
  { id: "search", title: "Search cache", isWide: false },
  facts("search", searchFacts, ""),
);

/** The chart of memory. */
export const MEMORY_CARD = card(
  { id: "memory", title: "Memory", isWide: true },
  new Chart({
    id: "memory",
    title: "Memory",
    isLow: true,
    lines: () => MEMORY_LINES,
    write: bytes,
    least: 1e6,
  }),
);

/** Threads and the delay of their event loops. */
export const THREADS_CARD = card(
  { id: "threads", title: "Threads", more: "event loop delay, p99 of the slowest", isWide: true },
  new Chart({
    id: "delay",
    title: "Event loop delay",
    isLow: true,
    lines: () => DELAY_LINES,
    write: millis,
    least: 1,
  }),
  table<ThreadStatus>({
    id: "threads",
    caption: "Threads that serve or coordinate",
    columns: [
      { title: "Thread", cell: threadName },
      { title: "Busy", kind: "number", cell: ({ eventLoop }) => percent(eventLoop?.utilization) },
      { title: "Delay p99", kind: "number", cell: ({ eventLoop }) => millis(eventLoop?.delay?.p99Ms) },
      { title: "Delay max", kind: "number spare", cell: ({ eventLoop }) => millis(eventLoop?.delay?.maxMs) },
      { title: "Heap", kind: "number", cell: ({ heapUsedBytes }) => bytes(heapUsedBytes) },
    ],
    items: ({ threads }) => threads.all,
    empty: "",
  }),
  note("restarts", "empty", restartsOf),
);
