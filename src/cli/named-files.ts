/** Files and folders in the settings of one command: it must not write one that another setting names. */

import { stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { isAddress } from "../files/folders.ts";
import { behindLinks } from "../files/foreign.ts";
import { answered } from "../files/given.ts";
import { ROW_FILES } from "../model/model.ts";
import { nameOf, type Setting, settingsOf } from "../settings/settings.ts";
import { formsOf, MANIFEST, PREPARED } from "../snapshot/files.ts";
import type { CommandRow } from "./command.ts";
import { type Options, positionalsOf, UsageError } from "./options.ts";

const OF_SNAPSHOTS: ReadonlySet<string> = new Set([MANIFEST, PREPARED, ...ROW_FILES.flatMap(formsOf)]);

/** The words and settings that name a file or folder; `name` is for messages. */
function namedBy(row: CommandRow, options: Options, table: readonly Setting[]) {
  const words = positionalsOf(row).flatMap((name, at) =>
    name.startsWith("DIR") ? [{ name, path: options.positionals[at]!, isWritten: false }] : [],
  );
  const names: Readonly<Record<string, string>> = options.names;
  const values = options.values as Readonly<Record<string, unknown>>;
  const settings = settingsOf(table, row.name).flatMap(({ flag, path: use }) => {
    const path = values[nameOf(flag)];
    if (use === undefined || typeof path !== "string") return [];
    return [{ name: names[nameOf(flag)]!, path, isWritten: use === "written" }];
  });
  return [...words, ...settings].filter(({ path }) => !isAddress(path));
}

/** @returns undefined for a terminal or another device, which any number of settings may share */
async function identityOf(path: string): Promise<string | undefined> {
  const stats = await answered(path, () => stat(path, { bigint: true })).catch(() => undefined);
  if (stats !== undefined) return stats.isCharacterDevice() ? undefined : `${stats.dev}:${stats.ino}`;
  const above = dirname(path);
  return above === path ? path : join((await identityOf(above)) ?? above, basename(path));
}

/**
 * The target of a path, its folder, and its name in there: equal for two spellings of one file, also by links. Undefined
 * for a device, for links in a circle and for a file system that does not answer: these fail when the path is used.
 */
async function placeOf(path: string) {
  const real = await answered(path, () => behindLinks(path)).catch(() => undefined);
  if (real === undefined) return undefined;
  const [file, folder] = await Promise.all([identityOf(real), identityOf(dirname(real))]);
  return file === undefined || folder === undefined ? undefined : { file, folder, base: basename(real) };
}

/** Why a place must not be written, if another name leads to it. */
function problemOf(
  place: Awaited<ReturnType<typeof placeOf>>,
  other: { readonly name: string; readonly place: typeof place },
): string | undefined {
  if (place === undefined || other.place === undefined) return undefined;
  if (other.place.file === place.file) return `is the same file as ${other.name}`;
  const isInside = other.place.file === place.folder && OF_SNAPSHOTS.has(place.base);
  return isInside ? `would be a file of the snapshot in ${other.name}` : undefined;
}

/** Refuses to write a file that another setting names, in any spelling. @throws {UsageError} naming both */
export async function refuseSameFiles(
  row: CommandRow,
  options: Options,
  table: readonly Setting[],
): Promise<void> {
  const all = namedBy(row, options, table);
  if (!all.some(({ isWritten }) => isWritten)) return;
  const placed = await Promise.all(
    all.map(async (named) => ({ ...named, place: await placeOf(named.path) })),
  );
  for (const written of placed.filter(({ isWritten }) => isWritten)) {
    for (const other of placed) {
      const problem = other.name === written.name ? undefined : problemOf(written.place, other);
      if (problem !== undefined) throw new UsageError(`${written.name}: ${problem}: ${written.path}`);
    }
  }
}
