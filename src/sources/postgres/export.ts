/** One export: rows out of PostgreSQL into a folder with a manifest, checked, and published as a whole. */

import { copyFile, link, mkdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { temporaryOf } from "../../files/atomic.ts";
import { publishVersion } from "../../files/publish.ts";
import type { TableName } from "../../model/schema.ts";
import { buildPrepared } from "../../server/load/build-prepared.ts";
import { fileFingerprintsOf, isSameFile } from "../../snapshot/files.ts";
import type { Before } from "../../snapshot/load.ts";
import { refuseShrunk, type VisibleRows } from "../../snapshot/refusals.ts";
import { type WrittenFile, writeRowFile } from "../row-file.ts";
import {
  BadRowsError,
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

/** What to export, and where to. */
export interface ExportOptions {
  readonly from: PostgresUrl;
  readonly queries: Queries;
  /** The place of the link; see {@link publishVersion}. */
  readonly out: string;
  /** Compress the row files. */
  readonly gzip: boolean;
  /** Publish a prepared snapshot in place of the rows. */
  readonly build?: boolean | undefined;
  /** Most bytes of uncompressed rows. */
  readonly maxBytes: number;
  /** Leave what is published as it is when the new rows are the same. */
  readonly onlyChanges: boolean;
  /** How many earlier versions are kept, and whether what is published may lose most of its users or worlds. */
  readonly keep?: number;
  readonly allowShrink?: boolean;
  /** What was published last: what is equal in it is neither written anew nor checked again. */
  readonly last?: LastPublished | undefined;
  /** Gives up: cancels the query and removes what was written. */
  readonly signal: AbortSignal;
}

/** What was published last, for the next round. It keeps the rows in memory. */
export interface LastPublished {
  readonly folder: string;
  readonly files: RowFiles;
  /** The moment of its data, in milliseconds since the epoch. */
  readonly createdAt: number;
  /** Undefined where it was found to be published already, by another process. */
  readonly before: Before | undefined;
}

/** What came of an export. */
export interface Exported {
  readonly generation: string;
  readonly rows: number;
  /** Bytes on disk. */
  readonly bytes: number;
  /** False when the same rows were published before. */
  readonly isNew: boolean;
  /** Milliseconds that copying the rows out of the database took, hashed while they come, and checking or preparing them. */
  readonly copyMs: number;
  readonly checkMs: number;
  /** Undefined where a prepared snapshot was published. */
  readonly published: LastPublished | undefined;
}

/** Copies tables to files; all that have a query. */
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

/** Rejects with the reason as soon as the signal comes: what cannot be ended ends with the process. */
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

/** Makes the prepared form of the rows, which are removed. Loading them is the check. @returns its bytes */
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
  if (!prepared.ok) throw new BadRowsError(prepared.problems);
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
  // Before the database is asked: all that was committed by then is in the rows.
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
 * @throws {BadRowsError} when the rows would not load; `SourceError`, `OccupiedError`, `ShrunkError`,
 *   `CommandError`; errors of the file system; the signal's reason. Nothing is published then, and nothing is left
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
 * Exports instances alone, and publishes them with the other files as they are, in the place of the version that has these.
 *
 * @param last what was published last
 * @returns what is published now; undefined when that is not what was published last: somebody else has published, and the
 *   next whole export goes on
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

/** Puts links to files that were published last in the place of equal ones, if nobody has touched them since. */
async function linkEqual(folder: string, files: RowFiles, last: LastPublished): Promise<void> {
  const looks = await fileFingerprintsOf(last.folder);
  for (const { name, sha256, fingerprint } of last.before?.kept.files ?? []) {
    if (files.get(name)?.sha256 !== sha256 || !isSameFile(looks.get(name) ?? "", fingerprint)) continue;
    const temporary = temporaryOf(join(folder, name));
    await linkOrCopy(join(last.folder, name), temporary);
    await rename(temporary, join(folder, name));
  }
}

/** Another link to a file; a copy where the file system has no such links. */
async function linkOrCopy(from: string, to: string): Promise<void> {
  await link(from, to).catch(() => copyFile(from, to));
}
