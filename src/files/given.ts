/** Reads files that a user names. The path may lead to a pipe or an endless device: only regular files of bounded size are read. */

import { type BigIntStats, constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { SourceError } from "../util/source-error.ts";
import { systemErrorText } from "../util/system-error.ts";
import { PlaceError } from "../util/user-error.ts";

/** The identity of a file's contents, by device, inode, size and times. Equal fingerprints, equal contents. */
export function fileFingerprint({ dev, ino, size, mtimeNs, ctimeNs }: BigIntStats): string {
  return `${dev}:${ino}:${size}:${mtimeNs}:${ctimeNs}`;
}

/** Opens a file without waiting for the writer of a pipe. @throws {PlaceError} when it is not regular; errors of the file system */
export async function openRegular(file: string): Promise<{ handle: FileHandle; stats: BigIntStats }> {
  const { O_RDONLY, O_NONBLOCK = 0, O_NOCTTY = 0 } = constants;
  const handle = await open(file, O_RDONLY | O_NONBLOCK | O_NOCTTY);
  try {
    const stats = await handle.stat({ bigint: true });
    if (!stats.isFile()) throw new PlaceError("is not a regular file");
    return { handle, stats };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

const MIB = 1_048_576;
/** A file in `/proc` has no size. */
const LEAST_ROOM = 65_536;

/** A file's bytes, and its state before they were read. */
export interface Given {
  readonly bytes: Buffer;
  readonly stats: BigIntStats;
}

/** The first bytes of an open file, at most `most`. Its own position does not move. @throws errors of the file system */
export async function readStart(handle: FileHandle, most: number): Promise<Buffer> {
  const buffer = Buffer.allocUnsafeSlow(most);
  for (let length = 0; ; ) {
    const { bytesRead } = await handle.read(buffer, length, Math.min(MIB, most - length), length);
    length += bytesRead;
    if (bytesRead === 0 || length === most) return buffer.subarray(0, length);
  }
}

/** Reads a whole file of at most `most` bytes. @throws {PlaceError} when it is larger or not regular; errors of the file system */
export async function readGiven(file: string, most = MIB): Promise<Given> {
  const { handle, stats } = await openRegular(file);
  try {
    const size = Number(stats.size);
    if (size > most) throw new PlaceError(`is larger than ${most} bytes`);
    const room = Math.min(Math.max(size, LEAST_ROOM), most);
    const bytes = await readStart(handle, room + 1);
    if (bytes.length > room) throw new PlaceError("grows while it is read");
    return { bytes, stats };
  } finally {
    await handle.close();
  }
}

/** Why a given file could not be read; undefined for a defect. */
export function whyUnread(error: unknown): string | undefined {
  if (error instanceof PlaceError) return error.message;
  const why = systemErrorText(error);
  return why === undefined ? undefined : `cannot be read: ${why}`;
}

const MOST_TOKEN_BYTES = 16_384;

/** The token in the text of a file, without a byte order mark and white space around it. @param text one character per byte */
export function tokenIn(text: string): string {
  return text.replace(/^\xef\xbb\xbf/, "").trim();
}

/**
 * Reads a bearer token; a byte order mark and white space around it are ignored.
 * @param name the option or variable that named the file
 * @throws {SourceError} naming both, when the file cannot be read or holds no token; its contents are not quoted
 */
export async function readToken(file: string, name: string): Promise<string> {
  const bad = (why: string): SourceError => new SourceError(`${name}: ${file}: ${why}`);
  const { bytes } = await readGiven(file, MOST_TOKEN_BYTES).catch((error: unknown) => {
    throw bad(whyUnread(error) ?? String(error));
  });
  const token = tokenIn(bytes.toString("latin1"));
  // Fetch would refuse any other token, and quote it in the message.
  if (!/^[\x21-\x7e]+$/.test(token)) {
    throw bad("must hold one token, of visible ASCII characters");
  }
  return token;
}
