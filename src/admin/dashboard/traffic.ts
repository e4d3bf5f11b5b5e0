/** Requests: rates by status, latency by route, the table of routes, and what was refused. */

import type { Moment, RouteStatus, Status } from "../status.ts";
import { createChart, type Line } from "./charts.ts";
import { byId, fillRows, foreign, make, makeRow, setForeign, setText, show } from "./dom.ts";
import { count, millis, NONE, rate } from "./format.ts";
import type { Figures, History } from "./history.ts";
import { routeName } from "./tiles.ts";

const MOST_LINES = 5;

/** What the chart tells apart. Too many requests are the clients' doing and no error of theirs; so they stand alone. */
const CLASSES: readonly (Line & { readonly holds: (status: number) => boolean })[] = [
  { name: "5xx", label: "5xx failures", colour: 4, holds: (status) => status >= 500 },
  { name: "429", label: "429 over the limit", colour: 5, holds: (status) => status === 429 },
  {
    name: "4xx",
    label: "4xx errors",
    colour: 3,
    holds: (status) => status >= 400 && status < 500 && status !== 429,
  },
  {
    name: "3xx",
    label: "3xx unchanged, elsewhere",
    colour: 2,
    holds: (status) => status >= 300 && status < 400,
  },
  { name: "2xx", label: "2xx answered", colour: 1, holds: (status) => status < 300 },
];

const requestsChart = createChart({
  id: "requests",
  title: "Requests a second by status",
  height: 200,
  write: rate,
  isStacked: true,
  least: 1,
});
const latencyChart = createChart({
  id: "latency",
  title: "99th percentile of the latency by route",
  height: 200,
  write: millis,
  least: 1,
  isLogarithmic: true,
});

/** What of an answer the charts remember. */
export function trafficFigures({ requests }: Moment): Figures {
  const figures: Record<string, number | null> = {};
  for (const { name } of CLASSES) figures[name] = 0;
  for (const [status, each] of Object.entries(requests.perSecondByStatus)) {
    const group = CLASSES.find(({ holds }) => holds(Number(status)));
    if (group !== undefined) figures[group.name] = figures[group.name]! + each;
  }
  for (const { route, recent } of requests.routes) figures[`p99 ${route}`] = recent?.p99Ms || null;
  return figures;
}

/** Routes with a colour; they keep it while they have a line. */
const coloured: (string | undefined)[] = Array.from({ length: MOST_LINES });

function linesOf(routes: readonly RouteStatus[]): Line[] {
  const busiest = routes
    .slice()
    .sort((a, b) => b.total - a.total)
    .slice(0, MOST_LINES)
    .map(({ route }) => route);
  coloured.forEach((route, at) => {
    if (route !== undefined && !busiest.includes(route)) coloured[at] = undefined;
  });
  for (const route of busiest) {
    if (!coloured.includes(route)) coloured[coloured.indexOf(undefined)] = route;
  }
  return coloured.flatMap((route, at) =>
    route === undefined ? [] : { name: `p99 ${route}`, label: routeName(route), colour: at + 1 },
  );
}

function errorsOf({ byStatus }: RouteStatus): number {
  let errors = 0;
  for (const [status, requests] of Object.entries(byStatus)) if (Number(status) >= 400) errors += requests;
  return errors;
}

function showRoutes(routes: readonly RouteStatus[]): void {
  show(byId("no-routes"), routes.length === 0);
  show(byId("routes").closest("table")!, routes.length > 0);
  fillRows(byId("routes"), routes, {
    keyOf: ({ route }) => route,
    make: () => {
      const row = makeRow(["text", "number", "number", "number", "number", "number"]);
      row.cells[0]!.append(foreign("", "code"));
      for (const at of [4, 5]) row.cells[at]!.classList.add("spare");
      return row;
    },
    update: (row, route) => {
      const { cells } = row as HTMLTableRowElement;
      const errors = errorsOf(route);
      setForeign(cells[0]!.firstElementChild as HTMLElement, routeName(route.route));
      setText(cells[1]!, rate(route.perSecond));
      setText(cells[2]!, millis(route.recent?.p50Ms));
      setText(cells[3]!, millis(route.recent?.p99Ms));
      setText(cells[4]!, count(route.total));
      setText(cells[5]!, errors === 0 ? NONE : count(errors));
    },
  });
}

/** "rate_limited" as "rate limited". */
function reasonName(reason: string): string {
  return reason.replaceAll("_", " ");
}

function showRejected(rejected: Status["requests"]["rejected"]): void {
  const reasons = Object.entries(rejected)
    .filter(([, requests]) => requests > 0)
    .sort(([, a], [, b]) => b - a);
  show(byId("no-rejected"), reasons.length === 0);
  fillRows(byId("rejected"), reasons, {
    keyOf: ([reason]) => reason,
    make: () => make("div", {}, make("dt"), make("dd")),
    update: (row, [reason, requests]) => {
      setText(row.children[0]!, reasonName(reason));
      setText(row.children[1]!, count(requests));
    },
  });
}

/** Shows all of it. */
export function showTraffic({ requests }: Status, history: History): void {
  requestsChart.draw(history, CLASSES);
  latencyChart.draw(history, linesOf(requests.routes));
  showRoutes(requests.routes);
  showRejected(requests.rejected);
}
