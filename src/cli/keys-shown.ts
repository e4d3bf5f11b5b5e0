/** `orrery keys list` and `orrery keys show`: keys as they stand in their file. */

import { unknownFieldsOf, unknownFieldWarnings } from "../auth/key-changes.ts";
import type { KeyRecord } from "../auth/keys.ts";
import { readRecord, readRecords } from "../auth/keys-file.ts";
import { SCOPES } from "../model/model.ts";
import { parseTime } from "../model/time.ts";
import { formatColumns } from "./columns.ts";
import type { World } from "./command.ts";
import { withKeysFile } from "./keys.ts";
import type { Options } from "./options.ts";

/** What a record amounts to at a moment. */
interface KeyState {
  readonly state: "active" | "disabled" | "expired";
  /** Its scopes as far as they grant something; of a CLI token all. */
  readonly scopes: readonly string[];
  readonly unknownScopes: readonly string[];
}

function stateOf({ kind, active, expiresAt, scopes }: KeyRecord, now: number): KeyState {
  const isKnown = (scope: string): boolean => SCOPES.some((known) => known === scope);
  const state = !active
    ? "disabled"
    : expiresAt !== null && parseTime(expiresAt) <= now
      ? "expired"
      : "active";
  // A CLI token has neither limit nor scopes, whatever its record says.
  if (kind === "cli") return { state, scopes: SCOPES, unknownScopes: [] };
  return {
    state,
    scopes: scopes.filter(isKnown),
    unknownScopes: scopes.filter((scope) => !isKnown(scope)),
  };
}

function scopesText({ kind }: KeyRecord, { scopes, unknownScopes }: KeyState): string {
  if (kind === "cli") return "all";
  const known = scopes.length > 0 ? scopes.join(",") : "none, grants nothing";
  return unknownScopes.length > 0 ? `${known} (unknown: ${unknownScopes.join(",")})` : known;
}

const limitText = ({ kind, limit }: KeyRecord): string =>
  kind === "cli" ? "none" : limit === null ? "default" : String(limit);

function listText(records: readonly KeyRecord[], now: number): string {
  const rows = records.map((record) => {
    const state = stateOf(record, now);
    const { id, kind, expiresAt, name } = record;
    return [id, kind, state.state, limitText(record), expiresAt ?? "never", scopesText(record, state), name];
  });
  return formatColumns([["id", "kind", "state", "limit", "expires", "scopes", "name"], ...rows]);
}

/** The previous tokens of a key that still work, by their ends; never by their hashes. */
function previousEnds({ previous = [] }: KeyRecord, now: number): string[] {
  return previous.map(({ expiresAt }) => expiresAt).filter((end) => parseTime(end) > now);
}

/** A key for programs. */
function keyJson(record: KeyRecord, now: number) {
  const { state, scopes, unknownScopes } = stateOf(record, now);
  const { id, kind, name, limit, expiresAt, createdAt } = record;
  return {
    id,
    kind,
    name,
    state,
    limit: kind === "cli" ? null : limit,
    expiresAt,
    scopes,
    unknownScopes,
    grantsNothing: scopes.length === 0,
    createdAt,
    previous: previousEnds(record, now).map((end) => ({ expiresAt: end })),
    unknownFields: unknownFieldsOf(record),
  };
}

const json = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;

/** `keys list` */
export async function listKeys({ values }: Options<"keys list">, world: World): Promise<void> {
  const records = await withKeysFile(() => readRecords(values.keys));
  const now = Date.now();
  for (const warning of unknownFieldWarnings(records)) {
    world.complain(`orrery: warning: ${values.keys}: ${warning}\n`);
  }
  world.print(
    values.json ? json({ keys: records.map((record) => keyJson(record, now)) }) : listText(records, now),
  );
}

/** One key for people, a field a line. */
function showText(record: KeyRecord, now: number): string {
  const state = stateOf(record, now);
  const ends = previousEnds(record, now);
  const unknown = unknownFieldsOf(record);
  return formatColumns([
    ["id", record.id],
    ["kind", record.kind],
    ["name", record.name],
    ["state", state.state],
    ["limit", limitText(record)],
    ["scopes", scopesText(record, state)],
    ["created", record.createdAt],
    ["expires", record.expiresAt ?? "never"],
    ...ends.map((end) => ["previous token", `works until ${end}`]),
    ...(unknown.length > 0 ? [["unknown fields", unknown.join(", ")]] : []),
  ]);
}

/** `keys show` */
export async function showKey({ values, positionals }: Options<"keys show">, world: World): Promise<void> {
  const record = await withKeysFile(() => readRecord(values.keys, positionals[0]!));
  const now = Date.now();
  world.print(values.json ? json(keyJson(record, now)) : showText(record, now));
}
