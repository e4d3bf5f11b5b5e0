/** The head of the page: whether the server is well, and if not, why. */

import type { Status } from "../status.ts";
import type { Failure } from "./ask.ts";
import { byId, fill, foreign, make, setText, show } from "./dom.ts";
import { bytes, counted, duration, moment } from "./format.ts";

const NAMES: Readonly<Record<Status["ready"]["status"], string>> = {
  ready: "Ready",
  loading: "Loading",
  stale: "Stale",
  draining: "Draining",
};

function setState(state: string, name: string): void {
  byId("state").dataset.state = state;
  setText(byId("state-name"), name);
  document.title = `${name} · orrery`;
}

/** "keys-refused" as "Keys refused". */
function kindName(kind: string): string {
  return kind.charAt(0).toUpperCase() + kind.slice(1).replaceAll("-", " ");
}

/** "for 2 min, since 14:02:11" */
function lasting(since: string, now: string): string {
  const seconds = (Date.parse(now) - Date.parse(since)) / 1000;
  return `for ${duration(seconds)}, since ${moment(new Date(since), new Date())}`;
}

/** The list of problems. A screen reader announces the kinds, not the messages, in which figures may count. */
function showProblems({ problems, now }: Status): void {
  const kinds = problems.map(({ kind }) => kindName(kind)).join(", ");
  show(byId("problems"), problems.length > 0);
  setText(byId("problems-title"), kinds === "" ? "" : `${counted(problems.length, "problem")}: ${kinds}`);
  const items = problems.map(({ kind, since, message }) => {
    const name = make("b", {}, kindName(kind));
    return make("li", {}, name, " ", make("small", {}, lasting(since, now)), make("br"), foreign(message));
  });
  fill(byId("problem-list"), ...items);
}

/** One sentence: announced by a screen reader whenever it becomes another, so nothing in it may count. */
function reasonOf({ ready, loading, generation }: Status): string {
  // Data that are too old are among the problems.
  const known = ready.status === "ready" || ready.status === "stale" ? "" : ready.reason;
  if (loading === null || ready.status === "loading") return known;
  return `${known} A ${generation === null ? "" : "new "}snapshot is being loaded.`.trim();
}

/** The served generation, and since when. */
function showServed({ generation, now }: Status): void {
  show(byId("served"), generation !== null);
  if (generation === null) return;
  const { id, loadedAt, bytes: size } = generation;
  const time = duration((Date.parse(now) - Date.parse(loadedAt)) / 1000);
  const since = make("span", {}, `, served for ${time}, ${bytes(size)} on disk`);
  fill(byId("served"), "Generation ", foreign(id, "code"), since);
}

/** Shows an answer. */
export function showHealth(status: Status): void {
  const { ready, problems } = status;
  const name = NAMES[ready.status] ?? String(ready.status);
  const isWell = problems.length === 0 || ready.status !== "ready";
  if (isWell) setState(ready.status, name);
  else setState("trouble", `${name}, ${counted(problems.length, "problem")}`);
  showProblems(status);
  showServed(status);
  setText(byId("why"), reasonOf(status));
  show(byId("why"), byId("why").textContent !== "");
  show(byId("trouble"), false);
}

/** Says what came in place of an answer. */
export function otherText({ status, message }: Extract<Failure, { kind: "other" }>): string {
  if (status === 0)
    return "Something before the server leads elsewhere, such as to a sign-in. Load the page again.";
  if (status === 200) return "The server answers with something that this page does not know.";
  return `The server answers ${status}${message === "" ? "" : `: ${message}`}.`;
}

function troubleOf(failure: Failure): string {
  switch (failure.kind) {
    case "gone":
      return "The server does not answer. It is asked again every few seconds.";
    case "slow":
      return `The server did not answer within ${duration(failure.ms / 1000)}. It is asked again.`;
    case "token":
      return "The server asks for a token.";
    case "other":
      return `${otherText(failure)} It is asked again every few seconds.`;
  }
}

/** Shows that there was no answer. What was shown before stays, with the moment at which it was true. */
export function showTrouble(failure: Failure, seen: Date | undefined): void {
  setState(
    "gone",
    { token: "Signed out", gone: "No answer", slow: "In trouble", other: "In trouble" }[failure.kind],
  );
  const since = seen === undefined ? "" : ` The figures are those of ${moment(seen, new Date())}.`;
  setText(byId("trouble"), troubleOf(failure) + since);
  show(byId("trouble"), true);
  show(byId("why"), false);
  if (failure.kind !== "token") return;
  for (const id of ["problems", "served"]) show(byId(id), false);
}

/** Shows that an answer could not be shown: it is that of another version than the page. */
export function showMisfit(): void {
  setState("unknown", "Unknown");
  setText(
    byId("trouble"),
    "This page does not fit the server's answer, which may be of another version. Load the page again.",
  );
  show(byId("trouble"), true);
}
