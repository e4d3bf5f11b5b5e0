/** Reads the arrays of a prepared snapshot straight into shared memory, while the previous piece is checked. */

import type { FileHandle } from "node:fs/promises";
import zlib from "node:zlib";
import { BadFileError, readAhead } from "../read.ts";
import { aligned, type DecodedHead } from "./head.ts";
import { ARRAY_TYPES, ARRAYS, SHARED, type StoredArray } from "./layout.ts";

/** Bytes that are read at once, while as many are checked: few enough not to delay requests noticeably. */
const PIECE_BYTES = 2 ** 19;

/** Memory to read into, and the index of its array in the head. */
interface Piece {
  readonly bytes: Uint8Array;
  readonly array: number;
}

/** Fills memory with a file's bytes from `from` on. */
export async function readInto(handle: FileHandle, memory: Uint8Array, from: number): Promise<void> {
  for (let done = 0; done < memory.length; ) {
    const { bytesRead } = await handle.read(memory, done, memory.length - done, from + done);
    if (bytesRead === 0) throw new BadFileError("is truncated");
    done += bytesRead;
  }
}

/** The memory of all arrays in the order of the file, in pieces. It is allocated when its first piece is taken. */
function* piecesOf(head: DecodedHead, arrays: Map<string, StoredArray>): Generator<Piece, undefined> {
  for (const [array, { path, type, bytes }] of head.arrays.entries()) {
    if (path === SHARED.path && bytes > 0) {
      arrays.set(path, arrays.get(SHARED.as)!);
      continue;
    }
    // With its padding of zeros, which is read and checked as well.
    const memory = new Uint8Array(new SharedArrayBuffer(aligned(bytes)));
    const { itemBytes, over } = ARRAY_TYPES[type];
    arrays.set(path, over(memory.buffer, bytes / itemBytes));
    for (let from = 0; from < memory.length; from += PIECE_BYTES)
      yield { bytes: memory.subarray(from, from + PIECE_BYTES), array };
  }
}

/** Checks an array's bytes against the checksum of the head, and its items as indexes. */
function createChecker(
  head: DecodedHead,
  array: number,
): { take: (bytes: Uint8Array) => void; end: () => void } {
  const { path, bytes: length, crc32 } = head.arrays[array]!;
  const check = ARRAYS[array]!.items?.(head.sizeOf);
  let checksum = 0;
  let state = check?.first ?? 0;
  return {
    take(bytes) {
      checksum = zlib.crc32(bytes, checksum);
      if (check === undefined || Number.isNaN(state)) return;
      const left = Math.min(bytes.length, Math.max(0, length - bytes.byteOffset));
      state = check.take(new Uint32Array(bytes.buffer, bytes.byteOffset, left / 4), state);
    },
    end() {
      if (checksum !== crc32) throw new BadFileError(`${path} has a wrong checksum`);
      if (Number.isNaN(state) || state !== (check?.last ?? state))
        throw new BadFileError(`impossible layout: ${path} leads nowhere`);
    },
  };
}

/**
 * Reads the arrays of a head, and checks them.
 *
 * @param start their offset in the file
 * @param take receives all bytes that were read, in order
 * @throws {BadFileError} saying what is wrong; any error of the file system
 */
export async function readArrays(
  handle: FileHandle,
  head: DecodedHead,
  start: number,
  take: (bytes: Uint8Array) => void,
): Promise<Map<string, StoredArray>> {
  const arrays = new Map<string, StoredArray>();
  const pieces = piecesOf(head, arrays);
  let place = start;
  const readPiece = async (): Promise<Piece | undefined> => {
    const { value: piece } = pieces.next();
    if (piece === undefined) return undefined;
    const from = place;
    place += piece.bytes.length;
    await readInto(handle, piece.bytes, from);
    return piece;
  };
  let at = -1;
  let checker: ReturnType<typeof createChecker> | undefined;
  for await (const { bytes, array } of readAhead(readPiece)) {
    take(bytes);
    if (array !== at) {
      checker?.end();
      checker = createChecker(head, array);
      at = array;
    }
    checker!.take(bytes);
  }
  checker?.end();
  return arrays;
}
