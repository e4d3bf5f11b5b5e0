/** Writing a prepared snapshot: complete on disk beside its place, then renamed into it. */

import { type FileHandle, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import { type NewFile, removeLeftovers, targetOfTemporary, writeNewFile } from "../../files/atomic.ts";
import { makeFolder } from "../../files/folders.ts";
import type { SearchIndex } from "../../search/search.ts";
import { MANIFEST, PREPARED } from "../files.ts";
import type { Loaded } from "../load.ts";
import { FORMAT } from "../manifest.ts";
import { hashFile } from "../read.ts";
import { aligned, encodeHead, type Head, type PlacedArray } from "./head.ts";
import {
  type ArrayType,
  bytesOf,
  LAYOUT,
  type PreparedContents,
  type StoredArray,
  takeApart,
} from "./layout.ts";
import { foldingOf, lettersOf } from "./letters.ts";

/** What is written at once, while its checksum is taken. */
const CHUNK_BYTES = 4 * 1_048_576;

/** What to write beside the arrays. */
export type Described = Pick<Head, "createdAt" | "sources">;

/** How to write. */
export interface WriteOptions {
  /** Whether a manifest is written where there is none; one that is there is always made anew. */
  readonly manifest: boolean;
  /** Called when the new file is complete on the disk and the old one is still in its place; a throw leaves that. */
  readonly ready?: () => Promise<void>;
  /** Told what share was written, from 0 to 1. */
  readonly onProgress?: (share: number) => void;
}

/** Somebody else's build was put in place, or is about to be. */
export class OvertakenError extends Error {
  override name = "OvertakenError";
}

async function writeAll(handle: FileHandle, bytes: Uint8Array, from: number): Promise<void> {
  for (let done = 0; done < bytes.length; ) {
    const { bytesWritten } = await handle.write(bytes, done, bytes.length - done, from + done);
    done += bytesWritten;
  }
}

/** An array on its way into the file. */
interface Placing extends PlacedArray {
  readonly array: StoredArray;
}

/** Gives every array its place; one that has two paths gets one. */
function placeArrays(arrays: ReadonlyMap<string, StoredArray>): { placed: Placing[]; bytes: number } {
  const placed: Placing[] = [];
  let offset = 0;
  for (const [path, array] of arrays) {
    const { buffer, byteOffset, byteLength: bytes } = array;
    const type = LAYOUT.get(path) as ArrayType;
    const same = placed.find(
      ({ array: other, ...place }) =>
        bytes > 0 &&
        place.bytes === bytes &&
        place.type === type &&
        other.buffer === buffer &&
        other.byteOffset === byteOffset,
    );
    placed.push({ path, type, offset: same?.offset ?? offset, bytes, crc32: 0, array });
    if (same === undefined) offset = aligned(offset + bytes);
  }
  return { placed, bytes: offset };
}

/** Writes an array and what fills it up; returns their checksum. */
async function writeArray(
  handle: FileHandle,
  { array, bytes }: Placing,
  from: number,
  take: (chunk: Uint8Array) => void,
): Promise<number> {
  let checksum = 0;
  const stored = bytesOf(array);
  for (const memory of [stored, new Uint8Array(aligned(bytes) - bytes)]) {
    const start = memory === stored ? from : from + bytes;
    for (let at = 0; at < memory.length; at += CHUNK_BYTES) {
      const chunk = memory.subarray(at, at + CHUNK_BYTES);
      const writing = writeAll(handle, chunk, start + at);
      // Its failure is met below.
      writing.catch(() => {});
      checksum = crc32(chunk, checksum);
      await writing;
      take(chunk);
    }
  }
  return checksum;
}

async function writeContents(
  handle: FileHandle,
  contents: PreparedContents,
  described: Described,
  onProgress: (share: number) => void,
): Promise<void> {
  const { values, arrays } = takeApart(contents);
  const { placed, bytes: bodyBytes } = placeArrays(arrays);
  const headOf = (placed: readonly PlacedArray[]): Buffer =>
    encodeHead({ ...described, values: Object.fromEntries(values), arrays: placed });
  const start = headOf(placed).length;
  const checksums = new Map<number, number>();
  let written = 0;
  for (const array of placed) {
    if (array.bytes === 0 || checksums.has(array.offset)) continue;
    const checksum = await writeArray(handle, array, start + array.offset, (chunk) => {
      written += chunk.length;
      onProgress(written / bodyBytes);
    });
    checksums.set(array.offset, checksum);
  }
  const checked = placed.map(({ array: _, ...place }) => ({
    ...place,
    crc32: place.bytes === 0 ? 0 : checksums.get(place.offset)!,
  }));
  await writeAll(handle, headOf(checked), 0);
}

/** The text of a manifest that lists the prepared file alone. */
function describe(
  id: string,
  { createdAt, sources }: Described,
  file: { bytes: number; sha256: string },
): string {
  const rows = sources.reduce((sum, source) => sum + source.rows, 0);
  const files = { [PREPARED]: { rows, ...file } };
  return `${JSON.stringify({ format: FORMAT, generation: id, createdAt, files }, null, 2)}\n`;
}

/**
 * Writes a prepared snapshot into a folder, which is made when missing. What killed or overtaken builds left there is
 * removed.
 *
 * @returns bytes of the file
 * @throws {OvertakenError} when another build began to write into the folder meanwhile; any error of the file system.
 *   Nothing was changed then
 */
export async function writePrepared(
  folder: string,
  contents: PreparedContents,
  described: Described,
  { manifest, ready, onProgress = () => {} }: WriteOptions,
): Promise<number> {
  await makeFolder(folder);
  const names = await readdir(folder);
  const place = (name: string): string => join(folder, name);
  // A build that was killed may have taken the manifest away and not have put its own there yet.
  const withManifest = manifest || names.some((name) => (targetOfTemporary(name) ?? name) === MANIFEST);
  for (const name of [PREPARED, MANIFEST]) await removeLeftovers(place(name));

  let bytes = 0;
  let sha256 = "";
  const written: NewFile[] = [];
  try {
    const prepared = await writeNewFile(place(PREPARED), async (handle) => {
      await writeContents(handle, contents, described, onProgress);
      bytes = (await handle.stat()).size;
      if (withManifest) sha256 = await hashFile(handle);
    });
    written.push(prepared);
    if (withManifest) {
      const text = describe(contents.store.id, described, { bytes, sha256 });
      written.push(await writeNewFile(place(MANIFEST), text));
    }
    await ready?.();
    // Whenever the process ends, what is there fits together: either file does without a manifest.
    if (withManifest) await rm(place(MANIFEST), { force: true });
    for (const file of written) await file.commit();
  } catch (error) {
    for (const file of written) await file.discard();
    const { code, syscall } = error as NodeJS.ErrnoException;
    if (code !== "ENOENT" || syscall !== "rename") throw error;
    throw new OvertakenError("another build began to write here meanwhile");
  }
  return bytes;
}

function describeSources({ createdAt, reports }: Loaded): Described {
  const sources = reports.map(({ file, table, bytes, rows, hidden, dangling }) => ({
    file,
    table,
    bytes,
    rows,
    hidden: Object.fromEntries(hidden),
    dangling,
  }));
  return createdAt === undefined ? { sources } : { createdAt, sources };
}

/**
 * Writes what was loaded, with the ids of its hidden rows, as a prepared snapshot.
 *
 * @returns bytes of the file
 * @throws as {@link writePrepared} does
 */
export function writeLoaded(
  folder: string,
  loaded: Loaded,
  index: SearchIndex,
  options: WriteOptions,
): Promise<number> {
  const { store } = loaded;
  const letters = lettersOf([store.users.bytes, store.worlds.bytes]);
  const contents: PreparedContents = {
    store,
    index,
    hiddenWorlds: loaded.reports.find(({ table }) => table === "worlds.ndjson")!.hiddenIds!,
    letters,
    folding: foldingOf(letters),
  };
  return writePrepared(folder, contents, describeSources(loaded), options);
}
