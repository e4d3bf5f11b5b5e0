/**
 * A measured server: the real one in a separate process, which reports on itself over IPC.
 *
 * Messages in: "measure" (starts to watch the event loop), "report", "reload".
 */

import { monitorEventLoopDelay } from "node:perf_hooks";
import { PROGRAM } from "../../src/features.ts";
import type { Observation } from "../../src/observe/events.ts";
import { startServer } from "../../src/server/server.ts";
import { DEFAULTS } from "../../test/support/options.ts";

/** The report of the process, in bytes and milliseconds. */
export interface Report {
  readonly rss: number;
  readonly longestStall: number;
  /** CPU time of all threads so far. */
  readonly cpuMs: number;
}

const [snapshot, keys, cacheBytes = "67108864", threads = "1", similar = ""] = process.argv.slice(2);
const delay = monitorEventLoopDelay({ resolution: 1 });

const server = await startServer({
  features: PROGRAM.features,
  tables: PROGRAM.tables,
  settings: {
    ...DEFAULTS,
    snapshot: snapshot!,
    keys: keys!,
    port: 0,
    docs: false,
    watch: 0,
    rateLimit: 1_000_000_000,
    searchCacheBytes: Number(cacheBytes),
    similar: similar !== "",
    threads: Number(threads),
  },
  observe: (observation: Observation) => process.send!({ observation }),
});
process.send!({ url: server.url });

process.on("message", (message) => {
  if (message === "measure") {
    delay.reset();
    // The histogram does not count the first stall after a reset: lets it pass.
    setTimeout(() => process.send!({ measuring: true }), 30);
    delay.enable();
  } else if (message === "report") {
    // The histogram counts the timer's own period of a millisecond.
    const { user, system } = process.cpuUsage();
    const report: Report = {
      rss: process.memoryUsage().rss,
      longestStall: Math.max(0, delay.max / 1e6 - 1),
      cpuMs: (user + system) / 1000,
    };
    process.send!({ report });
  } else if (message === "reload") {
    void server.reload().then(() => process.send!({ reloaded: true }));
  }
});
