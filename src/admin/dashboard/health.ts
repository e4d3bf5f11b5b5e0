/** The head of the page: whether the server is well, and if not, why. */

import type { Status } from "../status.ts";
import type { Failure } from "./ask.ts";
import { byId, fillRows, foreign, make, setForeign, setText, show } from "./dom.ts";
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

/** What is wrong. The kinds are announced by a screen reader, not the messages, in which figures may count. */
function showProblems({ problems, now }: Status): void {
  show(byId("problems"), problems.length > 0);
  const kinds = problems.map(({ kind }) => kindName(kind)).join(", ");
  setText(
    byId("problems-title"),
    problems.length > 0 ? `${counted(problems.length, "problem")}: ${kinds}` : "",
  );
  fillRows(byId("problem-list"), problems, {
    keyOf: ({ kind, since }) => `${kind} ${since}`,
    make: () => make("li", {}, make("b"), " ", make("small"), make("br"), foreign("")),
    update: (row, { kind, since, message }) => {
      setText(row.children[0]!, kindName(kind));
      const seconds = (Date.parse(now) - Date.parse(since)) / 1000;
      setText(row.children[1]!, `for ${duration(seconds)}, since ${moment(new Date(since), new Date())}`);
      setForeign(row.children[3] as HTMLElement, message);
    },
  });
}

/** One sentence: announced by a screen reader whenever it becomes another, so nothing in it may count. */
function reasonOf({ ready, loading, generation }: Status): string {
  // Data that are too old are among the problems.
  const known = ready.status === "ready" || ready.status === "stale" ? "" : ready.reason;
  if (loading === null || ready.status === "loading") return known;
  return `${known} A ${generation === null ? "" : "new "}snapshot is being loaded.`.trim();
}

/** What is served, and since when. */
function showServed({ generation, now }: Status): void {
  const served = byId("served");
  show(served, generation !== null);
  if (generation === null) return;
  if (served.childElementCount === 0) served.append("Generation ", foreign("", "code"), make("span"));
  const [id, since] = served.children as unknown as [HTMLElement, HTMLElement];
  setForeign(id, generation.id);
  const seconds = (Date.parse(now) - Date.parse(generation.loadedAt)) / 1000;
  setText(since, `, served for ${duration(seconds)}, ${bytes(generation.bytes)} on disk`);
}

/** Shows what an answer says. */
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

/** What came in place of an answer. */
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
    failure.kind === "token" ? "Signed out" : failure.kind === "gone" ? "No answer" : "In trouble",
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
