/** One export: writes rows from PostgreSQL to a folder with a manifest, checks them, and publishes the folder as a whole. */

import { copyFile, link, rename, rm, symlink } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import type { Options } from "../../cli/options.ts";
import { temporaryOf } from "../../files/atomic.ts";
import { makeTemporaryFolder } from "../../files/folders.ts";
import { EARLIER_VERSIONS, publishVersion } from "../../files/publish.ts";
import { tableOf } from "../../model/model.ts";
import { TABLES, type TableName } from "../../model/schema.ts";
import { type Loaded, loadSnapshot } from "../../snapshot/load.ts";
import { readManifestOf } from "../../snapshot/manifest.ts";
import { MAX_SNAPSHOT_BYTES, TOO_LARGE, trySpend } from "../../snapshot/read.ts";
import { refuseShrunk } from "../../snapshot/refusals.ts";
import { rowText } from "../../store/table.ts";
import { SnapshotError } from "../../util/user-error.ts";
import { leaveOut, nameRows, otherStatuses, SHOWN_STATUS } from "../broken-rows.ts";
import {
  generationOfRows,
  type RowFiles,
  renewIfSame,
  type WrittenFile,
  writeManifest,
  writeRowFile,
} from "../row-folder.ts";
import {
  type Counts,
  findNote,
  type Note,
  unchangedFiles,
  visibleIds,
  visibleInstances,
  writeNote,
} from "./note.ts";
import { copyTables, type TableMarks } from "./postgres.ts";
import type { PostgresUrl } from "./postgres-url.ts";
import type { Queries } from "./queries.ts";

type Settings = Options<"export">["values"];

/** Settings of the command, and the source. */
export interface ExportOptions
  extends Pick<Settings, "out" | "gzip" | "allowShrink" | "visibleOnly" | "skipBroken"> {
  readonly from: PostgresUrl;
  readonly queries: Queries;
  /** Aborts: ends the connection, so that the server ends the query, and removes the written files. */
  readonly signal: AbortSignal;
  /** Called whenever the export gets on, with the step that it is at. */
  readonly onProgress?: ((step: string) => void) | undefined;
}

const fileOf = (table: TableName, gzip: boolean): string => `${table}.ndjson${gzip ? ".gz" : ""}`;

/** Waits for work on the files of a folder. @throws {SnapshotError} in words of tables and ids; other errors of the work */
async function namingRows<Result>(folder: string, work: Promise<Result>): Promise<Result> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof SnapshotError)) throw error;
    throw new SnapshotError(await nameRows(folder, error.problems));
  }
}

/** Copied rows that are to be checked and completed. */
interface Copied {
  readonly folder: string;
  /** Time of the data. Taken before the first query: the rows include everything committed by then. */
  readonly createdAt: number;
  readonly current: string | undefined;
  /** What is known of the published version; undefined if nothing is. */
  readonly note: Note | undefined;
  readonly files: RowFiles;
  /** Names of files that are equal to the published ones. */
  readonly shared: readonly string[];
  readonly marks: TableMarks;
}

function marksWhere(marks: TableMarks, isKept: (table: TableName) => boolean): TableMarks {
  return Object.fromEntries(TABLES.filter(isKept).map((table) => [table, marks[table]]));
}

/** Copies every table that may have changed to a file. @throws {SnapshotError} when the rows exceed a bound */
async function copyRows(
  folder: string,
  current: string | undefined,
  note: Note | undefined,
  { from, queries, visibleOnly, gzip, onProgress, signal }: ExportOptions,
): Promise<Copied> {
  const createdAt = Date.now();
  const usable = note === undefined ? new Map<string, WrittenFile>() : await unchangedFiles(current!, note);
  const known = marksWhere(note?.marks ?? {}, (table) => usable.has(fileOf(table, gzip)));
  const budget = { bytesLeft: MAX_SNAPSHOT_BYTES };
  const written = new Map<TableName, WrittenFile>();
  const take = async (table: TableName, lines: AsyncIterable<Buffer>): Promise<WrittenFile> => {
    const onBytes = (): void => onProgress?.(`copying ${table}`);
    onBytes();
    const path = join(folder, fileOf(table, gzip));
    const file = await namingRows(folder, writeRowFile(path, lines, gzip, { budget, onBytes }));
    written.set(table, file);
    return file;
  };
  onProgress?.("asking the database");
  const marks = await copyTables(from, { queries, visibleOnly, take, marks: known }, signal);
  const files = new Map<string, WrittenFile>();
  const shared: string[] = [];
  for (const table of TABLES) {
    const name = fileOf(table, gzip);
    const file = written.get(table) ?? usable.get(name)!;
    files.set(name, file);
    if (!written.has(table) && !trySpend(budget, file.plainBytes))
      throw new SnapshotError([`${name}: ${TOO_LARGE}`]);
    if (usable.get(name)?.sha256 === file.sha256) shared.push(name);
  }
  return { folder, createdAt, current, note, files, shared, marks };
}

/** The tables whose numbers of visible rows are told. */
const TOLD = ["users", "worlds", "instances"] as const;

/** Says how many rows are visible, by table; where no world is, also which other statuses they have. */
async function visibleWords(folder: string, counts: Counts, gzip: boolean): Promise<string> {
  const words = TOLD.map((table) => {
    const { rows, visible } = counts[table];
    const shown = visible.toLocaleString("en-US");
    return rows === visible ? `${shown} ${table}` : `${shown} of ${rows.toLocaleString("en-US")} ${table}`;
  });
  const { rows, visible } = counts.worlds;
  if (rows === 0 || visible > 0) return `${words.join(", ")} visible`;
  const statuses = await otherStatuses(folder, fileOf("worlds", gzip));
  const warning = `${words.join(", ")} visible: WARNING, no world is visible`;
  if (statuses.length === 0) return warning;
  return `${warning}; a visible one has the status "${SHOWN_STATUS}", these have ${statuses.join(", ")}`;
}

/** The tables to read for a check: changed ones, and with worlds also those whose visible rows depend on them. */
function tablesToCheck({ note, shared }: Copied, gzip: boolean): ReadonlySet<TableName> {
  if (note === undefined) return new Set(TABLES);
  const changed = TABLES.filter((table) => !shared.includes(fileOf(table, gzip)));
  return new Set(changed.includes("worlds") ? [...changed, "world-stats", "instances"] : changed);
}

/**
 * Loads tables of a folder as a server does.
 *
 * @param tables to read; the others were checked before, and count as empty
 * @throws {SnapshotError} in words of files and lines
 */
async function loadTables(
  folder: string,
  files: RowFiles,
  tables: ReadonlySet<TableName>,
  { gzip, signal, onProgress }: ExportOptions,
): Promise<Loaded> {
  const place = await makeTemporaryFolder("export");
  try {
    const listed = new Map<string, WrittenFile>();
    for (const table of TABLES) {
      const name = fileOf(table, gzip);
      if (tables.has(table)) {
        await symlink(join(folder, name), join(place, name));
        listed.set(name, files.get(name)!);
      } else {
        listed.set(name, await writeRowFile(join(place, name), Readable.from([]), gzip));
      }
    }
    await writeManifest(place, listed, { generation: generationOfRows(listed), createdAt: Date.now() });
    const checked = await loadSnapshot(place, { signal, onProgress: () => onProgress?.("checking") });
    signal.throwIfAborted();
    if (!checked.ok) throw new SnapshotError(checked.problems);
    return checked;
  } finally {
    await rm(place, { recursive: true, force: true });
  }
}

/** Numbers of rows that were read, and those noted before of tables that were not. */
function countsOf(checked: Loaded, tables: ReadonlySet<TableName>, note: Note | undefined): Counts {
  const { store, reports } = checked;
  const countOf = (table: keyof Counts): Counts[typeof table] => {
    if (!tables.has(table)) return note!.counts[table];
    const rows = reports.find((report) => report.table === `${table}.ndjson`)?.rows ?? 0;
    return { rows, visible: store[table].rows };
  };
  return { users: countOf("users"), worlds: countOf("worlds"), instances: countOf("instances") };
}

/** The note with other marks; undefined if they are the same. */
function renewed(note: Note, marks: TableMarks): Note | undefined {
  return TABLES.every((table) => marks[table] === note.marks[table]) ? undefined : { ...note, marks };
}

/**
 * Checks the tables of a folder with the copied rows. @returns what the next export need not find out again
 * @throws {SnapshotError} in words of files and lines
 */
async function checkTables(copied: Copied, folder: string, options: ExportOptions): Promise<Note> {
  const { note, files, marks } = copied;
  const tables = tablesToCheck(copied, options.gzip);
  const checked = await loadTables(folder, files, tables, options);
  let counts = countsOf(checked, tables, note);
  const isOfWorlds = tables.has("worlds");
  if (tables.has("instances") && !isOfWorlds) {
    const file = fileOf("instances", options.gzip);
    const instances = await visibleInstances(folder, file, note!.visibleWorlds);
    counts = { ...counts, instances: { ...counts.instances, visible: instances } };
  }
  const visibleWorlds = isOfWorlds ? visibleIds(checked.store.worlds) : note!.visibleWorlds;
  const fingerprints = { ...note?.fingerprints };
  for (const { file, table, fingerprint } of checked.kept.files)
    if (tables.has(tableOf(table))) fingerprints[file] = fingerprint;
  return { files: Object.fromEntries(files), fingerprints, counts, visibleWorlds, marks };
}

/** Checks copied rows, and completes their folder. @throws {SnapshotError} in words of files and lines; {@link PlaceError} */
async function completeFolder(copied: Copied, options: ExportOptions) {
  const { folder, createdAt, current, note, files, shared, marks } = copied;
  const { gzip, allowShrink } = options;
  const generation = generationOfRows(files);
  const all = [...files.values()];
  const came = {
    generation,
    rows: all.reduce((sum, file) => sum + file.rows, 0),
    bytes: all.reduce((sum, file) => sum + file.bytes, 0),
  };
  const fields = { generation, createdAt };
  if (await renewIfSame(current, fields, [...files.keys()])) {
    if (note !== undefined) return { ...came, isNew: false, visible: "", note: renewed(note, marks) };
    // Files that are damaged get no note.
    const first = await checkTables(copied, current!, options).catch(() => undefined);
    options.signal.throwIfAborted();
    return { ...came, isNew: false, visible: "", note: first };
  }
  // Link only now: a link changes the file's ctime, and servers would check it again.
  for (const name of shared) await linkInto(folder, current!, name);
  const next = await checkTables(copied, folder, options);
  const { counts } = next;
  const visible = { users: counts.users.visible, worlds: counts.worlds.visible };
  await refuseShrunk(visible, { current, allowShrink });
  await writeManifest(folder, files, { ...fields, visible });
  return { ...came, isNew: true, visible: await visibleWords(folder, counts, gzip), note: next };
}

/**
 * Completes a folder, and leaves out as many broken rows as `--skip-broken` allows.
 * @returns the words about those rows, too @throws {SnapshotError} in words of tables and ids
 */
async function completeSound(copied: Copied, options: ExportOptions) {
  const { skipBroken, gzip } = options;
  const left: string[] = [];
  let count = 0;
  for (let next = copied; ; ) {
    try {
      return { ...(await completeFolder(next, options)), left };
    } catch (error) {
      if (!(error instanceof SnapshotError)) throw error;
      const { folder, files, shared, marks } = next;
      const named = await nameRows(folder, error.problems);
      const rest = count < skipBroken ? await leaveOut(folder, files, error.problems) : undefined;
      if (rest === undefined || count + rest.count > skipBroken) throw new SnapshotError([...left, ...named]);
      count += rest.count;
      left.push(...named);
      const isWhole = (name: string): boolean => rest.files.get(name) === files.get(name);
      next = {
        ...copied,
        files: rest.files,
        // A file with rows left out differs from the published one, so do not link it.
        shared: shared.filter(isWhole),
        // The next export copies its table again, and names the rows again.
        marks: marksWhere(marks, (table) => isWhole(fileOf(table, gzip))),
      };
    }
  }
}

/** Rows of a table that a dry run shows. */
const SHOWN = 3;

/** Exports to a temporary folder, which is removed. @returns lines: what is visible, and some rows of each table as they would be served */
export async function exportDry(options: ExportOptions): Promise<string[]> {
  const folder = await makeTemporaryFolder("export");
  try {
    const { files } = await copyRows(folder, undefined, undefined, options);
    const tables = new Set(TABLES);
    const checked = await namingRows(folder, loadTables(folder, files, tables, options));
    const { users, worlds, worldStats, instances } = checked.store;
    const blocks = Object.entries({ users, worlds, "world-stats": worldStats, instances });
    const shown = blocks.flatMap(([name, block]) => {
      const textOf = (row: number): string => `  ${Buffer.from(rowText(block, row), "latin1").toString()}`;
      const length = Math.min(SHOWN, block.starts.length - 1);
      return [`${name}:`, ...Array.from({ length }, (_, row) => textOf(row))];
    });
    return [await visibleWords(folder, countsOf(checked, tables, undefined), options.gzip), ...shown];
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

type Exported = Awaited<ReturnType<typeof completeSound>>;

/**
 * Exports once.
 *
 * @throws {SnapshotError} when the rows would not load; `SourceError`, `PlaceError`, `CommandError`;
 *   errors of the file system; the signal's reason. After an error nothing is published and no file is left
 */
export async function exportOnce(options: ExportOptions): Promise<Exported> {
  const { out, onProgress } = options;
  let exported: Exported;
  let renewed: string | undefined;
  const isSame = async (folder: string): Promise<boolean> =>
    (await readManifestOf(folder))?.generation === exported.generation;
  const published = await publishVersion(
    out,
    async (folder, current) => {
      const note = current === undefined ? undefined : await findNote(current);
      const copied = await copyRows(folder, current, note, options);
      onProgress?.("checking");
      exported = await completeSound(copied, options);
      onProgress?.("publishing");
      renewed = current;
      return exported.isNew ? exported : undefined;
    },
    { keep: EARLIER_VERSIONS, isSame },
  );
  const { note } = exported!;
  const folder = published?.folder ?? renewed!;
  // Without a note the next export copies and checks all tables.
  if (note !== undefined) await writeNote(folder, note).catch(() => {});
  return exported!;
}

/** Puts a file of another folder into a folder, in place of any file there: a link, or a copy where the file system has no links. */
async function linkInto(folder: string, other: string, name: string): Promise<void> {
  const from = join(other, name);
  const temporary = temporaryOf(join(folder, name));
  await link(from, temporary).catch(() => copyFile(from, temporary));
  await rename(temporary, join(folder, name));
}
