/** The process: memory, delay of event loops, threads; and the cache of searches. */

import type { Moment, Status, ThreadStatus } from "../status.ts";
import { createChart, type Line } from "./charts.ts";
import { byId, fillRows, make, makeRow, setText, show } from "./dom.ts";
import { bytes, count, counted, millis, NONE, percent } from "./format.ts";
import type { Figures, History } from "./history.ts";

const MEMORY: readonly Line[] = [
  { name: "rss", label: "resident", colour: 1 },
  { name: "arrays", label: "array buffers", colour: 2 },
  { name: "heap", label: "heap", colour: 5 },
];
const DELAY: readonly Line[] = [{ name: "delay", label: "event loop delay", colour: 1 }];

const memoryChart = createChart({ id: "memory", title: "Memory", height: 120, write: bytes, least: 1e6 });
const delayChart = createChart({
  id: "delay",
  title: "Event loop delay",
  height: 120,
  write: millis,
  least: 1,
});

/** What of an answer the charts remember. */
export function processFigures({ memory, threads }: Moment): Figures {
  return {
    rss: memory.rssBytes,
    arrays: memory.arrayBuffersBytes,
    heap: memory.heapUsedBytes,
    delay: threads.delayP99Ms,
  };
}

function threadName({ role, number }: ThreadStatus, serving: number): string {
  if (role !== "main") return `serving ${number}`;
  return serving > 1 ? "main" : "main, serving";
}

function showThreads({ threads }: Status): void {
  const { all, serving, restarts } = threads;
  fillRows(byId("threads"), all, {
    keyOf: ({ role, number }) => `${role} ${number}`,
    make: () => {
      const row = makeRow(["text", "number", "number", "number", "number"]);
      row.cells[3]!.classList.add("spare");
      return row;
    },
    update: (row, thread) => {
      const { cells } = row as HTMLTableRowElement;
      const delay = thread.eventLoop?.delay;
      setText(cells[0]!, threadName(thread, serving) + (thread.isAnswering ? "" : ": does not answer"));
      cells[0]!.classList.toggle("problem", !thread.isAnswering);
      setText(cells[1]!, percent(thread.eventLoop?.utilization));
      setText(cells[2]!, millis(delay?.p99Ms));
      setText(cells[3]!, millis(delay?.maxMs));
      setText(cells[4]!, bytes(thread.heapUsedBytes));
    },
  });
  const died = Object.entries(restarts).filter(([, times]) => times > 0);
  const told = died.map(([role, times]) => `${role} ${counted(times, "time")}`).join(", ");
  setText(byId("restarts"), told === "" ? "" : `Died and replaced since the start: ${told}.`);
  show(byId("restarts"), told !== "");
}

function showSearchCache({ searchCache }: Status): void {
  const { hits, joined, misses, entries, maxBytes } = searchCache;
  const searches = hits + joined + misses;
  const facts: readonly (readonly [string, string])[] = [
    ["Hit rate", searches === 0 ? "no search yet" : percent(hits / searches)],
    ["Hits", count(hits)],
    ["Waited for the same search", count(joined)],
    ["Searched", count(misses)],
    ["Results kept", count(entries)],
    ["Memory", maxBytes === 0 ? "turned off" : bytes(searchCache.bytes)],
    ["At most", maxBytes === 0 ? NONE : bytes(maxBytes)],
  ];
  fillRows(byId("search"), facts, {
    keyOf: ([name]) => name,
    make: () => make("div", {}, make("dt"), make("dd")),
    update: (row, [name, value]) => {
      setText(row.children[0]!, name);
      setText(row.children[1]!, value);
    },
  });
}

/** Shows all of it. */
export function showProcess(status: Status, history: History): void {
  memoryChart.draw(history, MEMORY);
  delayChart.draw(history, DELAY);
  showThreads(status);
  showSearchCache(status);
}
