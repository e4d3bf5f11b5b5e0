/** The button that has keys and snapshot read again. */

import type { ReloadReply } from "../status.ts";
import { ask, type Failure, orTell } from "./ask.ts";
import { byId, runOnce, show } from "./dom.ts";
import { counted, millis } from "./format.ts";
import { otherText } from "./health.ts";
import { problemList } from "./loads.ts";

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
  const reply = await ask<ReloadReply>("POST", "reload", LIMIT_MS);
  const { keys, snapshot } = reply;
  const isRefused = keys.result === "refused" || snapshot.result === "refused";
  const problems = [...(keys.problem === null ? [] : [keys.problem]), ...snapshot.problems];
  const text = `${snapshotText(reply)} ${keysText(reply)} It took ${millis(reply.durationMs)}.`;
  showResult(isRefused ? "bad" : "good", text, problems);
}

function failureText(failure: Failure): string {
  switch (failure.kind) {
    case "gone":
      return "The server does not answer.";
    case "slow":
      return "It is still loading; the list of loads will show the result.";
    case "token":
      return "The server asks for a token.";
    case "other":
      if (failure.status === 409) return "A load is running already.";
      return `It was not reloaded. ${otherText(failure)}`;
  }
}

/** Makes the button work. @param afterwards called when the reload is over */
export function startReloading(afterwards: () => void): void {
  const button = byId("reload");
  button.addEventListener("click", () =>
    runOnce(button, "Reloading…", () =>
      orTell(reload, (failure) => showResult("bad", failureText(failure))).finally(afterwards),
    ),
  );
}
