/** `orrery keys …`: making and managing keys. */

import type { KeyKind, KeyRecord } from "../gate/keys.ts";
import { SCOPES } from "../model.ts";
import { problemWithPrefixes } from "../settings.ts";
import { formatTime, parseTime } from "../time.ts";
import { formatColumns } from "./columns.ts";
import type { World } from "./commands.ts";
import { addKey, changeRecords, readRecords } from "./keysfile.ts";
import { CommandError, type Options, UsageError } from "./options.ts";

const UNIT_MS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };

/** End of validity from `30m`, `12h`, `90d` or a time. */
function readExpiry(text: string, now: number): string {
  const [, amount, unit] = /^(\d+)([mhd])$/.exec(text) ?? [];
  const at = unit === undefined ? parseTime(text) : now + Number(amount) * UNIT_MS[unit]!;
  if (!(at <= parseTime("9999-12-31T23:59:59.999Z"))) {
    throw new UsageError("--expires: must be like 30m, 12h, 90d or 2027-01-31T00:00:00Z");
  }
  return formatTime(at);
}

/** `keys create` */
export async function createKey(options: Options, world: World): Promise<void> {
  const prefixes = { api: options.text("api-key-prefix"), cli: options.text("cli-token-prefix") };
  const problem = problemWithPrefixes(prefixes.api, prefixes.cli);
  if (problem !== undefined) throw new UsageError(problem);
  const kind = options.text("kind") as KeyKind;
  const scopes = options.list("scope");
  for (const scope of scopes) {
    if (!SCOPES.some((known) => known === scope)) {
      world.complain(`orrery: ${JSON.stringify(scope)} is no known scope and grants nothing\n`);
    }
  }
  const limit = options.optional("limit");
  const expires = options.optional("expires");
  const token = await addKey(options.text("keys"), {
    name: options.text("name"),
    kind,
    prefix: prefixes[kind],
    scopes: scopes.length > 0 ? [...new Set(scopes)] : SCOPES,
    limit: limit === undefined ? null : Number(limit),
    expiresAt: expires === undefined ? null : readExpiry(expires, Date.now()),
    onId: (id) => world.complain(`orrery: created ${id}; its token is shown this once\n`),
  });
  world.print(`${token}\n`);
}

/** `keys list` */
export async function listKeys(options: Options, world: World): Promise<void> {
  const records = await readRecords(options.text("keys"));
  const rows = records.map((record) => [
    record.id,
    record.kind,
    record.active ? "active" : "disabled",
    // A CLI token has neither limit nor scopes, whatever its record says.
    record.kind === "cli" ? "none" : record.limit === null ? "default" : String(record.limit),
    record.expiresAt ?? "never",
    record.kind === "cli" ? "all" : record.scopes.join(","),
    record.name,
  ]);
  world.print(formatColumns([["id", "kind", "state", "limit", "expires", "scopes", "name"], ...rows]));
}

async function changeOne(
  options: Options,
  world: World,
  done: string,
  change: (record: KeyRecord) => KeyRecord | undefined,
): Promise<void> {
  const file = options.text("keys");
  const id = options.positionals[0]!;
  await changeRecords(file, (records) => {
    if (!records.some((record) => record.id === id)) {
      throw new CommandError(`${file}: there is no key ${JSON.stringify(id)}`);
    }
    return records.flatMap((record) => (record.id === id ? (change(record) ?? []) : record));
  });
  world.complain(`orrery: ${done} ${id}\n`);
}

/** `keys disable` */
export function disableKey(options: Options, world: World): Promise<void> {
  return changeOne(options, world, "disabled", (record) => ({ ...record, active: false }));
}

/** `keys enable` */
export function enableKey(options: Options, world: World): Promise<void> {
  return changeOne(options, world, "enabled", (record) => ({ ...record, active: true }));
}

/** `keys delete` */
export function deleteKey(options: Options, world: World): Promise<void> {
  return changeOne(options, world, "deleted", () => undefined);
}
