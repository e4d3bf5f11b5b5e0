/** Reads the arrays of a prepared snapshot straight into shared memory; each piece is checked while the next one is read. */

import type { FileHandle } from "node:fs/promises";
import zlib from "node:zlib";
import { BadFileError, readAhead } from "../read.ts";
import { aligned, hexOf, type PreparedHead } from "./head.ts";
import { ARRAY_TYPES, type StoredArray } from "./layout.ts";

/** Bytes that are read at once, while as many are checked: few enough not to delay requests noticeably. */
const PIECE_BYTES = 2 ** 19;

/** Fills memory with a file's bytes from `from` on. */
export async function readInto(handle: FileHandle, memory: Uint8Array, from: number): Promise<void> {
  for (let done = 0; done < memory.length; ) {
    const { bytesRead } = await handle.read(memory, done, memory.length - done, from + done);
    if (bytesRead === 0) throw new BadFileError("is truncated");
    done += bytesRead;
  }
}

/** Fills memory with a file's bytes from `from` on, piece by piece. */
function piecesOf(handle: FileHandle, memory: Uint8Array, from: number): AsyncGenerator<Uint8Array, void> {
  let next = 0;
  return readAhead(async () => {
    const at = next;
    if (at === memory.length) return undefined;
    const piece = memory.subarray(at, at + PIECE_BYTES);
    next += piece.length;
    await readInto(handle, piece, from + at);
    return piece;
  });
}

/**
 * Reads the arrays of a head, and checks the checksum of each.
 * @param start their offset in the file
 * @param take receives all bytes that were read, in order
 * @throws {BadFileError} saying what is wrong; any error of the file system
 */
export async function readArrays(
  handle: FileHandle,
  head: PreparedHead,
  start: number,
  take: (bytes: Uint8Array) => void,
): Promise<Map<string, StoredArray>> {
  const arrays = new Map<string, StoredArray>();
  for (const [path, type, offset, bytes, crc32] of head.arrays) {
    // With its padding of zeros, which is read and checked as well.
    const memory = new Uint8Array(new SharedArrayBuffer(aligned(bytes)));
    const { itemBytes, over } = ARRAY_TYPES[type];
    arrays.set(path, over(memory.buffer, bytes / itemBytes));
    let checksum = 0;
    for await (const piece of piecesOf(handle, memory, start + offset)) {
      take(piece);
      checksum = zlib.crc32(piece, checksum);
    }
    if (hexOf(checksum) !== crc32) throw new BadFileError(`${path} has a wrong checksum`);
  }
  return arrays;
}
