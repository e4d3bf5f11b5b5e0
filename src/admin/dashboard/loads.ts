/** The last loads: their results, the durations of their parts, and their problems; and the button that starts a load. */

import type { LoadStatus, ReloadReply, Status } from "../status.ts";
import { ask } from "./ask.ts";
import { bars, byId, type Child, foreign, make, runOnce, setText } from "./dom.ts";
import { count, counted, duration, millis, moment, percent } from "./format.ts";
import { card, note } from "./parts.ts";

const FEW = 5;

function tablesOf({ read, kept }: LoadStatus): string {
  const readText = read.length > 0 ? `read ${read.join(", ")}` : "nothing read";
  if (kept.length > 0) return `${readText}; kept ${kept.join(", ")}`;
  return read.length > 0 ? readText : "";
}

/** Parts of a load that brought a new generation. */
function partsOf({ phases, rows }: LoadStatus): string {
  if (phases === null || rows === null) return "";
  const { readMs, packMs, indexMs } = phases;
  const times = `reading ${millis(readMs)}, packing ${millis(packMs)}, indexing ${millis(indexMs)}`;
  const { users, worlds, instances } = rows;
  return `${times} · ${counted(users, "user")}, ${counted(worlds, "world")}, ${counted(instances, "instance")}`;
}

/** Problems as the server words them, line by line. */
function problemList(problems: readonly string[]): HTMLElement {
  return make("ul", { class: "quiet" }, ...problems.map((problem) => make("li", {}, foreign(problem))));
}

function problemsOf({ problems, retryMs }: LoadStatus): HTMLElement {
  const again = retryMs === null ? "" : `, tried again after ${millis(retryMs)}`;
  const summary = make("summary", {}, counted(problems.length, "problem") + again);
  return make("details", {}, summary, problemList(problems));
}

function makeLoad(load: LoadStatus, time: string): HTMLElement {
  const { at, result, generation, durationMs, phases, problems } = load;
  const kind = result === "unchanged" ? "" : result === "loaded" ? "good" : "bad";
  const head = make("div", { class: "row" }, make("b", { "data-kind": kind }, result));
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
  row.append(...[partsOf(load), tablesOf(load)].map((text) => make("div", { class: "quiet" }, text)));
  if (problems.length > 0) row.append(problemsOf(load));
  return row;
}

function loadingText({ loading, loads }: Status): string {
  if (loading === null) return loads.length === 0 ? "Nothing was loaded yet." : "";
  return `A load is running for ${duration(loading.sinceMs / 1000)}: ${percent(loading.progress)} read.`;
}

/** A finished load never changes: its row is made once, so that an unfolded one stays unfolded. */
let rows: ReadonlyMap<string, HTMLElement> = new Map();
const list = make("ol", { id: "loads", class: "few" });
const more = make("button", { id: "more-loads", type: "button", "aria-controls": "loads" });

/** @param isFew whether the style sheet hides all but a few */
function showMore(isFew: boolean): void {
  const others = list.childElementCount - FEW;
  list.classList.toggle("few", isFew);
  more.hidden = others <= 0;
  setText(more, isFew ? `Show ${count(others)} more` : "Show fewer");
  more.setAttribute("aria-expanded", String(!isFew));
}
more.addEventListener("click", () => showMore(!list.classList.contains("few")));

function showLoads({ loads }: Status): readonly Child[] {
  const before = rows;
  rows = new Map(
    loads.map((load) => {
      const time = moment(load.at);
      const key = `${load.at} ${load.result} ${time}`;
      return [key, before.get(key) ?? makeLoad(load, time)];
    }),
  );
  const shown = [...rows.values()];
  const isSame =
    shown.length === list.childElementCount && shown.every((row, at) => row === list.children[at]);
  if (!isSame) list.replaceChildren(...shown);
  showMore(list.classList.contains("few"));
  return [list, more];
}

export const LOADS_CARD = card(
  { id: "loads", title: "Loads", more: "newest first" },
  note("loading", loadingText),
  showLoads,
);

/** A load of tens of millions of rows takes minutes; the page need not wait for longer. */
const LIMIT_MS = 600_000;

function showResult(kind: "good" | "bad" | "", text: string, problems: readonly string[] = []): void {
  const result = byId("reload-result");
  result.dataset.kind = kind;
  result.replaceChildren(text, ...(problems.length > 0 ? [problemList(problems)] : []));
  result.hidden = false;
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
