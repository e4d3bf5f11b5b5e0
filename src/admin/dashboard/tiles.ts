/** The figures at the top: large ones, which an operator needs first in an incident, and small ones. */

import type { Status } from "../status.ts";
import { fill, foreign, make } from "./dom.ts";
import { bytes, count, duration, millis, NONE, percent, rate, rowsText } from "./format.ts";
import type { Card } from "./parts.ts";

type Tile = readonly [name: string, value: string, more: string, kind?: "bad" | "warn" | false];

export function sum(figures: readonly number[]): number {
  return figures.reduce((total, figure) => total + figure, 0);
}

export function sumOf(byStatus: Readonly<Record<string, number>>, statuses: RegExp): number {
  return sum(Object.entries(byStatus).map(([status, figure]) => (statuses.test(status) ? figure : 0)));
}

/** Replies with a status of 500 and above are the server's own failures. */
function failuresTile({ perSecondByStatus, perSecond }: Status["requests"]): Tile {
  const failing = sumOf(perSecondByStatus, /^5/);
  const share = perSecond > 0 ? failing / perSecond : 0;
  return ["Failures", percent(share), `${rate(failing)} a second with 5xx`, share > 0 && "bad"];
}

/** The slowest of the operations that had requests in the recent interval; the files of pages are none. */
function slowestTile({ routes }: Status["requests"]): Tile {
  const recent = routes.filter((route) => route.route !== "" && route.recent !== null);
  const [slowest] = recent.sort((a, b) => b.recent!.p99Ms - a.recent!.p99Ms);
  return ["Slowest p99", millis(slowest?.recent?.p99Ms), slowest?.route ?? "no requests now"];
}

/** Time since the data were last checked, and below it the age of the data, if known. */
function dataTile({ generation, ready }: Status): Tile {
  const { maxDataAgeSeconds, ageSeconds } = ready;
  const dataAge = generation?.dataAgeSeconds ?? null;
  const allowed = maxDataAgeSeconds > 0 ? ` of at most ${duration(maxDataAgeSeconds)}` : "";
  const more =
    dataAge === null ? "age of the data unknown" : `the data are ${duration(dataAge)}${allowed} old`;
  const checked = ageSeconds === null ? NONE : `${duration(ageSeconds)} ago`;
  return ["Data checked", checked, more, ready.status === "stale" && "bad"];
}

function threadsTile({ all, serving, restarts }: Status["threads"]): Tile {
  const died = sum(Object.values(restarts));
  const silent = all.filter(({ isAnswering }) => !isAnswering).length;
  const value = count(serving) + (silent === 0 ? "" : `, ${silent} silent`);
  const more = died === 0 ? "none has died" : `${count(died)} died`;
  return ["Threads", value, more, silent > 0 ? "bad" : died > 0 && "warn"];
}

function rowsTile({ generation }: Status): Tile {
  if (generation === null) return ["Rows", NONE, ""];
  const { users, worlds, instances } = generation.rows;
  return ["Rows", count(users + worlds + instances), rowsText(users, worlds, instances)];
}

function tilesOf(status: Status): readonly Tile[] {
  const { requests, memory, threads } = status;
  return [
    failuresTile(requests),
    ["Requests / s", rate(requests.perSecond), `${count(requests.active)} in progress`],
    slowestTile(requests),
    dataTile(status),
    // The style sheet makes the following tiles small.
    threadsTile(threads),
    ["Event loop delay", millis(threads.delayP99Ms), "p99 of the slowest thread"],
    ["Memory", bytes(memory.rssBytes), `heap ${bytes(memory.heapUsedBytes)}`],
    rowsTile(status),
  ];
}

const list = make("dl", { id: "tiles", class: "tiles", "aria-label": "At a glance" });

export const TILES: Card = {
  element: list,
  show(status) {
    const tiles = tilesOf(status).map(([name, value, more, kind = false]) => {
      const figure = make("dd", { class: "value" }, foreign(value, "name"));
      const rest = make("dd", { class: "quiet" }, more);
      return make("div", { "data-kind": kind }, make("dt", {}, name), figure, rest);
    });
    fill(list, ...tiles);
  },
};
