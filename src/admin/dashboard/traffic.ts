/** Requests: rates by status, latency by route, the table of routes, and refusals. */

import type { Moment, RouteStatus, Status } from "../status.ts";
import { Chart, type Line } from "./charts.ts";
import { foreign, make } from "./dom.ts";
import { count, millis, NONE, rate } from "./format.ts";
import type { SampleFigures } from "./history.ts";
import { card, type Fact, facts, table } from "./parts.ts";
import { routeName } from "./tiles.ts";

const MOST_LINES = 5;

/** Statuses that the chart tells apart. 429 stands alone: the clients' doing, and no error of theirs. */
const CLASSES: readonly (Line & { readonly holds: (status: number) => boolean })[] = [
  { name: "5xx", label: "5xx failures", colour: 4, holds: (status) => status >= 500 },
  { name: "429", label: "429 over the limit", colour: 5, holds: (status) => status === 429 },
  { name: "4xx", label: "4xx errors", colour: 3, holds: (status) => status >= 400 },
  { name: "3xx", label: "3xx unchanged, elsewhere", colour: 2, holds: (status) => status >= 300 },
  { name: "2xx", label: "2xx answered", colour: 1, holds: () => true },
];

/** The figures of a moment that the charts remember. */
export function trafficFigures({ requests }: Moment): SampleFigures {
  const figures: Record<string, number | null> = {};
  for (const { name } of CLASSES) figures[name] = 0;
  for (const [status, each] of Object.entries(requests.perSecondByStatus)) {
    const { name } = CLASSES.find(({ holds }) => holds(Number(status)))!;
    figures[name] = figures[name]! + each;
  }
  for (const { route, recent } of requests.routes) figures[`p99 ${route}`] = recent?.p99Ms || null;
  return figures;
}

/** Routes with a colour; they keep it while they have a line. */
const coloured: (string | undefined)[] = Array.from({ length: MOST_LINES });

function linesOf({ requests }: Status): Line[] {
  const byTotal = requests.routes.slice().sort((a, b) => b.total - a.total);
  const busiest = byTotal.slice(0, MOST_LINES).map(({ route }) => route);
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

function errorsOf({ byStatus }: RouteStatus): string {
  let errors = 0;
  for (const [status, requests] of Object.entries(byStatus)) if (Number(status) >= 400) errors += requests;
  return errors === 0 ? NONE : count(errors);
}

/** Reasons, most requests first; "rate_limited" as "rate limited". */
function rejectedOf({ requests }: Status): Fact[] {
  return Object.entries(requests.rejected)
    .filter(([, times]) => times > 0)
    .sort(([, a], [, b]) => b - a)
    .map(([reason, times]) => [reason.replaceAll("_", " "), count(times)]);
}

/** The chart of requests. */
export const REQUESTS_CARD = card(
  { id: "requests", title: "Requests a second", more: "by status", isWide: true },
  new Chart({
    id: "requests",
    title: "Requests a second by status",
    lines: () => CLASSES,
    write: rate,
    isStacked: true,
    least: 1,
  }),
);

/** The chart of latencies. */
export const LATENCY_CARD = card(
  { id: "latency", title: "Latency", more: "99th percentile of the busiest routes", isWide: true },
  new Chart({
    id: "latency",
    title: "99th percentile of the latency by route",
    lines: linesOf,
    write: millis,
    least: 1,
    isLogarithmic: true,
  }),
);

const ERRORS = make("abbr", { title: "Replies with a status of 400 and above, since the start" }, "Errors");

/** The table of routes. */
export const ROUTES_CARD = card(
  { id: "routes", title: "Routes", isWide: true },
  table<RouteStatus>({
    id: "routes",
    caption: "Rates and latencies of the last seconds, errors since the start",
    columns: [
      { title: "Route", cell: ({ route }) => foreign(routeName(route), "code") },
      { title: "per s", kind: "number", cell: ({ perSecond }) => rate(perSecond) },
      { title: "p50", kind: "number", cell: ({ recent }) => millis(recent?.p50Ms) },
      { title: "p99", kind: "number", cell: ({ recent }) => millis(recent?.p99Ms) },
      { title: "Requests", kind: "number spare", cell: ({ total }) => count(total) },
      { title: ERRORS, kind: "number spare", cell: errorsOf },
    ],
    items: ({ requests }) => requests.routes,
    empty: "No request since the start.",
  }),
);

/** Refusals by reason. */
export const REJECTED_CARD = card(
  { id: "rejected", title: "Refused", more: "since the start", isWide: false },
  facts("rejected", rejectedOf, "Nothing was refused."),
);
