/** `orrery keys list`, `show` and `find`: keys of a file. */

import { misspeltFieldWarnings, unknownFieldsOf } from "../auth/key-changes.ts";
import { hashToken, type KeyRecord } from "../auth/keys.ts";
import { readRecord, readRecords } from "../auth/keys-file.ts";
import { tokenIn } from "../files/given.ts";
import { SCOPES } from "../model/model.ts";
import { parseTime } from "../model/time.ts";
import type { CommandIo } from "./command.ts";
import { CommandError, type Options } from "./options.ts";
import { formatColumns, jsonText } from "./terminal.ts";

function keyShown(record: KeyRecord, now: number) {
  const { id, kind, name, owner = null, note = null, hint = null } = record;
  const { active, expiresAt, createdAt, previous = [] } = record;
  const isOver = (end: string): boolean => parseTime(end) <= now;
  const usable = expiresAt !== null && isOver(expiresAt) ? "expired" : "active";
  const isKnown = (scope: string): boolean => SCOPES.some((known) => known === scope);
  // A CLI token has neither limit nor scopes, whatever its record says.
  const given = kind === "cli" ? SCOPES : record.scopes;
  const scopes = given.filter(isKnown);
  return {
    id,
    kind,
    name,
    owner,
    note,
    hint,
    state: active ? usable : "disabled",
    limit: kind === "cli" ? null : record.limit,
    expiresAt,
    // The scopes that grant something.
    scopes,
    unknownScopes: given.filter((scope) => !isKnown(scope)),
    grantsNothing: scopes.length === 0,
    createdAt,
    // Tokens that still work. Their hashes are never shown.
    previous: previous
      .filter((token) => !isOver(token.expiresAt))
      .map(({ expiresAt, hint = null }) => ({ expiresAt, hint })),
    unknownFields: Object.fromEntries(unknownFieldsOf(record)),
  };
}

type KeyShown = ReturnType<typeof keyShown>;

function scopesText({ kind, scopes, unknownScopes }: KeyShown): string {
  if (kind === "cli") return "all";
  const known = scopes.length > 0 ? scopes.join(",") : "none, grants nothing";
  return unknownScopes.length > 0 ? `${known} (unknown: ${unknownScopes.join(",")})` : known;
}

function limitText({ kind, limit }: KeyShown): string {
  return kind === "cli" ? "none" : String(limit ?? "default");
}

function listText(keys: readonly KeyShown[]): string {
  const rows = keys.map((key) => {
    const { id, kind, state, expiresAt, name } = key;
    return [id, kind, state, limitText(key), expiresAt ?? "never", scopesText(key), name];
  });
  return formatColumns([["id", "kind", "state", "limit", "expires", "scopes", "name"], ...rows]);
}

function showText(key: KeyShown): string {
  const { id, kind, name, owner, note, hint, state, createdAt, expiresAt, previous, unknownFields } = key;
  const optional = (title: string, text: string | null) => (text === null ? [] : [[title, text]]);
  return formatColumns([
    ["id", id],
    ["kind", kind],
    ["name", name],
    ...optional("owner", owner),
    ...optional("note", note),
    ...optional("token", hint && `…${hint}`),
    ["state", state],
    ["limit", limitText(key)],
    ["scopes", scopesText(key)],
    ["created", createdAt],
    ["expires", expiresAt ?? "never"],
    ...previous.map(({ hint, expiresAt }) => {
      return ["previous token", `${hint === null ? "" : `…${hint} `}works until ${expiresAt}`];
    }),
    ...Object.entries(unknownFields).map(([name, value]) => [`field ${name}`, JSON.stringify(value)]),
  ]);
}

/** The record with a token; `previous` is the entry of the token if another has replaced it. */
function recordOfToken(records: readonly KeyRecord[], token: string) {
  const hash = hashToken(token);
  for (const record of records) {
    if (record.sha256.toLowerCase() === hash) return { record };
    const previous = record.previous?.find(({ sha256 }) => sha256.toLowerCase() === hash);
    if (previous !== undefined) return { record, previous };
  }
  return undefined;
}

export async function listKeys(options: Options<"keys list">, io: CommandIo): Promise<void> {
  const { values } = options;
  const records = await readRecords(values.keys);
  for (const warning of misspeltFieldWarnings(records)) {
    io.complain(`orrery: warning: ${values.keys}: ${warning}\n`);
  }
  const keys = records.map((record) => keyShown(record, Date.now()));
  io.print(values.json ? jsonText({ keys }) : listText(keys));
}

function show(record: KeyRecord, options: Options<"keys show" | "keys find">, io: CommandIo): void {
  const key = keyShown(record, Date.now());
  io.print(options.values.json ? jsonText(key) : showText(key));
}

export async function showKey(options: Options<"keys show">, io: CommandIo): Promise<void> {
  show(await readRecord(options.values.keys, options.positionals[0]!), options, io);
}

export async function findByToken(options: Options<"keys find">, io: CommandIo): Promise<void> {
  const { keys } = options.values;
  const records = await readRecords(keys);
  const token = tokenIn(await io.readInput());
  if (token === "") throw new CommandError("there is no token on standard input");
  const found = recordOfToken(records, token);
  if (found === undefined) throw new CommandError(`${keys}: no key has this token`);
  const { record, previous } = found;
  if (previous !== undefined) {
    const over = parseTime(previous.expiresAt) <= Date.now();
    io.complain(
      `orrery: this is an earlier token of ${record.id}, which ${over ? "ended" : "ends"} at ${previous.expiresAt}\n`,
    );
  }
  show(record, options, io);
}
