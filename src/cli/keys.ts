/** `orrery keys …`: making and managing keys. */

import type { KeyRecord } from "../auth/keys.ts";
import { type AddedKey, addKey, changeRecords, readRecords } from "../auth/keys-file.ts";
import { SCOPES } from "../model/model.ts";
import { formatTime, parseTime } from "../model/time.ts";
import { nearest } from "../util/nearest.ts";
import { systemErrorText } from "../util/system-error.ts";
import { formatColumns } from "./columns.ts";
import type { World } from "./command.ts";
import { CommandError, type Options, readPrefixes, UsageError } from "./options.ts";

const UNIT_MS: Readonly<Record<string, number>> = {
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
};

/** Why a text is no date or time, as far as that can be told. */
function problemWithTime(text: string): string {
  const is = JSON.stringify(text);
  const [, unit] = /^\d+(?:\.\d+)?\s*([a-z]+)$/i.exec(text) ?? [];
  if (unit !== undefined && !Object.hasOwn(UNIT_MS, unit)) {
    return `unknown unit ${JSON.stringify(unit)} in ${is}; the units are m, h, d and w (minutes, hours, days, weeks)`;
  }
  const [, date, rest = ""] = /^(\d{4}-\d\d-\d\d)(.*)$/.exec(text) ?? [];
  if (date !== undefined && Number.isNaN(parseTime(`${date}T00:00:00Z`))) {
    return `there is no day ${JSON.stringify(date)}`;
  }
  if (/^T\d\d:\d\d(:\d\d(\.\d+)?)?$/.test(rest)) return `${is} has no time zone; append Z for UTC, or +01:00`;
  return `${is} is neither a time from now (30m, 12h, 90d, 1w), a date (2030-01-31) nor a time (2030-01-31T12:00:00Z)`;
}

/** End of validity from `30m`, `12h`, `90d`, `1w`, a date, whose first moment in UTC is meant, or a time. */
function readExpiry(text: string, now: number): string {
  const [, amount, unit] = /^(\d+)([mhdw])$/.exec(text) ?? [];
  const time = /^\d{4}-\d\d-\d\d$/.test(text) ? `${text}T00:00:00Z` : text;
  const at = unit === undefined ? parseTime(time) : now + Number(amount) * UNIT_MS[unit]!;
  if (Number.isNaN(at)) throw new UsageError(`--expires: ${problemWithTime(text)}`);
  if (at > parseTime("9999-12-31T23:59:59.999Z")) {
    throw new UsageError(`--expires: ${JSON.stringify(text)} is after the year 9999`);
  }
  // A key that is born expired is a slip: a year mistyped, or a zero too few.
  if (at <= now) throw new UsageError(`--expires: must be in the future, is ${formatTime(at)}`);
  return formatTime(at);
}

/** The scopes asked for, each once; all when none was. */
function readScopes(scopes: readonly string[]): readonly string[] {
  for (const scope of scopes) {
    if (SCOPES.some((known) => known === scope)) continue;
    const meant = nearest(scope, SCOPES);
    throw new UsageError(
      `--scope: ${JSON.stringify(scope)} is not a scope; ${meant ? `did you mean ${meant}?` : `the scopes are ${SCOPES.join(", ")}`}`,
    );
  }
  return scopes.length > 0 ? [...new Set(scopes)] : SCOPES;
}

/** What is to be made, checked. */
function readAddedKey(options: Options<"keys create">): AddedKey {
  const prefixes = readPrefixes(options);
  const { name, kind, limit = null, expires } = options.values;
  return {
    name,
    kind,
    prefix: prefixes[kind],
    scopes: readScopes(options.values.scope),
    limit,
    expiresAt: expires === undefined ? null : readExpiry(expires, Date.now()),
  };
}

/** `keys create` */
export async function createKey(options: Options<"keys create">, world: World): Promise<void> {
  const key = readAddedKey(options);
  let shown = false;
  const show = async (token: string): Promise<void> => {
    try {
      await world.deliver(`${token}\n`);
      shown = true;
    } catch (error) {
      const why = systemErrorText(error) ?? (error instanceof Error ? error.message : String(error));
      throw new CommandError(`the token cannot be written to standard output: ${why}; no key was made`);
    }
  };
  try {
    await addKey(options.values.keys, {
      ...key,
      show,
      onId: (id) => world.complain(`orrery: created ${id}; its token is not shown again\n`),
      tell: world.complain,
    });
  } catch (error) {
    if (shown && error instanceof CommandError) error.message += "; the printed token is not valid";
    throw error;
  }
}

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

function listText(records: readonly KeyRecord[], now: number): string {
  const rows = records.map((record) => {
    const state = stateOf(record, now);
    return [
      record.id,
      record.kind,
      state.state,
      record.kind === "cli" ? "none" : record.limit === null ? "default" : String(record.limit),
      record.expiresAt ?? "never",
      scopesText(record, state),
      record.name,
    ];
  });
  return formatColumns([["id", "kind", "state", "limit", "expires", "scopes", "name"], ...rows]);
}

function listJson(records: readonly KeyRecord[], now: number): string {
  const keys = records.map((record) => {
    const { state, scopes, unknownScopes } = stateOf(record, now);
    const { id, kind, name, limit, expiresAt, createdAt } = record;
    const grantsNothing = scopes.length === 0;
    const own = kind === "cli" ? null : limit;
    return {
      id,
      kind,
      name,
      state,
      limit: own,
      expiresAt,
      scopes,
      unknownScopes,
      grantsNothing,
      createdAt,
    };
  });
  return `${JSON.stringify({ keys }, null, 2)}\n`;
}

/** `keys list` */
export async function listKeys(options: Options<"keys list">, world: World): Promise<void> {
  const records = await readRecords(options.values.keys);
  world.print((options.values.json ? listJson : listText)(records, Date.now()));
}

async function changeOne(
  options: Options<"keys disable" | "keys enable" | "keys delete">,
  world: World,
  done: string,
  change: (record: KeyRecord) => KeyRecord | undefined,
): Promise<void> {
  const file = options.values.keys;
  const id = options.positionals[0]!;
  const changeRecord = (records: KeyRecord[]): KeyRecord[] => {
    if (!records.some((record) => record.id === id)) {
      // A whole token that was pasted by mistake must not end up in somebody's log.
      const shown = id.startsWith("key_") ? id : `${id.slice(0, 8)}…`;
      throw new CommandError(`${file}: there is no key ${JSON.stringify(shown)}`);
    }
    return records.flatMap((record) => (record.id === id ? (change(record) ?? []) : record));
  };
  await changeRecords(file, changeRecord, { tell: world.complain });
  world.complain(`orrery: ${done} ${id}\n`);
}

/** `keys disable` */
export function disableKey(options: Options<"keys disable">, world: World): Promise<void> {
  return changeOne(options, world, "disabled", (record) => ({ ...record, active: false }));
}

/** `keys enable` */
export function enableKey(options: Options<"keys enable">, world: World): Promise<void> {
  return changeOne(options, world, "enabled", (record) => ({ ...record, active: true }));
}

/** `keys delete` */
export function deleteKey(options: Options<"keys delete">, world: World): Promise<void> {
  return changeOne(options, world, "deleted", () => undefined);
}
