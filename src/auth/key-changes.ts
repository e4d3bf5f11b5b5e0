/** Compares a keys file with the keys in force, and warns of probable mistakes. */

import { SCOPES } from "../model/model.ts";
import { parseTime } from "../model/time.ts";
import { KEY_FIELDS, type Key, type KeyRecord, type KeyRing } from "./keys.ts";

export interface KeyChanges {
  readonly added: number;
  readonly changed: number;
  readonly removed: number;
}

const COMPARED = ["name", "kind", "scopes", "limit", "active", "expiresAt"] as const;

/** Whether all but the token is the same. Keys share sets of scopes, so equal sets are identical. */
function isSame(a: Key, b: Key): boolean {
  return COMPARED.every((field) => a[field] === b[field]);
}

/** Adds the slots of keys with a previous token that the other ring lacks, or that ends at another time there. */
function addDifferent(slots: Set<number>, from: KeyRing, to: KeyRing): void {
  for (const [hash, key] of from.previous) {
    const other = to.previous.get(hash);
    if (other?.slot !== key.slot || other.expiresAt !== key.expiresAt) slots.add(key.slot);
  }
}

export function compareKeys(before: KeyRing, after: KeyRing): KeyChanges {
  const { bySlot } = before;
  const changed = new Set<number>();
  let kept = 0;
  for (const [hash, key] of after.byHash) {
    const old = bySlot[key.slot];
    if (old === undefined) continue;
    kept++;
    if (!isSame(old, key) || before.byHash.get(hash) !== old) changed.add(key.slot);
  }
  addDifferent(changed, before, after);
  addDifferent(changed, after, before);
  const stays = (slot: number): boolean => bySlot[slot] !== undefined && after.bySlot[slot] !== undefined;
  return {
    added: after.size - kept,
    changed: changed.size === 0 ? 0 : [...changed].filter(stays).length,
    removed: before.size - kept,
  };
}

/** Maximum number of lines of a kind; one more line counts the others. */
const MOST_LINES = 10;
const MOST_NAME = 64;

function firstLines(lines: readonly string[], count: number): string[] {
  return count <= MOST_LINES ? [...lines] : [...lines, `… and ${count - MOST_LINES} more`];
}

const quoted = (text: string): string =>
  JSON.stringify(text.length > MOST_NAME ? `${text.slice(0, MOST_NAME)}…` : text);

/** Names of a record's unknown fields. */
export function unknownFieldsOf(record: KeyRecord): string[] {
  const names = Object.keys(record);
  // Most records have the required fields alone.
  if (names.length === KEY_FIELDS.length - 1 && !Object.hasOwn(record, "previous")) return [];
  return names.filter((name) => !KEY_FIELDS.includes(name));
}

/** One line for each unknown field, which is kept without effect: it is often misspelt. */
export function unknownFieldWarnings(records: readonly KeyRecord[]): string[] {
  const seen = new Map<string, { readonly id: string; keys: number }>();
  for (const record of records) {
    for (const name of unknownFieldsOf(record)) {
      const known = seen.get(name);
      if (known) known.keys++;
      else seen.set(name, { id: record.id, keys: 1 });
    }
  }
  const lines = Array.from([...seen].slice(0, MOST_LINES), ([name, { id, keys }]) => {
    const others = keys === 1 ? "" : ` and ${keys - 1} more`;
    return `unknown field ${quoted(name)} of ${quoted(id)}${others}: it is kept and has no effect`;
  });
  return firstLines(lines, seen.size);
}

/** Lines for operators: unknown fields, and API keys that are valid but can read nothing. */
export function keyWarnings(records: readonly KeyRecord[], now: number): string[] {
  const lines: string[] = [];
  let count = 0;
  for (const { id, name, kind, active, expiresAt, scopes } of records) {
    if (kind === "cli" || !active || SCOPES.some((scope) => scopes.includes(scope))) continue;
    if (expiresAt !== null && parseTime(expiresAt) <= now) continue;
    if (++count > MOST_LINES) continue;
    lines.push(`${quoted(id)} (${quoted(name)}) can read nothing: it has no scope that is known here`);
  }
  return [...unknownFieldWarnings(records), ...firstLines(lines, count)];
}
