/** The last loads: their results, the durations of their parts, and their problems; and the button that starts a load. */

import type { LoadStatus, ReloadReply, Status } from "../status.ts";
import { ask } from "./ask.ts";
import { bars, byId, type Child, foreign, make, runOnce, setText, show } from "./dom.ts";
import { count, counted, duration, millis, moment, percent } from "./format.ts";
import { card, note } from "./parts.ts";

const FEW = 5;

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
function problemList(problems: readonly string[]): HTMLElement {
  return make("ul", { class: "problems" }, ...problems.map((problem) => make("li", {}, foreign(problem))));
}

function problemsOf({ problems, retryMs }: LoadStatus): HTMLElement {
  const again = retryMs === null ? "" : `, tried again after ${millis(retryMs)}`;
  const summary = make("summary", {}, counted(problems.length, "problem") + again);
  return make("details", {}, summary, problemList(problems));
}

function makeLoad(load: LoadStatus, time: string): HTMLElement {
  const { at, result, generation, durationMs, phases, problems } = load;
  const kind = result === "unchanged" ? "" : result === "loaded" ? "good" : "bad";
  const head = make("div", { class: "head" }, make("span", { class: "result", "data-kind": kind }, result));
  head.append(make("time", { datetime: at }, time));
  if (generation !== null && result === "loaded") head.append(foreign(generation, "code"));
  if (durationMs !== null) head.append(make("span", { class: "spent-time" }, millis(durationMs)));
  const row = make("li", {}, head);
  if (phases !== null) {
    const { readMs, packMs, indexMs } = phases;
    // The rest of the bar is all other time, such as the start of the thread.
    const whole = Math.max(1, durationMs ?? 0, readMs + packMs + indexMs);
    row.append(bars("phases", whole, [readMs, packMs, indexMs], [1, 2, 5]));
  }
  const texts = [partsOf(load), tablesOf(load)].filter((text) => text !== "");
  row.append(...texts.map((text) => make("div", { class: "rest" }, text)));
  if (problems.length > 0) row.append(problemsOf(load));
  return row;
}

function loadingText({ loading, loads }: Status): string {
  if (loading === null) return loads.length === 0 ? "Nothing was loaded yet." : "";
  return `A load is running for ${duration(loading.sinceMs / 1000)}: ${percent(loading.progress)} read.`;
}

/** The list: a few loads, or all. A finished load never changes, so its row is made once and stays unfolded. */
class Loads {
  readonly #list = make("ol", { id: "loads", class: "loads" });
  readonly #more = make("button", { id: "more-loads", type: "button", "aria-controls": "loads" });
  #rows = new Map<string, HTMLElement>();
  #loads: readonly LoadStatus[] = [];
  #isWhole = false;

  constructor() {
    this.#more.addEventListener("click", () => {
      this.#isWhole = !this.#isWhole;
      this.#fill();
    });
  }

  readonly show = ({ loads }: Status): readonly Child[] => {
    this.#loads = loads;
    this.#fill();
    return [this.#list, this.#more];
  };

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

export const LOADS_CARD = card(
  { id: "loads", title: "Loads", more: "newest first" },
  note("loading", loadingText),
  new Loads().show,
);

/** A load of tens of millions of rows takes minutes; the page need not wait for longer. */
const LIMIT_MS = 600_000;

function showResult(kind: "good" | "bad" | "", text: string, problems: readonly string[] = []): void {
  const result = byId("reload-result");
  result.dataset.kind = kind;
  result.replaceChildren(text, ...(problems.length > 0 ? [problemList(problems)] : []));
  show(result, true);
}

function keysText({ keys }: ReloadReply): string {
  if (keys.result === "refused") return "The keys were refused, those before stay in force.";
  return `${counted(keys.total, "key")} ${keys.result === "loaded" ? "read" : "as before"}.`;
}

function snapshotText({ snapshot }: ReloadReply): string {
  if (snapshot.result === "refused") return "The snapshot was refused, the one before is still served.";
  return snapshot.result === "unchanged"
    ? "The snapshot is the same as before."
    : `Generation ${snapshot.generation ?? ""} is served now.`;
}

async function reload(): Promise<void> {
  showResult("", "Keys and snapshot are being read.");
  const { value: reply, failure } = await ask<ReloadReply>("POST", "reload", LIMIT_MS);
  if (failure?.kind === "slow") {
    showResult("bad", "It is still loading; the list of loads will show the result.");
  } else if (failure !== undefined) {
    const before = failure.kind === "other" ? "It was not reloaded. " : "";
    showResult("bad", failure.status === 409 ? "A load is running already." : before + failure.text);
  } else {
    const { keys, snapshot, durationMs } = reply;
    const isRefused = keys.result === "refused" || snapshot.result === "refused";
    const problems = [...(keys.problem === null ? [] : [keys.problem]), ...snapshot.problems];
    const text = `${snapshotText(reply)} ${keysText(reply)} It took ${millis(durationMs)}.`;
    showResult(isRefused ? "bad" : "good", text, problems);
  }
}

/** Connects the button. @param afterwards called after each reload */
export function startReloading(afterwards: () => void): void {
  const button = byId("reload");
  button.addEventListener("click", () => runOnce(button, "Reloading…", () => reload().finally(afterwards)));
}
