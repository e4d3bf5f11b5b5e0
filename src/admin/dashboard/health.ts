/** The head of the page: whether the server is well, and if not, why. */

import type { Status } from "../status.ts";
import type { Failure } from "./ask.ts";
import { byId, fill, foreign, make, showText } from "./dom.ts";
import { between, bytes, counted, moment } from "./format.ts";

function setState(kind: "good" | "warn" | "bad" | "", name: string): void {
  byId("state").dataset.kind = kind;
  fill(byId("state"), name);
  document.title = `${name} · orrery`;
}

/** "keys-refused" as "Keys refused". */
function nameOf(kind: string): string {
  return kind.charAt(0).toUpperCase() + kind.slice(1).replaceAll("-", " ");
}

/** Shows the list of problems. A screen reader announces the kinds, not the messages: figures in them may count up. */
function showProblems({ problems, now }: Status): void {
  const kinds = problems.map(({ kind }) => nameOf(kind)).join(", ");
  byId("problems").hidden = problems.length === 0;
  fill(byId("problems-title"), kinds === "" ? "" : `${counted(problems.length, "problem")}: ${kinds}`);
  const items = problems.map(({ kind, since, message }) => {
    const lasting = `for ${between(since, now)}, since ${moment(since)}`;
    const name = make("b", {}, nameOf(kind));
    return make("li", {}, name, " ", make("small", {}, lasting), make("br"), foreign(message));
  });
  fill(byId("problem-list"), ...items);
}

/** One sentence. A screen reader announces every change of it, so no figure in it may count up. */
function reasonOf({ ready, loading, generation }: Status): string {
  // The problems list data that are too old.
  const reason = ready.status === "ready" || ready.status === "stale" ? "" : ready.reason;
  if (loading === null || ready.status === "loading") return reason;
  return `${reason} A ${generation === null ? "" : "new "}snapshot is being loaded.`.trim();
}

function showServed({ generation, now }: Status): void {
  byId("served").hidden = generation === null;
  if (generation === null) return;
  const { id, loadedAt, bytes: size } = generation;
  const text = `, served for ${between(loadedAt, now)}, ${bytes(size)} on disk`;
  fill(byId("served"), "Generation ", foreign(id, "code"), text);
}

export function showHealth(status: Status): void {
  const { ready, problems } = status;
  const isReady = ready.status === "ready";
  const faults = isReady && problems.length > 0 ? `, ${counted(problems.length, "problem")}` : "";
  setState(isReady && faults === "" ? "good" : "warn", nameOf(ready.status) + faults);
  showProblems(status);
  showServed(status);
  showText(byId("why"), reasonOf(status));
  byId("trouble").hidden = true;
}

/** Shows that there was no answer. Earlier figures stay, marked with their time. */
export function showTrouble({ kind, text }: Failure, seen: Date | undefined): void {
  const names = { token: "Signed out", gone: "No answer", slow: "In trouble", other: "In trouble" };
  setState("bad", names[kind]);
  const again = kind === "token" ? "" : " It is asked again every few seconds.";
  const since = seen === undefined ? "" : ` The figures are those of ${moment(seen)}.`;
  showText(byId("trouble"), text + again + since);
  for (const id of kind === "token" ? ["why", "problems", "served"] : ["why"]) byId(id).hidden = true;
}
