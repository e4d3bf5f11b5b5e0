/** The figures at the top: large ones, of which an operator in an incident asks first, and small ones. */

import type { Status } from "../../admin/status.ts";
import { byId, fillRows, foreign, make, setForeign, setText } from "./dom.ts";
import { bytes, count, duration, millis, NONE, percent, rate } from "./format.ts";

interface Tile {
  readonly name: string;
  readonly value: string;
  readonly more: string;
  readonly kind?: "bad" | "warn" | undefined;
  /** Whether it matters less, and is small. */
  readonly isMinor?: true;
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
  return {
    name: "Failures",
    value: percent(share),
    more: `${rate(failing)} a second with 5xx`,
    kind: share > 0 ? "bad" : undefined,
  };
}

/** The slowest of the routes that had requests in the recent interval. */
function slowestOf({ routes }: Status["requests"]): Tile {
  let slowest: Status["requests"]["routes"][number] | undefined;
  for (const route of routes) {
    if (route.recent !== null && route.recent.p99Ms > (slowest?.recent?.p99Ms ?? -1)) slowest = route;
  }
  return {
    name: "Slowest p99",
    value: millis(slowest?.recent?.p99Ms),
    more: slowest === undefined ? "no requests now" : routeName(slowest.route),
  };
}

/** How a route is called on the page. */
export function routeName(route: string): string {
  return route === "" ? "other paths" : route;
}

function tilesOf(status: Status): Tile[] {
  const { generation, requests, memory, ready, threads } = status;
  const died = sum(Object.values(threads.restarts));
  const silent = threads.all.filter(({ isAnswering }) => !isAnswering).length;
  const rows = generation?.rows;
  return [
    failuresOf(requests),
    {
      name: "Requests / s",
      value: rate(requests.perSecond),
      more: `${count(requests.active)} in progress`,
    },
    slowestOf(requests),
    {
      name: "Data checked",
      value: ready.ageSeconds === null ? NONE : `${duration(ready.ageSeconds)} ago`,
      more:
        ready.maxAgeSeconds > 0 ? `too old after ${duration(ready.maxAgeSeconds)}` : "no limit of age is set",
      kind: ready.status === "stale" ? "bad" : undefined,
    },
    {
      name: "Threads",
      value: silent === 0 ? count(threads.serving) : `${count(threads.serving)}, ${silent} silent`,
      more: died === 0 ? "none has died" : `${count(died)} died and came back`,
      kind: silent > 0 ? "bad" : died > 0 ? "warn" : undefined,
      isMinor: true,
    },
    {
      name: "Event loop delay",
      value: millis(threads.delayP99Ms),
      more: "p99 of the slowest thread",
      isMinor: true,
    },
    {
      name: "Memory",
      value: bytes(memory.rssBytes),
      more: `heap ${bytes(memory.heapUsedBytes)}`,
      isMinor: true,
    },
    {
      name: "Rows",
      value: count(rows && rows.users + rows.worlds + rows.instances),
      more:
        rows === undefined
          ? ""
          : `${count(rows.users)} users, ${count(rows.worlds)} worlds, ${count(rows.instances)} instances`,
      isMinor: true,
    },
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
    update: (tile, { name, value, more, kind, isMinor }) => {
      const [term, figure, rest] = tile.children as unknown as [HTMLElement, HTMLElement, HTMLElement];
      tile.dataset.kind = kind ?? "";
      tile.classList.toggle("minor", isMinor);
      setText(term, name);
      setForeign(figure.firstElementChild as HTMLElement, value);
      setText(rest, more);
    },
  });
}
