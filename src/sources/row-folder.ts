/** A folder of rows before its publication: its files, its generation, its manifest. */

import { createHash } from "node:crypto";
import { open, stat, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import { replaceFile } from "../files/atomic.ts";
import { formatTime } from "../model/time.ts";
import { MANIFEST } from "../snapshot/files.ts";
import { LONG_LINE, MAX_LINE_BYTES } from "../snapshot/lines.ts";
import { manifestText, readManifestOf } from "../snapshot/manifest.ts";
import { type Budget, TOO_LARGE, trySpend } from "../snapshot/read.ts";
import type { VisibleRows } from "../snapshot/refusals.ts";
import { isObject } from "../util/json.ts";
import { SnapshotError } from "../util/user-error.ts";

const NEWLINE = 10;
const CHUNK_BYTES = 262_144;

export interface WrittenFile {
  /** Lines that are not empty. */
  readonly rows: number;
  readonly lines: number;
  readonly bytes: number;
  /** Bytes of the rows before compression. */
  readonly plainBytes: number;
  /** Hex hash of the bytes on disk. */
  readonly sha256: string;
  /** Hex hash of the rows before compression. */
  readonly plainSha256: string;
}

/** What a source of rows may send. */
interface Bounds {
  /** Shared by all files. */
  readonly budget: Budget;
  /** Called for each part of the rows before it is written. */
  readonly onBytes: () => void;
}

/**
 * Writes lines, each ended by a newline, to a new file. Reads the source no faster than the disk writes.
 *
 * @param bounds absent for rows that were bounded before
 * @throws {SnapshotError} when the rows exceed the bounds, or a line that of a row; errors of the file system; what `source` throws
 */
export async function writeRowFile(
  path: string,
  source: AsyncIterable<Buffer>,
  gzip: boolean,
  bounds?: Bounds,
): Promise<WrittenFile> {
  const plain = createHash("sha256");
  const stored = createHash("sha256");
  let bytes = 0;
  let plainBytes = 0;
  let lines = 0;
  let empty = 0;
  let wasNewline = true;
  /** Bytes of the line that has not ended. */
  let begun = 0;
  const name = basename(path);

  /** @throws {SnapshotError} when a line is too long */
  function add(bytes: number): void {
    begun += bytes;
    if (begun > MAX_LINE_BYTES) throw new SnapshotError([`${name}:${lines + 1}: ${LONG_LINE}`]);
  }

  async function* counted(): AsyncGenerator<Buffer, void> {
    for await (const chunk of source) {
      bounds?.onBytes();
      plainBytes += chunk.length;
      if (bounds !== undefined && !trySpend(bounds.budget, chunk.length))
        throw new SnapshotError([`${name}: ${TOO_LARGE}`]);
      let from = 0;
      for (let at = chunk.indexOf(NEWLINE); at >= 0; at = chunk.indexOf(NEWLINE, from)) {
        add(at - from);
        begun = 0;
        lines++;
        if (at === from && (from > 0 || wasNewline)) empty++;
        from = at + 1;
      }
      add(chunk.length - from);
      if (chunk.length > 0) wasNewline = from === chunk.length;
      if (gzip) plain.update(chunk);
      yield chunk;
    }
  }

  const handle = await open(path, "wx");
  try {
    const write = async (chunks: AsyncIterable<Buffer>): Promise<void> => {
      for await (const chunk of chunks) {
        stored.update(chunk);
        bytes += chunk.length;
        await handle.writeFile(chunk);
      }
    };
    if (gzip) await pipeline(counted(), createGzip({ chunkSize: CHUNK_BYTES }), write);
    else await pipeline(counted(), write);
  } finally {
    await handle.close();
  }
  const sha256 = stored.digest("hex");
  const plainSha256 = gzip ? plain.digest("hex") : sha256;
  return { rows: lines - empty, lines, bytes, plainBytes, sha256, plainSha256 };
}

export type RowFiles = ReadonlyMap<string, WrittenFile>;

/** Equal for the same rows in the same order, compressed or not. */
export function generationOfRows(files: RowFiles): string {
  const hash = createHash("sha256");
  for (const { plainSha256 } of files.values()) hash.update(plainSha256);
  return `pg-${hash.digest("hex").slice(0, 16)}`;
}

interface ManifestFields {
  readonly generation: string;
  /** Time of the data, in milliseconds since the epoch. */
  readonly createdAt: number;
  /** For the shrink check of the next publication; no load reads it. */
  readonly visible?: VisibleRows;
}

export async function writeManifest(
  folder: string,
  files: RowFiles,
  { generation, createdAt, visible }: ManifestFields,
): Promise<void> {
  const listed = Array.from(files, ([name, { rows, bytes, sha256 }]) => [name, { rows, bytes, sha256 }]);
  const manifest = {
    generation,
    createdAt: formatTime(createdAt),
    files: Object.fromEntries(listed),
    visible,
  };
  await writeFile(join(folder, MANIFEST), manifestText(manifest));
}

/** Whether the files that a manifest lists are there with their sizes. */
async function areWhole(folder: string, files: Record<string, unknown>): Promise<boolean> {
  for (const [name, listed] of Object.entries(files)) {
    const found = await stat(join(folder, name)).catch(() => undefined);
    if (!isObject(listed) || found?.size !== listed.bytes) return false;
  }
  return true;
}

/**
 * Renews the time of the published data if they are the same.
 *
 * @param current the published folder, if any
 * @param names of the files, which tell the form of the rows
 * @returns whether it holds this generation, whole by the sizes of its files
 */
export async function renewIfSame(
  current: string | undefined,
  { generation, createdAt }: ManifestFields,
  names: readonly string[],
): Promise<boolean> {
  const manifest = current === undefined ? undefined : await readManifestOf(current);
  if (manifest?.generation !== generation) return false;
  const files = isObject(manifest.files) ? manifest.files : {};
  if (Object.keys(files).join() !== names.join()) return false;
  if (!(await areWhole(current!, files))) return false;
  const time = formatTime(createdAt);
  if (manifest.createdAt !== time)
    await replaceFile(join(current!, MANIFEST), manifestText({ ...manifest, createdAt: time }));
  return true;
}
