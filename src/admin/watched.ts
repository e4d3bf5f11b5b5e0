/** The listener's knowledge of its server: from observations, and from questions to its threads. */

import type { Observe } from "../observe/events.ts";
import { countersOf, mainThread, type RequestCells, watchVitals } from "../observe/metrics/counters.ts";
import type { SnapshotEvents } from "../server/load/loader.ts";
import type { OpenState } from "../server/open.ts";
import type { AdminGiven } from "../server/server.ts";
import {
  type CacheQuestion,
  figuresOfThread,
  type ThreadFigures,
} from "../server/threads/serving-messages.ts";
import type { ServingThreads } from "../server/threads/serving-threads.ts";
import { watchEventLoop } from "../util/process/event-loop.ts";
import { History, ReadinessKeeper } from "./history.ts";
import type { KeyFigures } from "./keys.ts";
import { type Figures, figuresOf, readTotals, type Totals } from "./metrics/figures.ts";
import { ObservedCounts } from "./metrics/observed.ts";
import { RecentProblems } from "./problems.ts";
import type { Latency, RequestsStatus, RouteStatus, ThreadStatus } from "./status.ts";

/** Interval between samples. */
const EVERY_MS = 1000;
/** Number of samples kept: they span the recent interval. */
const KEPT = 10;

function round(value: number, digits: number): number {
  const factor = 10 ** digits;
  return Math.round(value * factor) / factor;
}

function latencyOf(latency: Figures["routes"][number]["latency"]): Latency | null {
  return latency === undefined ? null : { p50Ms: round(latency.p50Ms, 3), p99Ms: round(latency.p99Ms, 3) };
}

/** Requests by route and status: since the start, and over the last ten seconds. */
class Rates {
  readonly #cells: RequestCells;
  /** Sums of the counters, oldest first. */
  readonly #samples: { readonly at: number; readonly totals: Totals }[] = [];

  /** The timer does not keep the process alive. */
  constructor(cells: RequestCells) {
    this.#cells = cells;
    this.#sample();
    setInterval(() => this.#sample(), EVERY_MS).unref();
  }

  #sample(): void {
    this.#samples.push({ at: performance.now(), totals: readTotals(this.#cells) });
    if (this.#samples.length > KEPT) this.#samples.shift();
  }

  requests(): RequestsStatus {
    const [oldest] = this.#samples;
    const totals = readTotals(this.#cells);
    // In the first second the interval is too short for a rate.
    const seconds = Math.max(1, (performance.now() - oldest!.at) / 1000);
    const overall = figuresOf(totals);
    const recent = figuresOf(totals, oldest!.totals);
    const perSecond = (count: number): number => round(count / seconds, 2);
    const recentOf = new Map(recent.routes.map((figures) => [figures.route, figures]));
    const routes = overall.routes.map(({ route, total, byStatus, latency }): RouteStatus => {
      const now = recentOf.get(route);
      return {
        route,
        total,
        byStatus,
        perSecond: perSecond(now?.total ?? 0),
        recent: latencyOf(now?.latency),
        overall: latencyOf(latency),
      };
    });
    return {
      total: overall.total,
      active: overall.active,
      intervalSeconds: round(seconds, 1),
      perSecond: perSecond(recent.total),
      perSecondByStatus: Object.fromEntries(
        Object.keys(overall.byStatus).map((status) => [status, perSecond(recent.byStatus[status] ?? 0)]),
      ),
      byStatus: overall.byStatus,
      rejected: overall.rejected,
      routes,
    };
  }
}

/** A thread and its answer. */
export interface AskedThread {
  readonly role: ThreadStatus["role"];
  readonly number: number;
  /** Undefined when it did not answer in time. */
  readonly figures: ThreadFigures | undefined;
}

/** A server, from before its first load to its end. */
export class WatchedServer {
  readonly given: AdminGiven;
  readonly history = new History();
  readonly observed: ObservedCounts;
  readonly readiness: ReadinessKeeper;
  readonly problems: RecentProblems;
  readonly rates: Rates;
  /** Undefined until the first snapshot is loaded. */
  opened: OpenState | undefined;
  /** Asks the serving threads, if there are several. */
  tell: ServingThreads["tell"] = async () => [];
  readonly #eventLoop: ReturnType<typeof watchEventLoop>;

  constructor(given: AdminGiven) {
    this.given = given;
    const { settings, sharedLimits, requestCells, tables } = given;
    this.observed = new ObservedCounts(tables);
    this.readiness = new ReadinessKeeper(this.history, settings);
    this.problems = new RecentProblems(tables.events, this.readiness, sharedLimits);
    this.rates = new Rates(requestCells);
    this.#eventLoop = watchEventLoop(watchVitals(countersOf(requestCells, mainThread(requestCells))));
  }

  readonly observe: Observe = (observation) => {
    this.history.observe(observation);
    this.problems.observe(observation);
    this.observed.observe(observation);
  };

  readonly snapshotEvents: SnapshotEvents = {
    began: () => this.readiness.began(),
    ended: () => this.readiness.ended(),
    confirmed: (...at) => {
      this.readiness.confirmed(...at);
      this.problems.confirmed();
    },
  };

  /** Asks all threads, the main thread first. */
  async askThreads(asked?: CacheQuestion): Promise<readonly AskedThread[]> {
    const served = this.opened?.served;
    const holds = asked !== undefined && (served?.searchHolds(asked.table, asked.term, asked.page) ?? false);
    const searches = served?.searchCounts() ?? { hits: 0, joined: 0, misses: 0, entries: 0, bytes: 0 };
    const figures = figuresOfThread(this.#eventLoop(), searches, holds);
    const told = await this.tell(asked);
    const serving = told.map(
      ({ number, figures }) => ({ role: "serving", number: number + 1, figures }) as const,
    );
    return [{ role: "main", number: 0, figures }, ...serving];
  }

  /** Asks which threads hold a page in their caches. */
  readonly askHolding = async (question: CacheQuestion): Promise<{ holding: number; asked: number }> => {
    const threads = await this.askThreads(question);
    const serving = threads.filter(({ role }) => this.given.servingThreads === 1 || role === "serving");
    return { holding: serving.filter(({ figures }) => figures?.holds).length, asked: serving.length };
  };

  /** Sources of the reports on keys; undefined until the first snapshot is loaded. */
  keyFigures(): KeyFigures | undefined {
    if (this.opened === undefined) return undefined;
    const { state, sharedLimits: shared } = this.opened;
    const { keys, counters, defaultLimit } = state.gate;
    const remainingOf = shared && ((slot: number, limit: number) => shared.read(slot, limit).remaining);
    return { keys, counters, defaultLimit, use: this.given.keyUse, remainingOf };
  }
}
