/**
 * The head of a prepared snapshot. Numbers are little-endian, also in the arrays, which follow it one after the other, each padded
 * with zeros to a multiple of 64.
 *
 *   bytes 0–15   the words "orrery prepared\n"
 *        16–19   format version
 *        20–23   bytes of the JSON
 *        24–27   CRC-32 of the JSON
 *        28–31   CRC-32 of the 28 bytes before
 *        32–     the JSON, and spaces up to a multiple of 64
 */

// Not a named import of `crc32`: a Node without it would fail before the program can report its version.
import zlib from "node:zlib";
import { PlaceError } from "../../util/user-error.ts";
import type { FileReport } from "../loaded.ts";
import { type ArrayType, PREPARED_VERSION } from "./layout.ts";

export const PREPARED_BEGINNING = "orrery prepared\n";
const MAGIC = Buffer.from(PREPARED_BEGINNING);
export const PREFIX_BYTES = 32;
const ALIGNMENT = 64;

/** The next offset at which an array may begin. */
export function aligned(place: number): number {
  return Math.ceil(place / ALIGNMENT) * ALIGNMENT;
}

/** An array's place in the file, as the head has it. */
export type ArrayEntry = readonly [
  path: string,
  type: ArrayType,
  /** Counted from the end of the head. */
  offset: number,
  bytes: number,
  /** CRC-32 of the array and its padding, in hex. */
  crc32: string,
];

export function hexOf(crc32: number): string {
  return crc32.toString(16).padStart(8, "0");
}

export interface PreparedHead {
  readonly createdAt?: string | undefined;
  /** The row files from which the snapshot was prepared. */
  readonly sources: readonly FileReport[];
  readonly values: Readonly<Record<string, number | string>>;
  readonly arrays: readonly ArrayEntry[];
}

export function encodeHead(head: PreparedHead): Buffer {
  const json = Buffer.from(JSON.stringify(head));
  const end = aligned(PREFIX_BYTES + json.length);
  const stored = Buffer.alloc(end, " ");
  MAGIC.copy(stored);
  json.copy(stored, PREFIX_BYTES);
  stored.writeUInt32LE(PREPARED_VERSION, 16);
  stored.writeUInt32LE(end - PREFIX_BYTES, 20);
  stored.writeUInt32LE(zlib.crc32(stored.subarray(PREFIX_BYTES)), 24);
  stored.writeUInt32LE(zlib.crc32(stored.subarray(0, 28)), 28);
  return stored;
}

/**
 * Reads the first {@link PREFIX_BYTES}. @returns number of bytes of the JSON
 * @throws {PlaceError} when they do not begin a prepared snapshot of this version
 */
export function decodePrefix(prefix: Buffer): number {
  const magic = prefix.subarray(0, MAGIC.length);
  if (!magic.equals(MAGIC.subarray(0, magic.length))) throw new PlaceError("is not a prepared snapshot");
  if (prefix.length < PREFIX_BYTES) throw new PlaceError("is truncated");
  const version = prefix.readUInt32LE(16);
  if (version !== PREPARED_VERSION) {
    throw new PlaceError(
      `has format version ${version}, and this orrery reads version ${PREPARED_VERSION}; make it again with orrery build`,
    );
  }
  if (zlib.crc32(prefix.subarray(0, 28)) !== prefix.readUInt32LE(28))
    throw new PlaceError("the head has a wrong checksum");
  return prefix.readUInt32LE(20);
}

/** Reads the JSON of a whole head, and trusts it if its checksum is right. @throws {PlaceError} when it is wrong */
export function decodeHead(stored: Buffer): PreparedHead {
  const text = stored.subarray(PREFIX_BYTES);
  if (zlib.crc32(text) !== stored.readUInt32LE(24)) throw new PlaceError("the head has a wrong checksum");
  return JSON.parse(text.toString()) as PreparedHead;
}

export function bodyBytesOf({ arrays }: PreparedHead): number {
  const [, , offset, bytes] = arrays.at(-1)!;
  return aligned(offset + bytes);
}
