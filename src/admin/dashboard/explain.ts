/** The form that asks how a request target would be answered. */

import type { Explanation, KeyExplanation, SearchExplanation } from "../explanation.ts";
import { ask } from "./ask.ts";
import { byId, foreign, make, runOnce } from "./dom.ts";
import { bytes, count, counted, millis } from "./format.ts";
import { factList } from "./parts.ts";

/** A search without the cache may take long. */
const LIMIT_MS = 30_000;

type Line = readonly [name: string, value: string | null];

function block(title: string, lines: readonly Line[]): HTMLElement {
  const facts = lines.map(([name, value]) => [name, value === null ? null : foreign(value)] as const);
  return make("section", {}, make("h3", {}, title), factList(facts));
}

function routeBlock({ route, path, parameters, generation }: Explanation): HTMLElement {
  return block("Route", [
    ["operation", route?.name ?? "none has this path"],
    ["path", route?.path ?? path],
    ["scope", route === null ? null : (route.scope ?? "any key")],
    ...Object.entries(parameters ?? {}).map(([name, value]): Line => [name, String(value)]),
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

function searchBlock(search: SearchExplanation): HTMLElement {
  const { table, match, term, terms, total, classes, cache, durationMs } = search;
  return block("Search", [
    ["in", table],
    ["match", match],
    ["compared as", term],
    ["terms", terms.length > 1 ? terms.join(" · ") : null],
    ["matches", total === null ? "took too long to count" : count(total)],
    ...(classes ?? []).map(({ meaning, matches }): Line => [meaning, count(matches)]),
    ["in the cache of", `${cache.holding} of ${counted(cache.asked, "thread")}`],
    ["time", durationMs === null ? null : millis(durationMs)],
  ]);
}

function showVerdict(kind: "good" | "bad", text: string, ...blocks: readonly HTMLElement[]): void {
  const verdict = make("b", { class: "verdict", "data-kind": kind }, text);
  byId("explained").replaceChildren(verdict, ...blocks);
}

async function explain(): Promise<void> {
  const query = new URLSearchParams({ target: byId<HTMLInputElement>("target").value.trim() });
  const id = byId<HTMLInputElement>("key").value.trim();
  if (id !== "") query.set("key", id);
  const { value, failure } = await ask<Explanation>("GET", `explain?${query}`, LIMIT_MS);
  if (failure !== undefined) return showVerdict("bad", failure.message || failure.text);
  const { answer, key, search } = value;
  const blocks = [
    routeBlock(value),
    key === null ? [] : keyBlock(key),
    search === null ? [] : searchBlock(search),
  ];
  const text = `${answer.status} ${answer.error ?? "OK"}, ${bytes(answer.bytes)}`;
  showVerdict(answer.status < 400 ? "good" : "bad", text, ...blocks.flat());
}

export function startExplaining(): void {
  const form = byId("explain");
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    await runOnce(form.querySelector("button")!, "Explaining…", explain);
  });
}
