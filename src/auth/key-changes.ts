/** Compares a keys file with the keys in force, and warns of probable mistakes. */

import { SCOPES } from "../model/model.ts";
import { parseTime } from "../model/time.ts";
import { nearest } from "../util/distance.ts";
import { createPauses } from "../util/process/in-turns.ts";
import { areEqual, KEY_FIELDS, type KeyRecord, type KeyRing } from "./keys.ts";

/** Keys between two looks at the clock. */
export const KEYS_PER_PAUSE = 256;

/** Numbers of keys that were added, changed and removed. */
export async function compareKeys(before: KeyRing, after: KeyRing) {
  let kept = 0;
  let changed = 0;
  const pause = createPauses();
  for (const [slot, key] of after.bySlot.entries()) {
    const old = before.bySlot[slot];
    if (key === undefined || old === undefined) continue;
    kept++;
    if (!areEqual(old, key)) changed++;
    if (kept % KEYS_PER_PAUSE === 0) await pause();
  }
  return { added: after.size - kept, changed, removed: before.size - kept };
}

/** Maximum number of lines of a kind; one more line counts the others. */
const MOST_LINES = 10;
const MOST_NAME = 64;

function firstLines(lines: readonly string[], count: number): string[] {
  return count <= MOST_LINES
    ? [...lines]
    : [...lines.slice(0, MOST_LINES), `… and ${count - MOST_LINES} more`];
}

const quoted = (text: string): string =>
  JSON.stringify(text.length > MOST_NAME ? `${text.slice(0, MOST_NAME)}…` : text);

const KNOWN: ReadonlySet<string> = new Set(KEY_FIELDS);

/** A record's unknown fields. */
export function unknownFieldsOf(record: KeyRecord): [name: string, value: unknown][] {
  return Object.entries(record).filter(([name]) => !KNOWN.has(name));
}

/** An unknown field that differs in more letters from every known one is the operator's own. */
const MOST_EDITS = 2;

/** Most different unknown fields that are compared with the known ones. */
const MOST_COMPARED = 1000;

/** One line for each unknown field that is probably misspelt. */
export function misspeltFieldWarnings(records: readonly KeyRecord[]): string[] {
  const seen: UnknownFields = new Map();
  for (const record of records) noteUnknownFields(record, seen);
  return linesOfMisspelt(seen);
}

/** The first key with each unknown field, and the number of such keys. */
type UnknownFields = Map<string, { readonly id: string; keys: number }>;

function noteUnknownFields(record: KeyRecord, seen: UnknownFields): void {
  for (const [name] of unknownFieldsOf(record)) {
    const known = seen.get(name);
    if (known) known.keys++;
    else seen.set(name, { id: record.id, keys: 1 });
  }
}

function linesOfMisspelt(seen: UnknownFields): string[] {
  const lines = [...seen].slice(0, MOST_COMPARED).flatMap(([name, { id, keys }]) => {
    const meant = nearest(name, KEY_FIELDS, MOST_EDITS);
    const others = keys === 1 ? "" : ` and ${keys - 1} more`;
    return meant === undefined
      ? []
      : `unknown field ${quoted(name)} of ${quoted(id)}${others} has no effect; did you mean ${meant}?`;
  });
  return firstLines(lines, lines.length);
}

/** Collects lines for operators: misspelt fields, and API keys that are valid but can read nothing. */
export function createKeyWarnings(now: number) {
  const nothing: string[] = [];
  const seen: UnknownFields = new Map();
  let count = 0;
  return {
    note(record: KeyRecord): void {
      noteUnknownFields(record, seen);
      const { id, name, kind, active, expiresAt, scopes } = record;
      if (kind === "cli" || !active || SCOPES.some((scope) => scopes.includes(scope))) return;
      if (expiresAt !== null && parseTime(expiresAt) <= now) return;
      if (++count > MOST_LINES) return;
      nothing.push(`${quoted(id)} (${quoted(name)}) can read nothing: it has no scope that is known here`);
    },
    lines: (): string[] => [...linesOfMisspelt(seen), ...firstLines(nothing, count)],
  };
}
