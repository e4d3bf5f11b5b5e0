/** The form that asks how a request target would be handled. It shows every field of the reply. */

import { ask } from "./ask.ts";
import { byId, foreign, make, runOnce } from "./dom.ts";
import { type Fact, factList } from "./parts.ts";

const LIMIT_MS = 10_000;

type Fields = Readonly<Record<string, unknown>>;

/** The reply; its parts are null where the request has none. */
interface Explanation extends Fields {
  readonly refusal: { readonly status: number; readonly error: string } | null;
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** "expiresAt" as "expires at". */
function wordsOf(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}

/** A line for each field, also of records in it. @param before what its name begins with */
function linesOf(fields: Fields, before = ""): Fact[] {
  return Object.entries(fields).flatMap(([name, value]): Fact[] => {
    if (isFields(value)) return linesOf(value, `${wordsOf(name)} `);
    const values = [value].flat();
    if (values.some(isFields)) return values.flatMap((one) => linesOf(one as Fields));
    return [[before + wordsOf(name), foreign(values.map((one) => one ?? "none").join(" · "))]];
  });
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
  if (failure !== undefined) return showVerdict("bad", failure.text);
  const { refusal } = value;
  const blocks = Object.entries(value).flatMap(([name, part]) =>
    isFields(part) ? [make("section", {}, make("h3", {}, wordsOf(name)), factList(linesOf(part)))] : [],
  );
  if (refusal === null) showVerdict("good", "Not refused", ...blocks);
  else showVerdict("bad", `${refusal.status} ${refusal.error}`, ...blocks);
}

export function startExplaining(): void {
  const form = byId("explain");
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    await runOnce(form.querySelector("button")!, "Explaining…", explain);
  });
}
