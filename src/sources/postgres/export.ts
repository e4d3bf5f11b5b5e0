/** One export: writes rows from PostgreSQL to a folder with a manifest, checks them, and publishes the folder as a whole. */

import { copyFile, link, mkdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { temporaryOf } from "../../files/atomic.ts";
import { publishVersion } from "../../files/publish.ts";
import type { TableName } from "../../model/schema.ts";
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
import { copyTables } from "./postgres.ts";
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

/** Copies every table that has a query to a file. */
async function copyRows(
  folder: string,
  queries: Partial<Queries>,
  { from, gzip, signal }: ExportOptions,
): Promise<RowFiles> {
  const files = new Map<string, WrittenFile>();
  const take = async (table: TableName, lines: AsyncIterable<Buffer>): Promise<WrittenFile> => {
    const name = `${table}.ndjson${gzip ? ".gz" : ""}`;
    const written = await writeRowFile(join(folder, name), lines, gzip);
    files.set(name, written);
    return written;
  };
  await copyTables(from, queries, take, signal);
  return files;
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
  const files = await copyRows(place, queries, options);
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
    const published = build ? undefined : { folder: current, files, createdAt, before: last?.before };
    return { ...came, checkMs: 0, isNew: false, published };
  }
  const fields = { generation, createdAt };
  if (build) {
    await writeManifest(place, files, fields);
    const bytes = await prepareRows(place, folder, current, options);
    return { ...came, bytes, checkMs: performance.now() - copied, isNew: true, published: undefined };
  }
  if (last !== undefined) await linkEqual(folder, files, last);
  const { store, kept } = await completeRows(place, files, fields, {
    ...{ current, allowShrink, maxBytes, signal, before: last?.before },
  });
  const published = { folder, files, createdAt, before: { store, kept } };
  return { ...came, checkMs: performance.now() - copied, isNew: true, published };
}

/**
 * Exports once.
 *
 * @throws {SnapshotError} when the rows would not load; `SourceError`, `OccupiedError`, `ShrunkError`,
 *   `CommandError`; errors of the file system; the signal's reason. After an error nothing is published and no file is left
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
      published = last;
      const { instances } = options.queries;
      const [[name, file] = []] = await copyRows(folder, { instances }, options);
      if (file!.plainSha256 === last.files.get(name!)!.plainSha256) return undefined;
      const files = new Map(last.files).set(name!, file!);
      for (const other of files.keys())
        if (other !== name) await linkOrCopy(join(current, other), join(folder, other));
      const { maxBytes, signal } = options;
      const { createdAt, before } = last;
      const { store, kept } = await completeRows(
        folder,
        files,
        { generation: generationOfRows("pg", files), createdAt },
        { ...{ current, maxBytes, signal, before }, allowShrink: true },
      );
      published = { folder, files, createdAt, before: { store, kept } };
      return published;
    },
    { keep: options.keep, replaces: true },
  );
  return published;
}

/** Replaces each file that equals one of the last publication by a link to that one, unless it was touched since. */
async function linkEqual(folder: string, files: RowFiles, last: LastPublished): Promise<void> {
  const looks = await fileFingerprintsOf(last.folder);
  for (const { name, sha256, fingerprint } of last.before?.kept.files ?? []) {
    if (files.get(name)?.sha256 !== sha256 || !isSameFile(looks.get(name) ?? "", fingerprint)) continue;
    const temporary = temporaryOf(join(folder, name));
    await linkOrCopy(join(last.folder, name), temporary);
    await rename(temporary, join(folder, name));
  }
}

/** Makes a hard link to a file, or a copy where the file system has no hard links. */
async function linkOrCopy(from: string, to: string): Promise<void> {
  await link(from, to).catch(() => copyFile(from, to));
}
