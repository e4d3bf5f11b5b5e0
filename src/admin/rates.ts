/** Requests by route and status: since the start, and over the last ten seconds. */

import type { RequestCells } from "../observe/metrics/counters.ts";
import { type Figures, figuresOf, readTotals, type Totals } from "../observe/metrics/figures.ts";
import type { Latency, RequestsStatus, RouteStatus } from "./status.ts";

/** How often sums are kept. */
const EVERY_MS = 1000;
/** How many are kept: the recent interval. */
const KEPT = 10;

interface Sample {
  readonly at: number;
  readonly totals: Totals;
}

function round(value: number, digits: number): number {
  const factor = 10 ** digits;
  return Math.round(value * factor) / factor;
}

function latencyOf(latency: Figures["routes"][number]["latency"]): Latency | null {
  return latency === undefined ? null : { p50Ms: round(latency.p50Ms, 3), p99Ms: round(latency.p99Ms, 3) };
}

/** Keeps sums of the counters. */
export class Rates {
  readonly #cells: RequestCells;
  /** Oldest first. */
  readonly #samples: Sample[] = [];

  /** Starts sampling; the timer does not keep the process alive. */
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
    // In the first moments there are no figures yet.
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
