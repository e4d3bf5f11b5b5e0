/** The figures at the top: large ones, of which an operator in an incident asks first, and small ones. */

import type { Status } from "../status.ts";
import { fill, foreign, make } from "./dom.ts";
import { bytes, count, duration, millis, NONE, percent, rate } from "./format.ts";
import type { CardPart } from "./parts.ts";

interface Tile {
  readonly name: string;
  readonly value: string;
  readonly more: string;
  readonly kind?: "bad" | "warn" | false;
}

function sum(figures: readonly number[]): number {
  return figures.reduce((total, figure) => total + figure, 0);
}

/** Replies with a status of 500 and above are the server's own failures. */
function failuresOf({ perSecondByStatus, perSecond }: Status["requests"]): Tile {
  const failing = sum(
    Object.entries(perSecondByStatus).map(([status, each]) => (status.startsWith("5") ? each : 0)),
  );
  const share = perSecond > 0 ? failing / perSecond : 0;
  const more = `${rate(failing)} a second with 5xx`;
  return { name: "Failures", value: percent(share), more, kind: share > 0 && "bad" };
}

/** The slowest of the routes that had requests in the recent interval. */
function slowestOf({ routes }: Status["requests"]): Tile {
  const [slowest] = routes
    .filter(({ recent }) => recent !== null)
    .sort((a, b) => b.recent!.p99Ms - a.recent!.p99Ms);
  const more = slowest === undefined ? "no requests now" : routeName(slowest.route);
  return { name: "Slowest p99", value: millis(slowest?.recent?.p99Ms), more };
}

/** A route's name on the page. */
export function routeName(route: string): string {
  return route === "" ? "other paths" : route;
}

/** How long ago the data were looked at, and below it how old they are themselves, where that is known. */
function dataOf({ generation, ready }: Status): Tile {
  const { maxAgeSeconds, maxDataAgeSeconds, ageSeconds } = ready;
  const dataAge = generation?.dataAgeSeconds ?? null;
  const allowed = maxDataAgeSeconds > 0 ? ` of at most ${duration(maxDataAgeSeconds)}` : "";
  const limit = maxAgeSeconds > 0 ? `too old after ${duration(maxAgeSeconds)}` : "no limit of age is set";
  return {
    name: "Data checked",
    value: ageSeconds === null ? NONE : `${duration(ageSeconds)} ago`,
    more: dataAge === null ? limit : `the data are ${duration(dataAge)}${allowed} old`,
    kind: ready.status === "stale" && "bad",
  };
}

function threadsOf({ all, serving, restarts }: Status["threads"]): Tile {
  const died = sum(Object.values(restarts));
  const silent = all.filter(({ isAnswering }) => !isAnswering).length;
  return {
    name: "Threads",
    value: count(serving) + (silent === 0 ? "" : `, ${silent} silent`),
    more: died === 0 ? "none has died" : `${count(died)} died and came back`,
    kind: silent > 0 ? "bad" : died > 0 && "warn",
  };
}

function rowsOf(rows: NonNullable<Status["generation"]>["rows"] | undefined): Tile {
  if (rows === undefined) return { name: "Rows", value: NONE, more: "" };
  const { users, worlds, instances } = rows;
  const more = `${count(users)} users, ${count(worlds)} worlds, ${count(instances)} instances`;
  return { name: "Rows", value: count(users + worlds + instances), more };
}

function tilesOf(status: Status): readonly Tile[] {
  const { generation, requests, memory, threads } = status;
  const { perSecond, active } = requests;
  const delay = millis(threads.delayP99Ms);
  return [
    failuresOf(requests),
    { name: "Requests / s", value: rate(perSecond), more: `${count(active)} in progress` },
    slowestOf(requests),
    dataOf(status),
    // Small, by the style sheet, from here on.
    threadsOf(threads),
    { name: "Event loop delay", value: delay, more: "p99 of the slowest thread" },
    { name: "Memory", value: bytes(memory.rssBytes), more: `heap ${bytes(memory.heapUsedBytes)}` },
    rowsOf(generation?.rows),
  ];
}

function makeTile({ name, value, more, kind = false }: Tile): HTMLElement {
  const figure = make("dd", { class: "value" }, foreign(value, "name"));
  return make(
    "div",
    { "data-kind": kind },
    make("dt", {}, name),
    figure,
    make("dd", { class: "more" }, more),
  );
}

const list = make("dl", { id: "tiles", class: "tiles", "aria-label": "At a glance" });

/** All of them. */
export const TILES: CardPart = {
  elements: [list],
  show: (status) => fill(list, ...tilesOf(status).map(makeTile)),
};
