/** The listener's knowledge of its server: from observations, and from the counters of its threads. */

import type { CacheCounts, Observation } from "../observe/events.ts";
import { countersOf, mainThread, type RequestCells } from "../observe/metrics/counters.ts";
import { readVitals, watchVitals } from "../observe/metrics/vitals.ts";
import type { OpenState } from "../server/open.ts";
import type { AdminGiven } from "../server/server.ts";
import { Health } from "./health.ts";
import type { KeyFigures } from "./keys.ts";
import { figuresOf, readTotals } from "./metrics/figures.ts";
import { countEvents } from "./metrics/observed.ts";
import type { Status } from "./status.ts";

const EVERY_MS = 1000;
/** Samples that span the recent interval. */
const MOST_SAMPLES = 10;

/** Adds samples to the first ones, by a timer that does not keep the process alive. @returns the last ones, oldest first */
export function keepSamples<Sample>(
  samples: Sample[],
  most: number,
  everyMs: number,
  take: () => Sample,
): readonly Sample[] {
  const add = (): void => {
    samples.push(take());
    if (samples.length > most) samples.shift();
  };
  setInterval(add, everyMs).unref();
  return samples;
}

/** @returns a function that gives the requests by route and status: since the start, and over the last ten seconds */
function watchRequests(cells: RequestCells): () => Status["requests"] {
  /** The sums of the counters at a moment. */
  const sample = () => ({ at: performance.now(), totals: readTotals(cells) });
  const samples = keepSamples([sample()], MOST_SAMPLES, EVERY_MS, sample);
  return () => {
    const [oldest] = samples;
    const totals = readTotals(cells);
    // In the first second the interval is too short for a rate.
    const seconds = Math.max(1, (performance.now() - oldest!.at) / 1000);
    const { total, active, byStatus, rejected, routes } = figuresOf(totals);
    const recent = figuresOf(totals, oldest!.totals);
    const perSecond = (count = 0): number => Math.round((count / seconds) * 100) / 100;
    const recentOf = new Map(recent.routes.map((figures) => [figures.route, figures]));
    return {
      total,
      active,
      intervalSeconds: Math.round(seconds * 10) / 10,
      perSecond: perSecond(recent.total),
      perSecondByStatus: Object.fromEntries(
        Object.keys(byStatus).map((status) => [status, perSecond(recent.byStatus[status])]),
      ),
      byStatus,
      rejected,
      routes: routes.map(({ latency: overall, ...route }) => {
        const now = recentOf.get(route.route);
        return { ...route, perSecond: perSecond(now?.total), recent: now?.latency ?? null, overall };
      }),
    };
  };
}

const NO_SEARCHES: CacheCounts = { hits: 0, misses: 0, entries: 0, bytes: 0 };

/** A server, from before its first load to its end. */
export type WatchedServer = ReturnType<typeof watchServer>;

export function watchServer(given: AdminGiven) {
  const { settings, requestCells: cells, tables } = given;
  const health = new Health(settings, tables.events);
  const observed = countEvents(tables);
  const main = mainThread(cells);
  const server = {
    given,
    health,
    observed,
    requests: watchRequests(cells),
    opened: undefined as OpenState | undefined,
    snapshotEvents: health,
    observe(observation: Observation): void {
      health.observe(observation);
      observed.observe(observation);
    },
    onProgress(share: number): void {
      health.progress = share;
    },
    /** The newest figures of the running threads, the main thread first; a thread that hangs has none. */
    threads() {
      writeVitals();
      return [main, ...Array(main).keys()].flatMap((thread) => {
        const figures = readVitals(countersOf(cells, thread));
        if (figures === "none") return [];
        return {
          role: thread === main ? ("main" as const) : ("serving" as const),
          number: thread === main ? 0 : thread + 1,
          figures: figures === "late" ? undefined : figures,
        };
      });
    },
    /** Sources of the reports on keys; undefined until the first snapshot is loaded. */
    keyFigures(): KeyFigures | undefined {
      return server.opened && { ...server.opened.state.gate, use: given.keyUse };
    },
  };
  const searches = () => server.opened?.served.search.counts() ?? NO_SEARCHES;
  const writeVitals = watchVitals(countersOf(cells, main), searches);
  return server;
}
