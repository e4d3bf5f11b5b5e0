/** The last loads: their results, the durations of their parts, and their problems; and the button that starts a load. */

import type { LoadStatus, ReloadReply, Status } from "../status.ts";
import { ask } from "./ask.ts";
import { byId, foreign, make, runOnce } from "./dom.ts";
import { between, counted, duration, millis, moment, percent, rowsText } from "./format.ts";
import { card, note } from "./parts.ts";

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
  return `${times} · ${rowsText(rows.users, rows.worlds, rows.instances)}`;
}

function problemList(problems: readonly string[]): HTMLElement {
  return make("ul", { class: "quiet" }, ...problems.map((problem) => make("li", {}, foreign(problem))));
}

function makeLoad(load: LoadStatus): HTMLElement {
  const { at, result, generation, durationMs, problems, retryMs } = load;
  const kind = { loaded: "good", unchanged: "", changing: "", refused: "bad" }[result];
  const head = make("div", { class: "row" }, make("b", { "data-kind": kind }, result));
  head.append(make("time", { datetime: at }, moment(at)));
  if (generation !== null && result === "loaded") head.append(foreign(generation, "code"));
  if (durationMs !== null) head.append(millis(durationMs));
  if (retryMs !== null) head.append(`tried again after ${millis(retryMs)}`);
  const texts = [partsOf(load), tablesOf(load)].map((text) => make("div", { class: "quiet" }, text));
  return make("li", {}, head, ...texts, problemList(problems));
}

function loadingText({ loading, loads }: Status): string {
  if (loading === null) return loads.length === 0 ? "Nothing was loaded yet." : "";
  return `A load is running for ${duration(loading.sinceMs / 1000)}: ${percent(loading.progress)} read.`;
}

function roundsText({ rounds, now }: Status): string {
  if (rounds === null) return "";
  const { lastSuccessAt, lastSeconds, lastDetails, lastFailureAt, lastFailure } = rounds;
  const took = millis(1000 * (lastSeconds ?? 0));
  const good =
    lastSuccessAt === null
      ? "No round of the source has succeeded yet."
      : `The last round of the source succeeded ${between(lastSuccessAt, now)} ago, after ${took}: ${lastDetails ?? ""}.`;
  if (lastFailureAt === null) return good;
  return `${good} One failed ${between(lastFailureAt, now)} ago: ${lastFailure ?? ""}`;
}

export const LOADS_CARD = card(
  "loads",
  "Loads",
  "newest first",
  note("loading", loadingText),
  note("rounds", roundsText),
  // The list scrolls, so that it takes the focus.
  ({ loads }) => [make("ol", { id: "loads", tabindex: 0, "aria-label": "Loads" }, ...loads.map(makeLoad))],
);

/** A load of tens of millions of rows takes minutes; the page need not wait for longer. */
const LIMIT_MS = 600_000;

function showResult(kind: "good" | "bad" | "", text: string, problems: readonly string[] = []): void {
  const result = byId("reload-result");
  result.dataset.kind = kind;
  result.replaceChildren(text, problemList(problems));
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
  if (failure !== undefined) {
    const isSlow = failure.kind === "slow";
    const text = isSlow ? "It is still loading; the list of loads will show the result." : failure.text;
    return showResult("bad", text);
  }
  const { keys, snapshot, durationMs } = reply;
  const problems = [keys.problem ?? [], snapshot.problems].flat();
  const text = `${snapshotText(reply)} ${keysText(reply)} It took ${millis(durationMs)}.`;
  showResult(problems.length > 0 ? "bad" : "good", text, problems);
}

/** Connects the button. @param afterwards called after each reload */
export function startReloading(afterwards: () => void): void {
  const button = byId("reload");
  button.addEventListener("click", () => runOnce(button, "Reloading…", () => reload().finally(afterwards)));
}
