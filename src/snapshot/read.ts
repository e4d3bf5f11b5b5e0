/** Reads one stored file into lines, and counts and hashes its bytes. */

import { createHash } from "node:crypto";
import type { FileHandle } from "node:fs/promises";
import { pipeline } from "node:stream/promises";
import { createGunzip } from "node:zlib";
import { codeOf } from "../util/system-error.ts";
import { PlaceError } from "../util/user-error.ts";
import type { StoredFile } from "./files.ts";
import { LineCutter, type LineSink } from "./lines.ts";
import type { Listed } from "./manifest.ts";
import { otherKind } from "./other-kinds.ts";

const CHUNK_BYTES = 1_048_576;

export interface ReadFile extends Listed {
  readonly unpackedBytes: number;
}

/** Uncompressed text that a load may still read, shared by its files. */
export interface Budget {
  bytesLeft: number;
}

/** Yields the results of `read` until it gives undefined; reads the next one while the caller works on the last. */
export async function* readAhead<Read>(read: () => Promise<Read | undefined>): AsyncGenerator<Read, void> {
  let reading = read();
  try {
    for (;;) {
      const value = await reading;
      if (value === undefined) return;
      reading = read();
      // The next turn awaits it; until then a rejection would count as unhandled.
      reading.catch(() => {});
      yield value;
    }
  } finally {
    // Every read must end before the file is closed.
    await reading.catch(() => {});
  }
}

/** The chunks of a file, each in the buffer of the last but one. The file can be read again: its own position does not move. */
function chunksOf(handle: FileHandle): AsyncGenerator<Buffer, void> {
  const buffers = [Buffer.allocUnsafeSlow(CHUNK_BYTES), Buffer.allocUnsafeSlow(CHUNK_BYTES)];
  let position = 0;
  return readAhead(async () => {
    const buffer = buffers.shift()!;
    buffers.push(buffer);
    const { bytesRead } = await handle.read(buffer, 0, CHUNK_BYTES, position);
    position += bytesRead;
    return bytesRead === 0 ? undefined : buffer.subarray(0, bytesRead);
  });
}

/** Most bytes of a snapshot's uncompressed files together. */
export const MAX_SNAPSHOT_BYTES = 16 * 2 ** 30;

export const TOO_LARGE = "the snapshot is larger than 16 GiB";

/** Takes bytes from a budget. @returns whether it had them */
export function trySpend(budget: Budget, bytes: number): boolean {
  budget.bytesLeft -= bytes;
  return budget.bytesLeft >= 0;
}

/** Takes bytes from a budget. @throws {PlaceError} when it is exceeded */
export function spend(budget: Budget, bytes: number): void {
  if (!trySpend(budget, bytes)) throw new PlaceError(TOO_LARGE);
}

const DAMAGED = "the gzip data is damaged or truncated";
const NO_GZIP = "is not compressed by gzip; its name must not end with .gz";

/** Unpacks a file. Node silently stops at bytes after the last member, so its count of bytes is compared with ours. */
async function cutGzip(handle: FileHandle, take: (chunk: Buffer) => void, cut: (unpacked: Buffer) => void) {
  const unzip = createGunzip({ chunkSize: CHUNK_BYTES });
  let given = 0;
  const stored = async function* (): AsyncGenerator<Buffer> {
    for await (const chunk of chunksOf(handle)) {
      take(chunk);
      const isGzip = chunk[0] === 0x1f && chunk[1] === 0x8b;
      if (given === 0 && chunk.length > 1 && !isGzip) throw new PlaceError(NO_GZIP);
      given += chunk.length;
      // The stream may keep the chunk after its buffer is used again.
      yield Buffer.from(chunk);
    }
    if (given === 0) throw new PlaceError(DAMAGED);
  };
  const unpacked = async (chunks: AsyncIterable<Buffer>): Promise<void> => {
    for await (const chunk of chunks) cut(chunk);
  };
  await pipeline(stored, unzip, unpacked).catch((error: unknown) => {
    const code = String(codeOf(error));
    if (code.startsWith("Z_")) throw new PlaceError(DAMAGED);
    // The unpacker ended before the file did.
    if (code !== "ABORT_ERR") throw error;
  });
  if (unzip.bytesWritten !== given) throw new PlaceError("there are bytes after the end of the gzip data");
}

/**
 * Reads a whole file into a sink. @param onBytes receives the number of stored bytes in each chunk
 * @throws {PlaceError} when the contents cannot be used; any error of the file system
 */
export async function readFileLines(
  file: StoredFile,
  sink: LineSink,
  budget: Budget,
  onBytes: (bytes: number) => void,
): Promise<ReadFile> {
  const hash = createHash("sha256");
  let bytes = 0;
  const { bytesLeft } = budget;
  const take = (chunk: Buffer): void => {
    hash.update(chunk);
    bytes += chunk.length;
    onBytes(chunk.length);
  };
  const cutter = new LineCutter(sink);
  const cut = (chunk: Buffer): void => {
    const other = budget.bytesLeft === bytesLeft ? otherKind(chunk) : undefined;
    if (other !== undefined) throw new PlaceError(other);
    spend(budget, chunk.length);
    cutter.push(chunk);
  };
  if (file.isGzip) await cutGzip(file.handle, take, cut);
  else
    for await (const chunk of chunksOf(file.handle)) {
      take(chunk);
      cut(chunk);
    }
  cutter.end();
  const unpackedBytes = bytesLeft - budget.bytesLeft;
  return { bytes, sha256: hash.digest("hex"), unpackedBytes, rows: cutter.rows };
}

export async function hashFile(
  handle: FileHandle,
  onBytes: (bytes: number) => void = () => {},
): Promise<string> {
  const hash = createHash("sha256");
  for await (const chunk of chunksOf(handle)) {
    hash.update(chunk);
    onBytes(chunk.length);
  }
  return hash.digest("hex");
}
