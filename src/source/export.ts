/** One export: rows out of PostgreSQL into a folder with a manifest, checked, and published as a whole. */

import { createHash } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { isObject } from "../json.ts";
import { MANIFEST } from "../snapshot/files.ts";
import { loadSnapshot } from "../snapshot/load.ts";
import { FORMAT } from "../snapshot/manifest.ts";
import { formatTime } from "../time.ts";
import { copyTables } from "./postgres.ts";
import type { PostgresUrl } from "./postgres-url.ts";
import { publishVersion } from "./publish.ts";
import type { Queries, TableName } from "./queries.ts";
import { type WrittenFile, writeRowFile } from "./row-file.ts";

/** What to export, and where to. */
export interface ExportOptions {
  readonly from: PostgresUrl;
  readonly queries: Queries;
  /** The place of the link; see {@link publishVersion}. */
  readonly out: string;
  /** Compress the row files. */
  readonly gzip: boolean;
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

/** The rows would not load; nothing was published. */
export class BadRowsError extends Error {
  override name = "BadRowsError";

  /** As `check` prints them, one a line. */
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems[0]);
    this.problems = problems;
  }
}

/** What was written, by the names of the files. */
type Files = ReadonlyMap<string, WrittenFile>;

/** The same for the same rows in the same order, compressed or not. */
function generationOf(files: Files): string {
  const hash = createHash("sha256");
  for (const { plainSha256 } of files.values()) hash.update(plainSha256);
  return `pg-${hash.digest("hex").slice(0, 16)}`;
}

async function copyRows(folder: string, options: ExportOptions): Promise<Files> {
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

async function writeManifest(folder: string, files: Files): Promise<void> {
  const manifest = {
    format: FORMAT,
    generation: generationOf(files),
    createdAt: formatTime(Date.now()),
    files: Object.fromEntries(
      Array.from(files, ([name, { rows, bytes, sha256 }]) => [name, { rows, bytes, sha256 }]),
    ),
  };
  await writeFile(join(folder, MANIFEST), `${JSON.stringify(manifest, null, 2)}\n`);
}

/** Whether a published folder holds the same files. */
async function isSame(current: string | undefined, files: Files): Promise<boolean> {
  if (current === undefined) return false;
  let manifest: unknown;
  try {
    manifest = JSON.parse(await readFile(join(current, MANIFEST), "utf8"));
  } catch {
    return false;
  }
  if (!isObject(manifest) || !isObject(manifest.files)) return false;
  return (
    manifest.generation === generationOf(files) &&
    Object.keys(manifest.files).join() === Array.from(files.keys()).join()
  );
}

async function checkRows(folder: string, { maxBytes, signal }: ExportOptions): Promise<void> {
  const checked = await loadSnapshot(folder, { maxBytes, signal });
  signal.throwIfAborted();
  if (!checked.ok) throw new BadRowsError(checked.problems);
}

/**
 * Exports once.
 *
 * @throws {BadRowsError} when the rows would not load; `PostgresError`, `OccupiedError`, `MissingPackageError`; errors of the
 *   file system; the signal's reason. Nothing is published then, and nothing is left
 */
export async function exportOnce(options: ExportOptions): Promise<Exported> {
  const { signal, onlyChanges, out } = options;
  let result: Exported | undefined;
  await publishVersion(out, async (folder, current) => {
    const files = await copyRows(folder, options);
    const written = [...files.values()];
    const isNew = !(onlyChanges && (await isSame(current, files)));
    result = {
      generation: generationOf(files),
      rows: written.reduce((sum, { rows }) => sum + rows, 0),
      bytes: written.reduce((sum, { bytes }) => sum + bytes, 0),
      isNew,
    };
    if (!isNew) return undefined;
    await writeManifest(folder, files);
    await checkRows(folder, options);
    signal.throwIfAborted();
    return result;
  });
  return result!;
}
