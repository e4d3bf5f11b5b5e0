/** `orrery keys list` and `orrery keys show`: keys as they stand in their file. */

import { unknownFieldsOf, unknownFieldWarnings } from "../auth/key-changes.ts";
import type { KeyRecord } from "../auth/keys.ts";
import { readRecord, readRecords } from "../auth/keys-file.ts";
import { SCOPES } from "../model/model.ts";
import { parseTime } from "../model/time.ts";
import { askUsage, type KeyUsage } from "./ask-usage.ts";
import type { CommandIo } from "./command.ts";
import { withKeysFile } from "./keys.ts";
import type { Options } from "./options.ts";
import { formatColumns, jsonText } from "./terminal.ts";

/** Whether a key can be used, and the scopes that grant something; all for a CLI token. */
function stateOf({ kind, active, expiresAt, scopes }: KeyRecord, now: number) {
  const isKnown = (scope: string): boolean => SCOPES.some((known) => known === scope);
  const state = !active
    ? "disabled"
    : expiresAt !== null && parseTime(expiresAt) <= now
      ? "expired"
      : "active";
  // A CLI token has neither limit nor scopes, whatever its record says.
  if (kind === "cli") return { state, scopes: SCOPES, unknownScopes: [] };
  return { state, scopes: scopes.filter(isKnown), unknownScopes: scopes.filter((scope) => !isKnown(scope)) };
}

function scopesText({ kind }: KeyRecord, { scopes, unknownScopes }: ReturnType<typeof stateOf>): string {
  if (kind === "cli") return "all";
  const known = scopes.length > 0 ? scopes.join(",") : "none, grants nothing";
  return unknownScopes.length > 0 ? `${known} (unknown: ${unknownScopes.join(",")})` : known;
}

const limitText = ({ kind, limit }: KeyRecord): string =>
  kind === "cli" ? "none" : limit === null ? "default" : String(limit);

/** By id; undefined when no server was asked. */
type Usages = ReadonlyMap<string, KeyUsage> | undefined;

const USAGE_TITLES = ["passed", "refused", "last used"];

/** The cells below {@link USAGE_TITLES}. A server may not know a key yet. */
function usageCells(usage: KeyUsage | undefined): [passed: string, refused: string, lastUsed: string] {
  if (usage === undefined) return ["unknown", "unknown", "unknown"];
  const reasons = Object.entries(usage.refused).filter(([, times]) => times > 0);
  const refused = reasons.map(([reason, times]) => `${times} ${reason}`).join(", ");
  return [String(usage.passed), refused || "0", usage.lastUsedAt ?? "not since the start"];
}

function listText(records: readonly KeyRecord[], now: number, usages: Usages): string {
  const rows = records.map((record) => {
    const state = stateOf(record, now);
    const { id, kind, expiresAt, name } = record;
    const usage = usages ? usageCells(usages.get(id)) : [];
    const scopes = scopesText(record, state);
    return [id, kind, state.state, limitText(record), expiresAt ?? "never", ...usage, scopes, name];
  });
  const usage = usages ? USAGE_TITLES : [];
  return formatColumns([["id", "kind", "state", "limit", "expires", ...usage, "scopes", "name"], ...rows]);
}

/** The ends of the previous tokens of a key that still work. Their hashes are never shown. */
function previousEnds({ previous = [] }: KeyRecord, now: number): string[] {
  return previous.map(({ expiresAt }) => expiresAt).filter((end) => parseTime(end) > now);
}

function keyJson(record: KeyRecord, now: number, usages: Usages) {
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
    ...(usages ? { usage: usages.get(id) ?? null } : {}),
  };
}

export async function listKeys(options: Options<"keys list">, io: CommandIo): Promise<void> {
  const { values } = options;
  const records = await withKeysFile(() => readRecords(values.keys));
  const ids = records.map(({ id }) => id);
  const usages = await askUsage(options, ids);
  const now = Date.now();
  for (const warning of unknownFieldWarnings(records)) {
    io.complain(`orrery: warning: ${values.keys}: ${warning}\n`);
  }
  const keys = records.map((record) => keyJson(record, now, usages));
  io.print(values.json ? jsonText({ keys }) : listText(records, now, usages));
}

function showText(record: KeyRecord, now: number, usages: Usages): string {
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
    ...(usages ? usageCells(usages.get(record.id)).map((cell, at) => [USAGE_TITLES[at]!, cell]) : []),
  ]);
}

export async function showKey(options: Options<"keys show">, io: CommandIo): Promise<void> {
  const { values, positionals } = options;
  const record = await withKeysFile(() => readRecord(values.keys, positionals[0]!));
  const usages = await askUsage(options, [record.id]);
  const now = Date.now();
  io.print(values.json ? jsonText(keyJson(record, now, usages)) : showText(record, now, usages));
}
