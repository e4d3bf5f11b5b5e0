/** The figures at the top: large ones, of which an operator in an incident asks first, and small ones. */

import type { Status } from "../status.ts";
import { byId, fillRows, foreign, make, setForeign, setText } from "./dom.ts";
import { bytes, count, duration, millis, NONE, percent, rate } from "./format.ts";

interface Tile {
  readonly name: string;
  readonly value: string;
  readonly more: string;
  readonly kind?: "bad" | "warn" | undefined;
}

function tile(name: string, value: string, more: string, kind?: Tile["kind"]): Tile {
  return { name, value, more, kind };
}

/** Replies with these statuses are the server's own failures. */
function isFailure(status: string): boolean {
  return status.startsWith("5");
}

function sum(figures: Iterable<number>): number {
  let total = 0;
  for (const figure of figures) total += figure;
  return total;
}

function failuresOf({ perSecondByStatus, perSecond }: Status["requests"]): Tile {
  const failing = sum(
    Object.entries(perSecondByStatus).map(([status, each]) => (isFailure(status) ? each : 0)),
  );
  const share = perSecond > 0 ? failing / perSecond : 0;
  return tile(
    "Failures",
    percent(share),
    `${rate(failing)} a second with 5xx`,
    share > 0 ? "bad" : undefined,
  );
}

/** The slowest of the routes that had requests in the recent interval. */
function slowestOf({ routes }: Status["requests"]): Tile {
  let slowest: Status["requests"]["routes"][number] | undefined;
  for (const route of routes) {
    if (route.recent !== null && route.recent.p99Ms > (slowest?.recent?.p99Ms ?? -1)) slowest = route;
  }
  const route = slowest === undefined ? "no requests now" : routeName(slowest.route);
  return tile("Slowest p99", millis(slowest?.recent?.p99Ms), route);
}

/** How a route is called on the page. */
export function routeName(route: string): string {
  return route === "" ? "other paths" : route;
}

/** How long ago the data were looked at, and below it how old they are themselves, where that is known. */
function dataOf({ generation, ready }: Status): Tile {
  const { maxAgeSeconds, maxDataAgeSeconds, ageSeconds } = ready;
  const dataAge = generation?.dataAgeSeconds ?? null;
  const allowed = maxDataAgeSeconds > 0 ? ` of at most ${duration(maxDataAgeSeconds)}` : "";
  const limit = maxAgeSeconds > 0 ? `too old after ${duration(maxAgeSeconds)}` : "no limit of age is set";
  return tile(
    "Data checked",
    ageSeconds === null ? NONE : `${duration(ageSeconds)} ago`,
    dataAge === null ? limit : `the data are ${duration(dataAge)}${allowed} old`,
    ready.status === "stale" ? "bad" : undefined,
  );
}

function tilesOf(status: Status): Tile[] {
  const { generation, requests, memory, threads } = status;
  const died = sum(Object.values(threads.restarts));
  const silent = threads.all.filter(({ isAnswering }) => !isAnswering).length;
  const rows = generation?.rows;
  return [
    failuresOf(requests),
    tile("Requests / s", rate(requests.perSecond), `${count(requests.active)} in progress`),
    slowestOf(requests),
    dataOf(status),
    // Small, by the style sheet, from here on.
    tile(
      "Threads",
      count(threads.serving) + (silent === 0 ? "" : `, ${silent} silent`),
      died === 0 ? "none has died" : `${count(died)} died and came back`,
      silent > 0 ? "bad" : died > 0 ? "warn" : undefined,
    ),
    tile("Event loop delay", millis(threads.delayP99Ms), "p99 of the slowest thread"),
    tile("Memory", bytes(memory.rssBytes), `heap ${bytes(memory.heapUsedBytes)}`),
    tile(
      "Rows",
      count(rows && rows.users + rows.worlds + rows.instances),
      rows
        ? `${count(rows.users)} users, ${count(rows.worlds)} worlds, ${count(rows.instances)} instances`
        : "",
    ),
  ];
}

/** Shows them. */
export function showTiles(status: Status): void {
  fillRows(byId("tiles"), tilesOf(status), {
    keyOf: ({ name }) => name,
    make: () => {
      const value = make("dd", { class: "value" }, foreign("", "name"));
      return make("div", {}, make("dt"), value, make("dd", { class: "more" }));
    },
    update: (shown, { name, value, more, kind }) => {
      const [term, figure, rest] = shown.children as unknown as [HTMLElement, HTMLElement, HTMLElement];
      shown.dataset.kind = kind ?? "";
      setText(term, name);
      setForeign(figure.firstElementChild as HTMLElement, value);
      setText(rest, more);
    },
  });
}
