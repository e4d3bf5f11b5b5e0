/** Writes a prepared snapshot: complete on disk beside its place, then renamed into it. */

import { type FileHandle, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import zlib from "node:zlib";
import { type NewFile, removeLeftovers, targetOfTemporary, writeNewFile } from "../../files/atomic.ts";
import { makeFolder } from "../../files/folders.ts";
import type { SearchIndex } from "../../search/search.ts";
import { MANIFEST, PREPARED } from "../files.ts";
import type { Loaded } from "../load.ts";
import { FORMAT } from "../manifest.ts";
import { hashFile } from "../read.ts";
import { aligned, encodeHead, type PlacedArray, type PreparedHead } from "./head.ts";
import {
  type ArrayType,
  bytesOf,
  LAYOUT,
  type PreparedContents,
  type StoredArray,
  takeApart,
} from "./layout.ts";
import { foldingOf, lettersOf } from "./letters.ts";

/** Bytes that are written, or added to a checksum, at once. */
const CHUNK_BYTES = 4 * 1_048_576;

export type Described = Pick<PreparedHead, "createdAt" | "sources">;

export interface WriteOptions {
  /** Whether to write a manifest if there is none; an existing one is always replaced. */
  readonly manifest: boolean;
  /** Called when the new file is complete on the disk and the old one is still in its place; if it throws, the old one stays. */
  readonly ready?: (() => Promise<void>) | undefined;
  /** Receives the share that was written, from 0 to 1. */
  readonly onProgress?: ((share: number) => void) | undefined;
}

/** Another build was put in place, or is about to be. */
export class OvertakenError extends Error {
  override name = "OvertakenError";
}

async function writeAll(handle: FileHandle, bytes: Uint8Array): Promise<void> {
  for (let done = 0; done < bytes.length; )
    done += (await handle.write(bytes, done, bytes.length - done)).bytesWritten;
}

/** An array to be written into the file. */
interface Placing extends PlacedArray {
  readonly array: StoredArray;
  /** The array, and its padding of zeros. */
  readonly stored: readonly Uint8Array[];
}

function* chunksOf(stored: readonly Uint8Array[]): Generator<Uint8Array> {
  for (const memory of stored)
    for (let at = 0; at < memory.length; at += CHUNK_BYTES) yield memory.subarray(at, at + CHUNK_BYTES);
}

/** In chunks, since `crc32` takes 32-bit lengths: it would skip most of 4 GiB and more. */
function checksumOf(stored: readonly Uint8Array[]): number {
  let checksum = 0;
  for (const chunk of chunksOf(stored)) checksum = zlib.crc32(chunk, checksum);
  return checksum;
}

/** Gives every array its place; an array with two paths gets one place. */
function placeArrays(arrays: ReadonlyMap<string, StoredArray>): { placed: Placing[]; bodyBytes: number } {
  const placed: Placing[] = [];
  let end = 0;
  for (const [path, array] of arrays) {
    const { buffer, byteOffset, byteLength: bytes } = array;
    const type = LAYOUT.get(path) as ArrayType;
    const same = placed.find(
      (other) =>
        bytes > 0 &&
        other.bytes === bytes &&
        other.type === type &&
        other.array.buffer === buffer &&
        other.array.byteOffset === byteOffset,
    );
    const offset = same?.offset ?? end;
    const stored = [bytesOf(array), new Uint8Array(aligned(bytes) - bytes)] as const;
    const checksum = same?.crc32 ?? checksumOf(stored);
    placed.push({ path, type, offset, bytes, crc32: checksum, array, stored });
    if (same === undefined) end = aligned(end + bytes);
  }
  return { placed, bodyBytes: end };
}

async function writeContents(
  handle: FileHandle,
  contents: PreparedContents,
  described: Described,
  onProgress: (share: number) => void,
): Promise<void> {
  const { values, arrays } = takeApart(contents);
  const { placed, bodyBytes } = placeArrays(arrays);
  await writeAll(handle, encodeHead({ ...described, values, arrays: placed }));
  let written = 0;
  for (const { offset, stored } of placed) {
    // Already written for another path.
    if (offset < written) continue;
    for (const chunk of chunksOf(stored)) {
      await writeAll(handle, chunk);
      written += chunk.length;
      onProgress(written / bodyBytes);
    }
  }
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
 * Writes a prepared snapshot into a folder, which is made when missing. Leftovers of killed or overtaken builds are removed.
 *
 * @returns number of bytes of the file
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
  // A killed build may have removed the manifest before it put its own in place.
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
    // A kill at any moment leaves files that fit together: the old and the new file need no manifest.
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
  const sources = reports.map(({ file, table, bytes, rows, hidden, dangling }) => {
    return { file, table, bytes, rows, hidden: Object.fromEntries(hidden), dangling };
  });
  return createdAt === undefined ? { sources } : { createdAt, sources };
}

/**
 * Writes a loaded snapshot, with the ids of its hidden rows, as a prepared one.
 *
 * @returns number of bytes of the file
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
