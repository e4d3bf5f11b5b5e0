/** The head of the page: whether the server is well, and if not, why. */

import type { Status } from "../../admin/status.ts";
import type { Failure } from "./ask.ts";
import { byId, foreign, make, setForeign, setText, show } from "./dom.ts";
import { bytes, duration, moment } from "./format.ts";

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

/** One sentence: announced by a screen reader whenever it becomes another, so nothing in it may count. */
function reasonOf({ ready, loading, generation }: Status): string {
  const known = ready.status === "ready" ? "" : ready.reason;
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
  const { ready } = status;
  setState(ready.status, NAMES[ready.status] ?? String(ready.status));
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
