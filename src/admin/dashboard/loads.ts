/** What became of the last loads, how long their parts took, and what was wrong with them. */

import type { LoadStatus, Status } from "../status.ts";
import { byId, fillRows, foreign, make, setText, show } from "./dom.ts";
import { count, counted, duration, millis, moment, percent } from "./format.ts";

const FEW = 5;
const SVG = "http://www.w3.org/2000/svg";

let isWhole = false;
let newest: Status | undefined;

byId("more-loads").addEventListener("click", () => {
  isWhole = !isWhole;
  if (newest !== undefined) showLoads(newest);
});

/** A bar of the parts of a load, each as wide as it took long; what is left is all else, such as to start its thread. */
function phasesBar(
  { readMs, packMs, indexMs }: NonNullable<LoadStatus["phases"]>,
  durationMs: number | null,
): SVGElement {
  const total = Math.max(1, durationMs ?? 0, readMs + packMs + indexMs);
  const bar = document.createElementNS(SVG, "svg");
  bar.setAttribute("class", "phases");
  bar.setAttribute("viewBox", "0 0 100 1");
  bar.setAttribute("preserveAspectRatio", "none");
  bar.setAttribute("aria-hidden", "true");
  let from = 0;
  for (const [name, ms] of [
    ["read", readMs],
    ["pack", packMs],
    ["index", indexMs],
  ] as const) {
    const part = document.createElementNS(SVG, "rect");
    const width = (ms / total) * 100;
    part.setAttribute("class", name);
    part.setAttribute("x", String(from));
    part.setAttribute("width", String(width));
    part.setAttribute("height", "1");
    from += width;
    bar.append(part);
  }
  return bar;
}

function tablesOf({ read, kept }: LoadStatus): string {
  if (read.length === 0 && kept.length === 0) return "";
  const parts = [read.length > 0 ? `read ${read.join(", ")}` : "nothing read"];
  if (kept.length > 0) parts.push(`kept ${kept.join(", ")}`);
  return parts.join("; ");
}

function partsOf({ phases, rows }: LoadStatus): string {
  const parts: string[] = [];
  if (phases !== null) {
    const { readMs, packMs, indexMs } = phases;
    parts.push(`reading ${millis(readMs)}, packing ${millis(packMs)}, indexing ${millis(indexMs)}`);
  }
  if (rows !== null)
    parts.push(
      `${counted(rows.users, "user")}, ${counted(rows.worlds, "world")}, ${counted(rows.instances, "instance")}`,
    );
  return parts.join(" · ");
}

/** The problems of a refused load, folded; what the server says is listed line by line. */
export function problemList(problems: readonly string[]): HTMLElement {
  return make("ul", { class: "problems" }, ...problems.map((problem) => make("li", {}, foreign(problem))));
}

function problemsOf({ problems, retryMs }: LoadStatus): HTMLElement {
  const again = retryMs === null ? "" : `, tried again after ${millis(retryMs)}`;
  return make(
    "details",
    {},
    make("summary", {}, counted(problems.length, "problem") + again),
    problemList(problems),
  );
}

/** A load never changes once it is over: its row is made whole, and only the time is written anew. */
function makeLoad(row: HTMLElement, load: LoadStatus): void {
  row.dataset.result = load.result;
  const head = make(
    "div",
    { class: "head" },
    make("span", { class: "result" }, load.result),
    make("time", { datetime: load.at }),
  );
  if (load.generation !== null && load.result === "loaded") head.append(foreign(load.generation, "code"));
  if (load.durationMs !== null) head.append(make("span", { class: "spent-time" }, millis(load.durationMs)));
  row.replaceChildren(head);
  if (load.phases !== null) row.append(phasesBar(load.phases, load.durationMs));
  for (const rest of [partsOf(load), tablesOf(load)])
    if (rest !== "") row.append(make("div", { class: "rest" }, rest));
  if (load.problems.length > 0) row.append(problemsOf(load));
}

function showMore(many: number): void {
  const more = byId("more-loads");
  show(more, many > FEW);
  setText(more, isWhole ? "Show fewer" : `Show ${count(many - FEW)} more`);
  more.setAttribute("aria-expanded", String(isWhole));
}

/** Shows them. */
export function showLoads(status: Status): void {
  newest = status;
  const { loads, loading } = status;
  const now = new Date();
  setText(
    byId("loading"),
    loading === null
      ? ""
      : `A load is running for ${duration(loading.sinceMs / 1000)}: ${percent(loading.progress)} read.`,
  );
  show(byId("loading"), loading !== null);
  show(byId("no-loads"), loads.length === 0 && loading === null);
  fillRows(byId("loads"), isWhole ? loads : loads.slice(0, FEW), {
    keyOf: ({ at, result }) => `${at} ${result}`,
    make: () => make("li"),
    update: (row, load) => {
      if (row.childElementCount === 0) makeLoad(row, load);
      setText(row.querySelector("time")!, moment(new Date(load.at), now));
    },
  });
  showMore(loads.length);
}
