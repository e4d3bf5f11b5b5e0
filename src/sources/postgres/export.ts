/** One export: writes rows from PostgreSQL to a folder with a manifest, checks them, and publishes the folder as a whole. */

import { copyFile, link, mkdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { temporaryOf } from "../../files/atomic.ts";
import { publishVersion } from "../../files/publish.ts";
import { TABLES, type TableName } from "../../model/schema.ts";
import { buildPrepared } from "../../server/load/build-prepared.ts";
import { fileFingerprintsOf, isSameFile } from "../../snapshot/files.ts";
import type { Before } from "../../snapshot/load.ts";
import { refuseShrunk, type VisibleRows } from "../../snapshot/refusals.ts";
import { SnapshotError } from "../../util/told-error.ts";
import { type WrittenFile, writeRowFile } from "../row-file.ts";
import {
  completeRows,
  generationOfRows,
  holdsSame,
  type RowFiles,
  renewManifest,
  writeManifest,
} from "../row-folder.ts";
import { copyTables, type TableMarks } from "./postgres.ts";
import type { PostgresUrl } from "./postgres-url.ts";
import type { Queries } from "./queries.ts";

/** Source, destination and form of an export. */
export interface ExportOptions {
  readonly from: PostgresUrl;
  readonly queries: Queries;
  /** The place of the link; see {@link publishVersion}. */
  readonly out: string;
  /** Compress the row files. */
  readonly gzip: boolean;
  /** Publish a prepared snapshot in place of the rows. */
  readonly build?: boolean | undefined;
  /** Maximum bytes of uncompressed rows. */
  readonly maxBytes: number;
  /** Keep the published version when the new rows are the same. */
  readonly onlyChanges: boolean;
  /** Number of earlier versions to keep, and whether a new version may lose most of the users or worlds. */
  readonly keep?: number;
  readonly allowShrink?: boolean;
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

/** Result of an export. */
export interface Exported {
  readonly generation: string;
  readonly rows: number;
  /** Bytes on disk. */
  readonly bytes: number;
  /** False when the same rows were published before. */
  readonly isNew: boolean;
  /** Milliseconds for copying and hashing the rows, and for checking or preparing them. */
  readonly copyMs: number;
  readonly checkMs: number;
  /** Undefined after the publication of a prepared snapshot. */
  readonly published: LastPublished | undefined;
}

/** Files of an export, and the marks for the next one. */
interface CopiedFiles {
  readonly files: RowFiles;
  readonly marks: TableMarks;
}

/** The files of the last publication that were not touched since. */
async function untouched({ folder, before }: LastPublished): Promise<ReadonlySet<string>> {
  const looks = await fileFingerprintsOf(folder);
  const kept = before?.kept.files ?? [];
  return new Set(
    kept
      .filter(({ name, fingerprint }) => isSameFile(looks.get(name) ?? "", fingerprint))
      .map(({ name }) => name),
  );
}

/**
 * Copies every table that has a query to a file, and links the files of tables that have the rows of the last publication.
 *
 * @param last has the same form, compressed or not
 */
async function copyRows(
  folder: string,
  queries: Partial<Queries>,
  { from, gzip, signal }: ExportOptions,
  last: LastPublished | undefined,
): Promise<CopiedFiles> {
  const nameOf = (table: TableName): string => `${table}.ndjson${gzip ? ".gz" : ""}`;
  const usable = last === undefined ? new Set() : await untouched(last);
  const known = Array.from(last?.marks ?? []).filter(([table]) => usable.has(nameOf(table)));
  const written = new Map<TableName, WrittenFile>();
  const take = async (table: TableName, lines: AsyncIterable<Buffer>): Promise<WrittenFile> => {
    const file = await writeRowFile(join(folder, nameOf(table)), lines, gzip);
    written.set(table, file);
    return file;
  };
  const { marks } = await copyTables(from, { queries, take, marks: new Map(known) }, signal);
  const files = new Map<string, WrittenFile>();
  for (const table of TABLES) {
    if (queries[table] === undefined) continue;
    const name = nameOf(table);
    const copied = written.get(table);
    files.set(name, copied ?? last!.files.get(name)!);
    if (copied === undefined || (usable.has(name) && last!.files.get(name)!.sha256 === copied.sha256))
      await linkInto(folder, last!.folder, name);
  }
  return { files, marks };
}

/** Rejects on abort with the signal's reason. The work itself cannot be stopped: it ends with the process. */
async function unlessAborted<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  let leave = (): void => {};
  const aborted = new Promise<never>((_resolve, reject) => {
    leave = () => reject(signal.reason);
    signal.addEventListener("abort", leave, { once: true });
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener("abort", leave);
  }
}

/** Builds the prepared snapshot, then removes the rows. Loading them is the check. @returns its bytes */
async function prepareRows(
  rows: string,
  folder: string,
  current: string | undefined,
  { maxBytes, allowShrink, signal }: ExportOptions,
): Promise<number> {
  const judge = (visible: VisibleRows): Promise<void> =>
    refuseShrunk(visible, { current, allowShrink, maxBytes });
  const prepared = await unlessAborted(
    signal,
    buildPrepared(rows, folder, { maxBytes, manifest: true, judge }),
  );
  if (!prepared.ok) throw new SnapshotError(prepared.problems);
  await rm(rows, { recursive: true });
  signal.throwIfAborted();
  return prepared.bytes;
}

function sumOf(files: RowFiles, key: "rows" | "bytes"): number {
  let sum = 0;
  for (const file of files.values()) sum += file[key];
  return sum;
}

/** Fills a folder that is to be published. */
async function fillFolder(
  folder: string,
  current: string | undefined,
  options: ExportOptions,
): Promise<Exported> {
  const { queries, onlyChanges, build = false, allowShrink, maxBytes, signal } = options;
  const last = options.last?.folder === current ? options.last : undefined;
  const place = build ? join(folder, "rows") : folder;
  if (build) await mkdir(place);
  // Taken before the first query: the rows include everything committed by then.
  const createdAt = Date.now();
  const began = performance.now();
  const { files, marks } = await copyRows(place, queries, options, last);
  const copied = performance.now();
  const generation = generationOfRows("pg", files);
  const came = {
    generation,
    rows: sumOf(files, "rows"),
    bytes: sumOf(files, "bytes"),
    copyMs: copied - began,
  };
  if (current !== undefined && onlyChanges && (await holdsSame(current, generation, files, build))) {
    await renewManifest(current, createdAt);
    const published = build ? undefined : { folder: current, files, createdAt, before: last?.before, marks };
    return { ...came, checkMs: 0, isNew: false, published };
  }
  const fields = { generation, createdAt };
  if (build) {
    await writeManifest(place, files, fields);
    const bytes = await prepareRows(place, folder, current, options);
    return { ...came, bytes, checkMs: performance.now() - copied, isNew: true, published: undefined };
  }
  const { store, kept } = await completeRows(place, files, fields, {
    current,
    allowShrink,
    maxBytes,
    signal,
    before: last?.before,
  });
  const published = { folder, files, createdAt, before: { store, kept }, marks };
  return { ...came, checkMs: performance.now() - copied, isNew: true, published };
}

/**
 * Exports once.
 *
 * @throws {SnapshotError} when the rows would not load; `SourceError`, `PlaceError`, `CommandError`;
 *   errors of the file system; the signal's reason. After an error nothing is published and no file is left
 */
export async function exportOnce(options: ExportOptions): Promise<Exported> {
  let exported: Exported | undefined;
  await publishVersion(
    options.out,
    async (folder, current) => {
      exported = await fillFolder(folder, current, options);
      return exported.isNew ? exported : undefined;
    },
    { keep: options.keep },
  );
  return exported!;
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
  let published: LastPublished | undefined;
  await publishVersion(
    options.out,
    async (folder, current) => {
      if (current !== last.folder) return undefined;
      const { instances } = options.queries;
      const copied = await copyRows(folder, { instances }, options, last);
      const marks = new Map([...last.marks, ...copied.marks]);
      published = { ...last, marks };
      const [[name, file] = []] = copied.files;
      if (file!.plainSha256 === last.files.get(name!)!.plainSha256) return undefined;
      const files = new Map(last.files).set(name!, file!);
      for (const other of files.keys()) if (other !== name) await linkInto(folder, current, other);
      const { maxBytes, signal } = options;
      const { createdAt, before } = last;
      const { store, kept } = await completeRows(
        folder,
        files,
        { generation: generationOfRows("pg", files), createdAt },
        { current, maxBytes, signal, before, allowShrink: true },
      );
      published = { folder, files, createdAt, before: { store, kept }, marks };
      return published;
    },
    { keep: options.keep, replaces: true },
  );
  return published;
}

/** Puts a file of another folder into a folder, in place of any file there: a link, or a copy where the file system has no links. */
async function linkInto(folder: string, other: string, name: string): Promise<void> {
  const from = join(other, name);
  const temporary = temporaryOf(join(folder, name));
  await link(from, temporary).catch(() => copyFile(from, temporary));
  await rename(temporary, join(folder, name));
}
