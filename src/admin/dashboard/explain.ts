/** The form that asks how a request target would be answered. */

import type { Explanation, KeyExplanation, SearchExplanation } from "../explanation.ts";
import { AskError, ask } from "./ask.ts";
import { byId, foreign, make, setText } from "./dom.ts";
import { bytes, count, counted, millis } from "./format.ts";
import { otherText } from "./health.ts";

/** A search without the cache may take long. */
const LIMIT_MS = 30_000;

type Fact = readonly [name: string, value: string | null];

function block(title: string, facts: readonly Fact[], ...more: readonly Node[]): HTMLElement {
  const list = make("dl", { class: "facts" });
  for (const [name, value] of facts) {
    if (value === null) continue;
    list.append(make("div", {}, make("dt", {}, name), make("dd", {}, foreign(value))));
  }
  return make("section", {}, make("h3", {}, title), list, ...more);
}

function routeBlock({ route, path, parameters, generation }: Explanation): HTMLElement {
  const applied = Object.entries(parameters ?? {}).map(([name, value]): Fact => [name, String(value)]);
  return block("Route", [
    ["operation", route?.name ?? "none has this path"],
    ["path", route?.path ?? path],
    ["scope", route === null ? null : (route.scope ?? "any key")],
    ...applied,
    ["generation", generation],
  ]);
}

function keyBlock({ id, name, kind, fault, scopes, expiresAt, quota }: KeyExplanation): HTMLElement {
  return block("Key", [
    ["name", name],
    ["id", id],
    ["kind", kind === "cli" ? "CLI token" : "API key"],
    ["let in", fault === null ? "yes" : `no: ${fault}`],
    ["scopes", scopes.length === 0 ? "none" : scopes.join(", ")],
    ["expires", expiresAt ?? "never"],
    ["left", quota === null ? "no limit" : `${count(quota.remaining)} of ${count(quota.limit)}`],
  ]);
}

function searchBlock({
  table,
  match,
  term,
  terms,
  total,
  classes,
  cache,
  durationMs,
}: SearchExplanation): HTMLElement {
  const ranks = (classes ?? []).map(({ meaning, matches }): Fact => [meaning, count(matches)]);
  return block("Search", [
    ["in", table],
    ["match", match],
    ["compared as", term],
    ["terms", terms.length > 1 ? terms.join(" · ") : null],
    ["matches", total === null ? "took too long to count" : count(total)],
    ...ranks,
    ["in the cache of", `${cache.holding} of ${counted(cache.asked, "thread")}`],
    ["time", durationMs === null ? null : millis(durationMs)],
  ]);
}

function showExplanation(explanation: Explanation): void {
  const { answer, key, search } = explanation;
  const text = `${answer.status} ${answer.error ?? "OK"}, ${bytes(answer.bytes)}`;
  const kind = answer.status < 400 ? "good" : "bad";
  const blocks = [routeBlock(explanation)];
  if (key !== null) blocks.push(keyBlock(key));
  if (search !== null) blocks.push(searchBlock(search));
  byId("explained").replaceChildren(
    make("p", { class: "verdict", "data-kind": kind }, text),
    make("div", { class: "explanation" }, ...blocks),
  );
}

function problemOf(error: AskError): string {
  const { failure } = error;
  if (failure.kind === "other") return failure.message || otherText(failure);
  if (failure.kind === "slow") return "There was no answer in time.";
  return failure.kind === "token" ? "The server asks for a token." : "The server does not answer.";
}

async function explain(): Promise<void> {
  const query = new URLSearchParams({ target: byId<HTMLInputElement>("target").value.trim() });
  const key = byId<HTMLInputElement>("key").value.trim();
  if (key !== "") query.set("key", key);
  try {
    const { value } = await ask("GET", `explain?${query}`, [200], LIMIT_MS);
    showExplanation(value as Explanation);
  } catch (error) {
    if (!(error instanceof AskError)) throw error;
    byId("explained").replaceChildren(make("p", { class: "verdict", "data-kind": "bad" }, problemOf(error)));
  }
}

/** Makes the form work. Of answers that overtake each other the last question's is shown. */
export function startExplaining(): void {
  let isUnderWay = false;
  const button = byId("explain").querySelector("button")!;
  byId("explain").addEventListener("submit", async (event) => {
    event.preventDefault();
    if (isUnderWay) return;
    isUnderWay = true;
    // Not disabled, which would take the focus away.
    button.setAttribute("aria-disabled", "true");
    setText(button, "Explaining…");
    try {
      await explain();
    } finally {
      isUnderWay = false;
      button.removeAttribute("aria-disabled");
      setText(button, "Explain");
    }
  });
}
