/** The last loads: their results, how long their parts took, and their problems. */

import type { LoadStatus, Status } from "../status.ts";
import { foreign, make, setAttributes, setText, show } from "./dom.ts";
import { count, counted, duration, millis, moment, percent } from "./format.ts";
import { type CardPart, card, note } from "./parts.ts";

const FEW = 5;
const SVG = "http://www.w3.org/2000/svg";

/** A bar of the parts of a load, each as wide as it took long; the rest is all else, such as to start its thread. */
function phasesBar(
  { readMs, packMs, indexMs }: NonNullable<LoadStatus["phases"]>,
  durationMs: number | null,
): SVGElement {
  const total = Math.max(1, durationMs ?? 0, readMs + packMs + indexMs);
  const bar = setAttributes(document.createElementNS(SVG, "svg"), {
    ...{ class: "phases", viewBox: "0 0 100 1", preserveAspectRatio: "none", "aria-hidden": "true" },
  });
  let x = 0;
  for (const [name, ms] of Object.entries({ read: readMs, pack: packMs, index: indexMs })) {
    const width = (ms / total) * 100;
    bar.append(setAttributes(document.createElementNS(SVG, "rect"), { class: name, x, width, height: 1 }));
    x += width;
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
  if (rows !== null) {
    const { users, worlds, instances } = rows;
    parts.push(`${counted(users, "user")}, ${counted(worlds, "world")}, ${counted(instances, "instance")}`);
  }
  return parts.join(" · ");
}

/** Problems as the server words them, line by line. */
export function problemList(problems: readonly string[]): HTMLElement {
  return make("ul", { class: "problems" }, ...problems.map((problem) => make("li", {}, foreign(problem))));
}

function problemsOf({ problems, retryMs }: LoadStatus): HTMLElement {
  const again = retryMs === null ? "" : `, tried again after ${millis(retryMs)}`;
  const summary = make("summary", {}, counted(problems.length, "problem") + again);
  return make("details", {}, summary, problemList(problems));
}

function makeLoad(load: LoadStatus, time: string): HTMLElement {
  const { at, result, generation, durationMs, phases, problems } = load;
  const head = make("div", { class: "head" }, make("span", { class: "result" }, result));
  head.append(make("time", { datetime: at }, time));
  if (generation !== null && result === "loaded") head.append(foreign(generation, "code"));
  if (durationMs !== null) head.append(make("span", { class: "spent-time" }, millis(durationMs)));
  const row = make("li", { "data-result": result }, head);
  if (phases !== null) row.append(phasesBar(phases, durationMs));
  const texts = [partsOf(load), tablesOf(load)].filter((text) => text !== "");
  row.append(...texts.map((text) => make("div", { class: "rest" }, text)));
  if (problems.length > 0) row.append(problemsOf(load));
  return row;
}

function loadingText({ loading }: Status): string {
  if (loading === null) return "";
  return `A load is running for ${duration(loading.sinceMs / 1000)}: ${percent(loading.progress)} read.`;
}

/** The list: a few of them, or all. A load never changes once it is over, so its row is made once and stays unfolded. */
class Loads implements CardPart {
  readonly #list = make("ol", { id: "loads", class: "loads" });
  readonly #more = make("button", { id: "more-loads", type: "button", "aria-controls": "loads" });
  readonly #none = make("p", { class: "empty" }, "Nothing was loaded yet.");
  readonly elements = [this.#list, this.#more, this.#none];
  #rows = new Map<string, HTMLElement>();
  #loads: readonly LoadStatus[] = [];
  #isWhole = false;

  constructor() {
    this.#more.addEventListener("click", () => {
      this.#isWhole = !this.#isWhole;
      this.#fill();
    });
  }

  show({ loads, loading }: Status): void {
    show(this.#none, loads.length === 0 && loading === null);
    this.#loads = loads;
    this.#fill();
  }

  #fill(): void {
    const before = this.#rows;
    const shown = this.#isWhole ? this.#loads : this.#loads.slice(0, FEW);
    const now = new Date();
    this.#rows = new Map(
      shown.map((load) => {
        const time = moment(new Date(load.at), now);
        const key = `${load.at} ${load.result} ${time}`;
        return [key, before.get(key) ?? makeLoad(load, time)];
      }),
    );
    const rows = [...this.#rows.values()];
    const { children } = this.#list;
    const isSame = rows.length === children.length && rows.every((row, at) => row === children[at]);
    if (!isSame) this.#list.replaceChildren(...rows);
    show(this.#more, this.#loads.length > FEW);
    setText(this.#more, this.#isWhole ? "Show fewer" : `Show ${count(this.#loads.length - FEW)} more`);
    this.#more.setAttribute("aria-expanded", String(this.#isWhole));
  }
}

/** The card. */
export const LOADS_CARD = card(
  { id: "loads", title: "Loads", more: "newest first", isWide: true },
  note("loading", "hint", loadingText),
  new Loads(),
);
