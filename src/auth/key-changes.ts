/** Compares a keys file with the keys in force, and warns of probable mistakes. */

import { SCOPES } from "../model/model.ts";
import { parseTime } from "../model/time.ts";
import { nearest } from "../util/distance.ts";
import { areEqual, KEY_FIELDS, type KeyRecord, type KeyRing } from "./keys.ts";

export function compareKeys(before: KeyRing, after: KeyRing) {
  let kept = 0;
  let changed = 0;
  for (const [slot, key] of after.bySlot.entries()) {
    const old = before.bySlot[slot];
    if (key === undefined || old === undefined) continue;
    kept++;
    if (!areEqual(old, key)) changed++;
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

export function unknownFieldsOf(record: KeyRecord): [name: string, value: unknown][] {
  return Object.entries(record).filter(([name]) => !KNOWN.has(name));
}

/** An unknown field that differs in more letters from every known one is the operator's own. */
const MOST_EDITS = 2;

/** Most different unknown fields that are compared with the known ones. */
const MOST_COMPARED = 1000;

/** One line for each unknown field that is probably misspelt. */
export function misspeltFieldWarnings(records: readonly KeyRecord[]): string[] {
  /** The first key with each unknown field. */
  const seen = new Map<string, string>();
  for (const record of records) {
    for (const [name] of unknownFieldsOf(record)) if (!seen.has(name)) seen.set(name, record.id);
  }
  const lines = [...seen].slice(0, MOST_COMPARED).flatMap(([name, id]) => {
    const meant = nearest(name, KEY_FIELDS, MOST_EDITS);
    return meant === undefined
      ? []
      : `unknown field ${quoted(name)} of ${quoted(id)} has no effect; did you mean ${meant}?`;
  });
  return firstLines(lines, lines.length);
}

/** Lines for operators: misspelt fields, and API keys that are valid but can read nothing. */
export function keyWarnings(records: readonly KeyRecord[], now: number): string[] {
  const readNothing = records.filter(({ kind, active, expiresAt, scopes }) => {
    if (kind === "cli" || !active || SCOPES.some((scope) => scopes.includes(scope))) return false;
    return expiresAt === null || parseTime(expiresAt) > now;
  });
  const lines = readNothing
    .slice(0, MOST_LINES)
    .map(
      ({ id, name }) =>
        `${quoted(id)} (${quoted(name)}) can read nothing: it has no scope that is known here`,
    );
  return [...misspeltFieldWarnings(records), ...firstLines(lines, readNothing.length)];
}
