/** Reading a prepared snapshot: straight into shared memory, while what was read before is checked. */

import { createHash } from "node:crypto";
import type { FileHandle } from "node:fs/promises";
import zlib from "node:zlib";
import { platformStatsOf } from "../../store/encode.ts";
import { isGenerationName } from "../manifest.ts";
import { BadFileError } from "../read.ts";
import { aligned, type DecodedHead, decodeHead, decodePrefix, isSamePlace, PREFIX_BYTES } from "./head.ts";
import { ARRAY_TYPES, type PreparedContents, putTogether, type StoredArray } from "./layout.ts";
import { foldingOf } from "./letters.ts";
import { misfitRows } from "./packed-rows.ts";
import { createItemsChecks } from "./structure.ts";

/** Bytes that are read at once, while as many are checked: what takes so little time that requests need not notice. */
const PIECE_BYTES = 2 ** 19;

/** How to read. */
export interface ReadOptions {
  /** Most bytes of the file. */
  readonly maxBytes: number;
  /** Whether the file's hash is wanted. */
  readonly hash: boolean;
  /** Told how many bytes were read, as they are, and 0 while rows are checked; a throw ends the reading. */
  readonly onBytes: (bytes: number) => void;
}

/** What was in a file. */
export interface ReadPrepared {
  readonly head: DecodedHead;
  readonly contents: PreparedContents;
  readonly bytes: number;
  /** Hex SHA-256 of the file, where it was asked for. */
  readonly sha256: string | undefined;
}

/** Some memory to read into, and the array of the head that it is of. */
interface Target {
  readonly bytes: Uint8Array;
  readonly array: number;
}

/** Fills memory from a place in a file on. */
async function fill(
  handle: FileHandle,
  targets: readonly Pick<Target, "bytes">[],
  from: number,
): Promise<void> {
  let left: Uint8Array[] = targets.map(({ bytes }) => bytes);
  for (let place = from; left.length > 0; ) {
    const { bytesRead } = await handle.readv(left, place);
    if (bytesRead === 0) throw new BadFileError("is truncated");
    place += bytesRead;
    let done = bytesRead;
    left = left.flatMap((bytes) => {
      const rest = bytes.subarray(Math.min(done, bytes.length));
      done = Math.max(0, done - bytes.length);
      return rest.length > 0 ? [rest] : [];
    });
  }
}

/** The memory of all arrays in the order of the file, in pieces. It is there from when its piece is taken. */
function* piecesOf(head: DecodedHead, arrays: Map<string, StoredArray>): Generator<Target[], undefined> {
  let piece: Target[] = [];
  let room = PIECE_BYTES;
  for (const [array, placed] of head.arrays.entries()) {
    const { path, type, bytes } = placed;
    const same = head.arrays.slice(0, array).find((other) => bytes > 0 && isSamePlace(other, placed));
    if (same !== undefined) {
      arrays.set(path, arrays.get(same.path)!);
      continue;
    }
    // With the zeros that fill it up, which are read and checked as well.
    const memory = new Uint8Array(new SharedArrayBuffer(aligned(bytes)));
    const { itemBytes, over } = ARRAY_TYPES[type];
    arrays.set(path, over(memory.buffer, bytes / itemBytes));
    for (let from = 0; from < memory.length; ) {
      const part = memory.subarray(from, from + room);
      piece.push({ bytes: part, array });
      from += part.length;
      room -= part.length;
      if (room > 0) continue;
      yield piece;
      piece = [];
      room = PIECE_BYTES;
    }
  }
  if (piece.length > 0) yield piece;
}

/** Reads the arrays. @param check called with all that is read, in order */
async function readArrays(
  handle: FileHandle,
  head: DecodedHead,
  bodyStart: number,
  check: (target: Target) => void,
): Promise<Map<string, StoredArray>> {
  const arrays = new Map<string, StoredArray>();
  const pieces = piecesOf(head, arrays);
  let place = bodyStart;
  let reading: Promise<Target[] | undefined> = Promise.resolve(undefined);
  const readNext = async (): Promise<Target[] | undefined> => {
    const { value: piece } = pieces.next();
    if (piece === undefined) return undefined;
    const from = place;
    place += piece.reduce((bytes, target) => bytes + target.bytes.length, 0);
    await fill(handle, piece, from);
    return piece;
  };
  try {
    reading = readNext();
    for (;;) {
      const piece = await reading;
      if (piece === undefined) return arrays;
      reading = readNext();
      // Its failure is met at the next turn; until then nobody waits for it.
      reading.catch(() => {});
      for (const target of piece) check(target);
    }
  } finally {
    // No read may be unfinished when the file is closed.
    await reading.catch(() => {});
  }
}

/** Holds what is read to the checksums of the head, and to what can be followed. */
function createChecker(head: DecodedHead): { check: (target: Target) => void; end: () => void } {
  const { arrays } = head;
  const checks = createItemsChecks(head.sizeOf);
  /** Those of each array that is read, of all its paths. */
  const checksOf = arrays.map((array) =>
    checks.flatMap(([path, check]) => {
      const own = arrays.find((other) => other.path === path);
      return own !== undefined && isSamePlace(own, array) ? [check] : [];
    }),
  );
  let at = -1;
  let checksum = 0;
  const end = (): void => {
    if (at >= 0 && checksum !== arrays[at]!.crc32) {
      throw new BadFileError(`${arrays[at]!.path} has a wrong checksum`);
    }
  };
  return {
    check({ bytes, array }) {
      if (array !== at) {
        end();
        at = array;
        checksum = 0;
      }
      checksum = zlib.crc32(bytes, checksum);
      if (checksOf[array]!.length === 0) return;
      const left = Math.min(bytes.length, Math.max(0, arrays[array]!.bytes - bytes.byteOffset));
      const items = new Uint32Array(bytes.buffer, bytes.byteOffset, left / 4);
      for (const one of checksOf[array]!) one.take(items);
    },
    end() {
      end();
      const wrong = checks.find(([, check]) => !check.isGood());
      if (wrong !== undefined) throw new BadFileError(`impossible layout: ${wrong[0]} leads nowhere`);
    },
  };
}

async function readHead(handle: FileHandle, size: number): Promise<Buffer> {
  const prefix = Buffer.alloc(Math.min(size, PREFIX_BYTES));
  await fill(handle, [{ bytes: prefix }], 0);
  const jsonBytes = decodePrefix(prefix);
  if (size < PREFIX_BYTES + jsonBytes) throw new BadFileError("is truncated");
  const json = Buffer.alloc(jsonBytes);
  await fill(handle, [{ bytes: json }], PREFIX_BYTES);
  return Buffer.concat([prefix, json]);
}

async function checkContents(
  { store, letters, folding }: PreparedContents,
  { onBytes }: ReadOptions,
): Promise<void> {
  if (!isGenerationName(store.id)) throw new BadFileError("impossible layout: store.id is no generation");
  if (store.platformStats !== platformStatsOf(store))
    throw new BadFileError("impossible layout: store.platformStats does not count its rows");
  const misfit = await misfitRows(store, () => onBytes(0));
  if (misfit !== undefined) throw new BadFileError(`impossible layout: ${misfit} holds other than rows`);
  if (foldingOf(letters) !== folding) {
    throw new BadFileError(
      "its index was made with other Unicode data, which folds characters of this snapshot otherwise than this " +
        "runtime; build it again with this one",
    );
  }
}

/**
 * Reads a prepared snapshot and checks all of it.
 *
 * Takes memory of the file's size, and only once its head was found to fit that.
 *
 * @throws {BadFileError} saying what is wrong, and any error of the file system
 */
export async function readPrepared(handle: FileHandle, options: ReadOptions): Promise<ReadPrepared> {
  const { size } = await handle.stat();
  if (size > options.maxBytes) {
    throw new BadFileError("the snapshot is larger than --max-snapshot-bytes allows");
  }
  const stored = await readHead(handle, size);
  const head = decodeHead(stored);
  const bytes = stored.length + head.bodyBytes;
  if (size < bytes) throw new BadFileError(`is truncated: ${size} of ${bytes} bytes are there`);
  if (size > bytes) throw new BadFileError(`there are ${size - bytes} bytes after its end`);

  const hash = options.hash ? createHash("sha256").update(stored) : undefined;
  const { check, end } = createChecker(head);
  options.onBytes(stored.length);
  const arrays = await readArrays(handle, head, stored.length, (target) => {
    options.onBytes(target.bytes.length);
    hash?.update(target.bytes);
    check(target);
  });
  end();
  const values = new Map(Object.entries(head.values));
  const contents = putTogether({ values, arrays });
  await checkContents(contents, options);
  return { head, contents, bytes, sha256: hash?.digest("hex") };
}
