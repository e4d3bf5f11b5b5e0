/** Writes a prepared snapshot: complete on disk beside its place, then renamed into it. */

import { type FileHandle, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import zlib from "node:zlib";
import { type NewFile, removeLeftovers, targetOfTemporary, writeNewFile } from "../../files/atomic.ts";
import { makeFolder } from "../../files/folders.ts";
import type { SearchIndex } from "../../search/search.ts";
import { PlaceError } from "../../util/user-error.ts";
import { MANIFEST, PREPARED } from "../files.ts";
import type { Loaded } from "../load.ts";
import { manifestText } from "../manifest.ts";
import { hashFile } from "../read.ts";
import { type ArrayEntry, aligned, encodeHead, hexOf } from "./head.ts";
import { type ArrayType, LAYOUT, takeApart } from "./layout.ts";
import { foldingOf, lettersOf } from "./letters.ts";

/** Bytes that are written, or added to a checksum, at once. */
const CHUNK_BYTES = 4 * 1_048_576;

export interface WriteOptions {
  /** Whether to write a manifest if there is none; an existing one is always replaced. */
  readonly manifest: boolean;
  /** Called when the new file is complete on the disk and the old one is still in its place; if it throws, the old one stays. */
  readonly ready?: (() => Promise<void>) | undefined;
}

async function writeAll(handle: FileHandle, bytes: Uint8Array): Promise<void> {
  for (let done = 0; done < bytes.length; )
    done += (await handle.write(bytes, done, bytes.length - done)).bytesWritten;
}

/** An array's bytes, and its padding of zeros, in chunks: `crc32` takes 32-bit lengths, and would skip most of 4 GiB and more. */
function* chunksOf({ buffer, byteOffset, byteLength }: ArrayBufferView): Generator<Uint8Array> {
  const padding = new Uint8Array(aligned(byteLength) - byteLength);
  for (const memory of [new Uint8Array(buffer, byteOffset, byteLength), padding])
    for (let at = 0; at < memory.length; at += CHUNK_BYTES) yield memory.subarray(at, at + CHUNK_BYTES);
}

function checksumOf(array: ArrayBufferView): string {
  let checksum = 0;
  for (const chunk of chunksOf(array)) checksum = zlib.crc32(chunk, checksum);
  return hexOf(checksum);
}

async function writeContents(
  handle: FileHandle,
  { store, hiddenWorlds, createdAt, reports }: Loaded,
  index: SearchIndex,
): Promise<void> {
  const letters = lettersOf([store.users.bytes, store.worlds.bytes]);
  const folding = foldingOf(letters);
  const { values, arrays } = takeApart({ store, index, hiddenWorlds: hiddenWorlds!, letters, folding });
  let end = 0;
  const entries = Array.from(arrays, ([path, array]): ArrayEntry => {
    const offset = end;
    end = aligned(offset + array.byteLength);
    return [path, LAYOUT.get(path) as ArrayType, offset, array.byteLength, checksumOf(array)];
  });
  const sources = reports.map(({ file, table, bytes, rows, hidden, dangling }) => {
    return { file, table, bytes, rows, hidden, dangling };
  });
  await writeAll(handle, encodeHead({ createdAt, sources, values, arrays: entries }));
  for (const array of arrays.values()) for (const chunk of chunksOf(array)) await writeAll(handle, chunk);
}

/** The text of a manifest that lists the prepared file alone. */
function manifestOf({ store, createdAt, reports }: Loaded, file: { bytes: number; sha256: string }): string {
  const rows = reports.reduce((sum, report) => sum + report.rows, 0);
  return manifestText({ generation: store.id, createdAt, files: { [PREPARED]: { rows, ...file } } });
}

/**
 * Writes a loaded snapshot as a prepared one into a folder, which is made when missing. Removes leftovers of other builds.
 * @returns number of bytes of the file
 * @throws {PlaceError} when another build began to write into the folder meanwhile; any error of the file system. Nothing was
 *   changed then
 */
export async function writePrepared(
  folder: string,
  loaded: Loaded,
  index: SearchIndex,
  { manifest, ready }: WriteOptions,
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
      await writeContents(handle, loaded, index);
      bytes = (await handle.stat()).size;
      if (withManifest) sha256 = await hashFile(handle);
    });
    written.push(prepared);
    if (withManifest) {
      written.push(await writeNewFile(place(MANIFEST), manifestOf(loaded, { bytes, sha256 })));
    }
    await ready?.();
    // A kill at any moment leaves files that fit together: the old and the new file need no manifest.
    if (withManifest) await rm(place(MANIFEST), { force: true });
    for (const file of written) await file.commit();
  } catch (error) {
    for (const file of written) await file.discard();
    const { code, syscall } = error as NodeJS.ErrnoException;
    if (code !== "ENOENT" || syscall !== "rename") throw error;
    throw new PlaceError("another build began to write here meanwhile");
  }
  return bytes;
}
