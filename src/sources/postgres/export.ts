/** One export: rows out of PostgreSQL into a folder with a manifest, checked, and published as a whole. */

import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { TableName } from "../../model/schema.ts";
import { publishVersion } from "../publish.ts";
import { type WrittenFile, writeRowFile } from "../row-file.ts";
import {
  BadRowsError,
  checkRows,
  generationOf,
  holdsSame,
  type RowFiles,
  writeManifest,
} from "../row-folder.ts";
import { copyTables } from "./postgres.ts";
import type { PostgresUrl } from "./postgres-url.ts";
import type { Queries } from "./queries.ts";

/** Makes a prepared snapshot of the rows in one folder, in another, and a manifest beside it; gives its size in bytes. */
export type Prepare = (from: string, to: string, maxBytes: number) => Promise<Prepared>;

/** What preparing came to: a file of so many bytes, or what is wrong with the rows. */
export type Prepared =
  | { readonly ok: true; readonly bytes: number }
  | { readonly ok: false; readonly problems: readonly string[] };

/** What to export, and where to. */
export interface ExportOptions {
  readonly from: PostgresUrl;
  readonly queries: Queries;
  /** The place of the link; see {@link publishVersion}. */
  readonly out: string;
  /** Compress the row files. */
  readonly gzip: boolean;
  /** Publishes what this makes of the rows, and not the rows. */
  readonly prepare?: Prepare | undefined;
  /** Most bytes of uncompressed rows. */
  readonly maxBytes: number;
  /** Leave what is published as it is when the new rows are the same. */
  readonly onlyChanges: boolean;
  /** Gives up: cancels the query and removes what was written. */
  readonly signal: AbortSignal;
}

/** What came of an export. */
export interface Exported {
  readonly generation: string;
  readonly rows: number;
  /** Bytes on disk. */
  readonly bytes: number;
  /** False when the rows are those that were published before. */
  readonly isNew: boolean;
}

async function copyRows(folder: string, options: ExportOptions): Promise<RowFiles> {
  const { from, queries, gzip, signal } = options;
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
  prepare: Prepare,
  rows: string,
  folder: string,
  options: ExportOptions,
): Promise<number> {
  const prepared = await unlessAborted(options.signal, prepare(rows, folder, options.maxBytes));
  if (!prepared.ok) throw new BadRowsError(prepared.problems);
  await rm(rows, { recursive: true });
  return prepared.bytes;
}

/** Fills a folder that is to be published. */
async function fillFolder(
  folder: string,
  current: string | undefined,
  options: ExportOptions,
): Promise<Exported> {
  const { signal, onlyChanges, prepare } = options;
  const place = prepare === undefined ? folder : join(folder, "rows");
  if (prepare !== undefined) await mkdir(place);
  const files = await copyRows(place, options);
  const written = [...files.values()];
  const generation = generationOf("pg", files);
  const exported = {
    generation,
    rows: written.reduce((sum, { rows }) => sum + rows, 0),
    bytes: written.reduce((sum, { bytes }) => sum + bytes, 0),
    isNew: true,
  };
  if (onlyChanges && (await holdsSame(current, generation, files, prepare !== undefined)))
    return { ...exported, isNew: false };
  await writeManifest(place, generation, files);
  if (prepare === undefined) {
    await checkRows(place, options);
    return exported;
  }
  const bytes = await prepareRows(prepare, place, folder, options);
  signal.throwIfAborted();
  return { ...exported, bytes };
}

/**
 * Exports once.
 *
 * @throws {BadRowsError} when the rows would not load; `PostgresError`, `OccupiedError`, `MissingPackageError`; errors of the
 *   file system; the signal's reason. Nothing is published then, and nothing is left
 */
export async function exportOnce(options: ExportOptions): Promise<Exported> {
  let exported: Exported | undefined;
  await publishVersion(options.out, async (folder, current) => {
    exported = await fillFolder(folder, current, options);
    return exported.isNew ? exported : undefined;
  });
  return exported!;
}
