/** `orrery keys …`: the commands that create or change a key; `keys-shown.ts` has the others. */

import type { KeyRecord } from "../auth/keys.ts";
import {
  changeRecord,
  changeRecords,
  makeKey,
  makeToken,
  type NewKey,
  rotatedRecord,
} from "../auth/keys-file.ts";
import { SCOPES } from "../model/model.ts";
import { formatTime, parseTime } from "../model/time.ts";
import { problemText } from "../util/system-error.ts";
import { UserError } from "../util/user-error.ts";
import type { CommandIo } from "./command.ts";
import { CommandError, type Options, readPrefixes, UsageError } from "./options.ts";

/** Checks scopes, and removes duplicates. @throws {UsageError} */
function readScopes(scopes: readonly string[]): string[] {
  for (const scope of scopes) {
    if (SCOPES.some((known) => known === scope)) continue;
    throw new UsageError(
      `--scope: ${JSON.stringify(scope)} is not a scope; the scopes are ${SCOPES.join(", ")}`,
    );
  }
  return [...new Set(scopes)];
}

const UNIT_MS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };

const LAST = parseTime("9999-12-31T23:59:59.999Z");

/** Milliseconds of `30m`, `12h`, `90d` or `1w`; undefined for any other text. */
function spanOf(text: string): number | undefined {
  const [, amount, unit] = /^(\d+)([mhdw])$/.exec(text) ?? [];
  return unit === undefined ? undefined : Number(amount) * UNIT_MS[unit]!;
}

/** End of validity from `30m`, `12h`, `90d`, `1w`, a date (its first moment in UTC) or a time. */
function readExpiry(text: string, now: number): string {
  const span = spanOf(text);
  const time = /^\d{4}-\d\d-\d\d$/.test(text) ? `${text}T00:00:00Z` : text;
  const at = span === undefined ? parseTime(time) : now + span;
  if (Number.isNaN(at)) {
    throw new UsageError(
      `--expires: must be a time from now (30m, 12h, 90d, 1w), a date (2030-01-31) or a time (2030-01-31T12:00:00Z), is ${JSON.stringify(text)}`,
    );
  }
  if (at > LAST) throw new UsageError(`--expires: ${JSON.stringify(text)} is after the year 9999`);
  // A key that is expired from the start is a mistake: a year mistyped, or a zero too few.
  if (at <= now) throw new UsageError(`--expires: must be in the future, is ${formatTime(at)}`);
  return formatTime(at);
}

/** Milliseconds for which a replaced token goes on working, from `0` or a span. @throws {UsageError} */
function readOverlap(text: string, now: number): number {
  const span = text === "0" ? 0 : spanOf(text);
  const is = JSON.stringify(text);
  if (span === undefined)
    throw new UsageError(`--overlap: must be 0 or a span such as 30m, 12h, 90d or 1w, is ${is}`);
  if (now + span > LAST) throw new UsageError(`--overlap: ${is} ends after the year 9999`);
  return span;
}

function readNewKey(options: Options<"keys create">): NewKey {
  const prefixes = readPrefixes(options);
  const { name, kind, owner, note, limit, scope, expires } = options.values;
  return {
    name,
    kind,
    owner,
    note,
    prefix: prefixes[kind],
    scopes: scope.length > 0 ? readScopes(scope) : SCOPES,
    ...(limit === undefined ? {} : { limit }),
    expiresAt: expires === undefined ? null : readExpiry(expires, Date.now()),
  };
}

function warnOfName(records: readonly KeyRecord[], { id, name }: KeyRecord, io: CommandIo): void {
  const other = records.find((record) => record.name === name && record.id !== id);
  if (other === undefined) return;
  io.complain(`orrery: warning: ${other.id} has the name ${JSON.stringify(name)} too\n`);
}

/**
 * Changes a keys file, and prints the new token before it takes effect, so that no valid token is lost unseen.
 * @param create whether a missing file is created
 * @param undone ends the message when the token cannot be printed
 */
async function changeWithToken(
  keysFile: string,
  io: CommandIo,
  { text, create, undone }: { text: () => string; create: boolean; undone: string },
  change: (records: KeyRecord[]) => KeyRecord[],
): Promise<void> {
  let isPrinted = false;
  const ready = async (): Promise<void> => {
    if (isPrinted) return;
    await io.deliver(`${text()}\n`).catch((error: unknown) => {
      const why = problemText(error);
      throw new CommandError(`the token cannot be written to standard output: ${why}; ${undone}`);
    });
    isPrinted = true;
  };
  try {
    await changeRecords(keysFile, change, { create, ready });
  } catch (error) {
    if (isPrinted && error instanceof UserError) error.message += "; the printed token is not valid";
    throw error;
  }
}

export async function createKey(options: Options<"keys create">, io: CommandIo): Promise<void> {
  const { token, record } = makeKey(readNewKey(options));
  const made = { text: () => token, create: true, undone: "no key was made" };
  await changeWithToken(options.values.keys, io, made, (records) => {
    warnOfName(records, record, io);
    return [...records, record];
  });
  io.complain(`orrery: created ${record.id}; its token is not shown again\n`);
}

/** Reports a rotation, and until when previous tokens work. */
function rotatedText({ id, active, expiresAt, previous = [] }: KeyRecord): string {
  let old = "no earlier token works";
  if (previous.length > 0) {
    const last = Math.max(...previous.map((token) => parseTime(token.expiresAt)));
    const until = formatTime(expiresAt === null ? last : Math.min(last, parseTime(expiresAt)));
    const which = previous.length === 1 ? "the one before works" : `${previous.length} earlier ones work`;
    old = `${which} until ${until} at the latest`;
  }
  const note = active
    ? ""
    : `orrery: ${id} is disabled: no token of it works before orrery keys enable ${id}\n`;
  return `orrery: gave ${id} a new token, which is not shown again; ${old}\n${note}`;
}

function refuseExpired({ id, expiresAt }: KeyRecord): void {
  if (expiresAt === null || parseTime(expiresAt) > Date.now()) return;
  throw new CommandError(
    `${id} expired at ${expiresAt}, and so would its new token; first give it time: orrery keys update ${id} --expires 90d`,
  );
}

export async function rotate(options: Options<"keys rotate">, io: CommandIo): Promise<void> {
  const prefixes = readPrefixes(options);
  const { keys, overlap } = options.values;
  const id = options.positionals[0]!;
  const overlapMs = readOverlap(overlap, Date.now());
  let token = "";
  let rotated: KeyRecord | undefined;
  const change = (old: KeyRecord): KeyRecord => {
    refuseExpired(old);
    token ||= makeToken(prefixes[old.kind]);
    rotated = rotatedRecord(old, token, overlapMs);
    return rotated;
  };
  const made = { text: () => token, create: false, undone: "the key is as before" };
  await changeWithToken(keys, io, made, (records) => changeRecord(records, id, change));
  io.complain(rotatedText(rotated!));
}

async function changeOne(
  options: Options<"keys update" | "keys disable" | "keys enable" | "keys delete">,
  io: CommandIo,
  done: string,
  change: (record: KeyRecord, records: readonly KeyRecord[]) => KeyRecord | undefined,
): Promise<void> {
  const id = options.positionals[0]!;
  await changeRecords(options.values.keys, (records) =>
    changeRecord(records, id, (record) => change(record, records)),
  );
  io.complain(`orrery: ${done} ${id}\n`);
}

function readChanges({ values }: Options<"keys update">): Partial<KeyRecord> {
  const { name, owner, note, scope, limit, expires } = values;
  const changes: Partial<KeyRecord> = {};
  if (name !== undefined) changes.name = name;
  if (owner !== undefined) changes.owner = owner === "none" ? undefined : owner;
  if (note !== undefined) changes.note = note === "none" ? undefined : note;
  if (scope.length > 0) changes.scopes = readScopes(scope);
  if (limit !== undefined) changes.limit = limit === "default" ? null : limit;
  if (expires !== undefined) {
    changes.expiresAt = expires === "never" ? null : readExpiry(expires, Date.now());
  }
  if (Object.keys(changes).length > 0) return changes;
  throw new UsageError("nothing to change: give --name, --owner, --note, --scope, --limit or --expires");
}

export async function updateKey(options: Options<"keys update">, io: CommandIo): Promise<void> {
  const changes = readChanges(options);
  await changeOne(options, io, "updated", (record, records) => {
    const refused = record.kind === "cli" && (["scopes", "limit"] as const).find((field) => field in changes);
    if (refused) {
      const flag = refused === "scopes" ? "--scope" : "--limit";
      throw new UsageError(`${flag}: ${record.id} is a CLI token, which has neither a limit nor scopes`);
    }
    const changed = { ...record, ...changes };
    if (changes.name !== undefined) warnOfName(records, changed, io);
    return changed;
  });
}

export function disableKey(options: Options<"keys disable">, io: CommandIo): Promise<void> {
  return changeOne(options, io, "disabled", (record) => ({ ...record, active: false }));
}

export function enableKey(options: Options<"keys enable">, io: CommandIo): Promise<void> {
  return changeOne(options, io, "enabled", (record) => ({ ...record, active: true }));
}

export function deleteKey(options: Options<"keys delete">, io: CommandIo): Promise<void> {
  return changeOne(options, io, "deleted", () => undefined);
}
