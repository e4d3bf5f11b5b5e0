/** One export: writes rows from PostgreSQL to a folder with a manifest, checks them, and publishes the folder as a whole. */

import { copyFile, link, mkdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Options } from "../../cli/options.ts";
import { temporaryOf } from "../../files/atomic.ts";
import { makeTemporaryFolder } from "../../files/folders.ts";
import { publishVersion } from "../../files/publish.ts";
import { TABLES, type TableName } from "../../model/schema.ts";
import { buildPrepared } from "../../server/load/build-prepared.ts";
import { fileFingerprintsOf, isSameFile, PREPARED } from "../../snapshot/files.ts";
import type { Before, Loaded } from "../../snapshot/load.ts";
import { rowText } from "../../store/table.ts";
import { SnapshotError } from "../../util/told-error.ts";
import { leaveOut, nameRows, otherStatuses, SHOWN_STATUS } from "../broken-rows.ts";
import {
  completeRows,
  generationOfRows,
  holdsGeneration,
  type RowFiles,
  renewIfSame,
  type WrittenFile,
  writeManifest,
  writeRowFile,
} from "../row-folder.ts";
import { copyTables, type TableMarks } from "./postgres.ts";
import type { PostgresUrl } from "./postgres-url.ts";
import { isAlwaysVisible, type Queries } from "./queries.ts";

type Settings = Options<"export">["values"];

/** Settings of the command, and the source. */
export interface ExportOptions
  extends Pick<Settings, "out" | "gzip" | "maxSnapshotBytes">,
    Partial<Pick<Settings, "build" | "keep" | "allowShrink" | "visibleOnly" | "skipBroken">> {
  readonly from: PostgresUrl;
  readonly queries: Queries;
  /** The last publication: files equal to its files are linked and not checked again. */
  readonly last?: LastPublished | undefined;
  /** Aborts: cancels the query and removes the written files. */
  readonly signal: AbortSignal;
}

/** The last publication, for the next round. It keeps the rows in memory. */
export interface LastPublished {
  readonly folder: string;
  readonly files: RowFiles;
  /** Time of its data, in milliseconds since the epoch. */
  readonly createdAt: number;
  /** Undefined when another process had already published the same rows. */
  readonly before: Before | undefined;
  readonly marks: TableMarks;
}

type Exported = Awaited<ReturnType<typeof fillFolder>>;

/** One export: all tables that have a query; the others keep the files of the last publication. */
interface Task extends Omit<ExportOptions, "queries"> {
  readonly queries: Partial<Queries>;
  /** The queries of all tables, if hidden rows are left out. */
  readonly visibleBy: Queries | undefined;
  /** Time of the data. Taken before the first query: the rows include everything committed by then. */
  readonly createdAt: number;
}

/** The files of the last publication that were not touched since. */
async function untouched({ folder, before }: LastPublished): Promise<ReadonlySet<string>> {
  const looks = await fileFingerprintsOf(folder);
  const kept = before?.kept.files ?? [];
  const same = kept.filter(({ file, fingerprint }) => isSameFile(looks.get(file) ?? "", fingerprint));
  return new Set(same.map(({ file }) => file));
}

/**
 * Copies every table that has a query and may have changed to a file.
 *
 * @param last has the same form, compressed or not
 * @returns the files, the names of unchanged ones to link, and the marks for the next export
 */
async function copyRows(
  folder: string,
  { from, queries, visibleBy, gzip, signal }: Task,
  last: LastPublished | undefined,
): Promise<Pick<LastPublished, "files" | "marks"> & { readonly shared: readonly string[] }> {
  const nameOf = (table: TableName): string => `${table}.ndjson${gzip ? ".gz" : ""}`;
  const usable = last === undefined ? new Set() : await untouched(last);
  const before = [...(last?.marks ?? [])];
  // A mark proves nothing about some rows of a table: it counts all, and sees no other table.
  const isMarked = (table: TableName): boolean => visibleBy === undefined || isAlwaysVisible(table);
  const known = before.filter(([table]) => usable.has(nameOf(table)) && isMarked(table));
  const written = new Map<TableName, WrittenFile>();
  const take = async (table: TableName, lines: AsyncIterable<Buffer>): Promise<WrittenFile> => {
    const file = await writeRowFile(join(folder, nameOf(table)), lines, gzip);
    written.set(table, file);
    return file;
  };
  const marks = await copyTables(from, { queries, visibleBy, take, marks: new Map(known) }, signal);
  const files = new Map<string, WrittenFile>();
  const shared: string[] = [];
  for (const table of TABLES) {
    const name = nameOf(table);
    const copied = written.get(table);
    files.set(name, copied ?? last!.files.get(name)!);
    if (copied === undefined || (usable.has(name) && last!.files.get(name)!.sha256 === copied.sha256))
      shared.push(name);
  }
  return {
    files,
    shared,
    marks: new Map([...before.filter(([table]) => queries[table] === undefined), ...marks]),
  };
}

/** Builds the prepared snapshot, then removes the rows. Loading them is the check. */
async function prepareRows(
  rows: string,
  folder: string,
  current: string | undefined,
  { maxSnapshotBytes: maxBytes, allowShrink, signal }: Task,
): Promise<{ readonly bytes: number; readonly visible: string }> {
  const guard = { current, allowShrink, maxBytes };
  const prepared = await buildPrepared(rows, folder, { maxBytes, manifest: true, guard, signal });
  signal.throwIfAborted();
  if (!prepared.ok) throw new SnapshotError(prepared.problems);
  const visible = await visibleWords(rows, prepared);
  await rm(rows, { recursive: true });
  return { bytes: prepared.bytes, visible };
}

/** Says how many rows are visible, by table; where no world is, also which other statuses they have. */
async function visibleWords(
  folder: string,
  { store, reports }: Pick<Loaded, "store" | "reports">,
): Promise<string> {
  const words = (["users", "worlds", "instances"] as const).map((table) => {
    const all = reports.find((report) => report.table === `${table}.ndjson`)?.rows ?? 0;
    const { rows } = store[table];
    const visible = rows.toLocaleString("en-US");
    return rows === all ? `${visible} ${table}` : `${visible} of ${all.toLocaleString("en-US")} ${table}`;
  });
  const worlds = reports.find((report) => report.table === "worlds.ndjson");
  if (worlds === undefined || worlds.rows === 0 || store.worlds.rows > 0)
    return `${words.join(", ")} visible`;
  const statuses = await otherStatuses(folder, worlds.file);
  const are =
    statuses.length === 0
      ? ""
      : `; a visible one has the status "${SHOWN_STATUS}", these have ${statuses.join(", ")}`;
  return `${words.join(", ")} visible: WARNING, no world is visible${are}`;
}

/** Copied rows that are to be checked and completed. */
interface Copied extends Awaited<ReturnType<typeof copyRows>> {
  /** The folder to publish, and that of the rows, which is within it if a prepared snapshot is built. */
  readonly folder: string;
  readonly place: string;
  readonly current: string | undefined;
  readonly last: LastPublished | undefined;
}

/** Checks copied rows, and completes their folder. @throws {SnapshotError} in words of files and lines */
async function completeFolder(copied: Copied, task: Task) {
  const { folder, place, current, last, files, shared, marks } = copied;
  const { createdAt, build = false } = task;
  const generation = generationOfRows(files);
  const all = [...files.values()];
  const came = {
    generation,
    rows: all.reduce((sum, file) => sum + file.rows, 0),
    bytes: all.reduce((sum, file) => sum + file.bytes, 0),
  };
  const fields = { generation, createdAt };
  if (await renewIfSame(current, fields, build ? [PREPARED] : [...files.keys()])) {
    const published = build ? undefined : { folder: current!, files, createdAt, before: last?.before, marks };
    return { ...came, isNew: false, visible: "", published };
  }
  // Not before: a link changes the times of the published file, which tell its readers that it is another one.
  for (const name of shared) await linkInto(place, last!.folder, name);
  if (build) {
    await writeManifest(place, files, fields);
    return {
      ...came,
      ...(await prepareRows(place, folder, current, task)),
      isNew: true,
      published: undefined,
    };
  }
  const checked = await completeRows(place, files, fields, { ...task, current, before: last?.before });
  const published = { folder, files, createdAt, before: { store: checked.store, kept: checked.kept }, marks };
  return { ...came, isNew: true, visible: await visibleWords(place, checked), published };
}

/**
 * Completes a folder, and leaves out as many broken rows as `--skip-broken` allows.
 * @returns the words about those rows, too @throws {SnapshotError} in words of tables and ids
 */
async function completeSound(copied: Copied, task: Task) {
  const { skipBroken = 0 } = task;
  const left: string[] = [];
  let count = 0;
  for (let { files, shared } = copied; ; ) {
    try {
      return { ...(await completeFolder({ ...copied, files, shared }, task)), left };
    } catch (error) {
      if (!(error instanceof SnapshotError)) throw error;
      const named = await nameRows(copied.place, error.problems);
      const rest = count < skipBroken ? await leaveOut(copied.place, files, error.problems) : undefined;
      if (rest === undefined || count + rest.count > skipBroken) throw new SnapshotError([...left, ...named]);
      count += rest.count;
      left.push(...named);
      // A file without its broken rows is that of the last version no more.
      shared = shared.filter((name) => rest.files.get(name) === files.get(name));
      files = rest.files;
    }
  }
}

/**
 * Fills a folder that is to be published.
 *
 * @returns among others the bytes on disk, milliseconds for copying the rows and for checking or preparing them, whether there is
 *   anything new, and the publication; that is undefined for a prepared snapshot
 */
async function fillFolder(folder: string, current: string | undefined, task: Task) {
  const { build = false } = task;
  const last = task.last?.folder === current ? task.last : undefined;
  const place = build ? join(folder, "rows") : folder;
  if (build) await mkdir(place);
  const began = performance.now();
  const copied = await copyRows(place, task, last);
  const copyMs = performance.now() - began;
  const completed = await completeSound({ ...copied, folder, place, current, last }, task);
  return { ...completed, copyMs, checkMs: performance.now() - began - copyMs };
}

/** Rows of a table that a dry run shows. */
const SHOWN = 3;

/** Exports to a temporary folder, which is removed. @returns lines: what is visible, and some rows of each table as they would be served */
export async function exportDry(options: ExportOptions): Promise<string[]> {
  const folder = await makeTemporaryFolder("export");
  try {
    const task = { ...options, visibleBy: visibleBy(options), createdAt: Date.now() };
    const { files } = await copyRows(folder, task, undefined);
    const fields = { generation: generationOfRows(files), createdAt: task.createdAt };
    const checking = { ...task, current: undefined, allowShrink: true };
    const checked = await completeRows(folder, files, fields, checking).catch(async (error: unknown) => {
      throw error instanceof SnapshotError
        ? new SnapshotError(await nameRows(folder, error.problems))
        : error;
    });
    const { users, worlds, worldStats, instances } = checked.store;
    const tables = Object.entries({ users, worlds, "world-stats": worldStats, instances });
    const shown = tables.flatMap(([name, block]) => [
      `${name}:`,
      ...Array.from(
        { length: Math.min(SHOWN, block.starts.length - 1) },
        (_, row) => `  ${Buffer.from(rowText(block, row), "latin1").toString()}`,
      ),
    ]);
    return [await visibleWords(folder, checked), ...shown];
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Publishes an export. @param follows the folder that must be published still; undefined for any @returns undefined if it is not */
async function publish(task: Task, follows?: string): Promise<Exported | undefined> {
  let exported: Exported | undefined;
  await publishVersion(
    task.out,
    async (folder, current) => {
      if (follows !== undefined && current !== follows) return undefined;
      exported = await fillFolder(folder, current, task);
      return exported.isNew ? exported : undefined;
    },
    {
      keep: task.keep,
      replaces: follows !== undefined,
      isSame: (other) => holdsGeneration(other, exported!.generation),
    },
  );
  return exported;
}

function visibleBy({ visibleOnly, queries }: ExportOptions): Queries | undefined {
  return visibleOnly ? queries : undefined;
}

/**
 * Exports once.
 *
 * @throws {SnapshotError} when the rows would not load; `SourceError`, `PlaceError`, `CommandError`;
 *   errors of the file system; the signal's reason. After an error nothing is published and no file is left
 */
export async function exportOnce(options: ExportOptions): Promise<Exported> {
  return (await publish({ ...options, visibleBy: visibleBy(options), createdAt: Date.now() }))!;
}

/**
 * Exports the instances alone, and publishes them with the other files unchanged. The new version replaces the last one.
 *
 * @param last the last publication
 * @returns the current publication; undefined when another process has published since: the next full export continues
 * @throws as {@link exportOnce} does
 */
export async function exportLive(
  options: ExportOptions,
  last: LastPublished,
): Promise<LastPublished | undefined> {
  const { createdAt, folder } = last;
  const { instances } = options.queries;
  const more = { queries: { instances }, visibleBy: visibleBy(options), allowShrink: true };
  const task = { ...options, ...more, createdAt, last };
  return (await publish(task, folder))?.published;
}

/** Puts a file of another folder into a folder, in place of any file there: a link, or a copy where the file system has no links. */
async function linkInto(folder: string, other: string, name: string): Promise<void> {
  const from = join(other, name);
  const temporary = temporaryOf(join(folder, name));
  await link(from, temporary).catch(() => copyFile(from, temporary));
  await rename(temporary, join(folder, name));
}
