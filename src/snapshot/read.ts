/** One stored file to lines, while its bytes are counted and hashed. */

import { createHash } from "node:crypto";
import type { FileHandle } from "node:fs/promises";
import { createGunzip } from "node:zlib";
import type { StoredFile } from "./files.ts";
import { LineCutter, type LineSink } from "./lines.ts";

const CHUNK_BYTES = 1_048_576;

/** What was stored in a file. */
export interface Stored {
  /** Bytes on disk. */
  readonly bytes: number;
  /** Hex hash of those bytes. */
  readonly sha256: string;
}

/** How much uncompressed text a load may still read; shared by its files. */
export interface Budget {
  bytesLeft: number;
}

/** A file's contents cannot be used; the message names no file. */
export class BadFileError extends Error {
  override name = "BadFileError";
}

/** The chunks of a file; the buffer of a chunk is used again for the next one. */
async function* chunksOf(handle: FileHandle): AsyncGenerator<Buffer, void> {
  const buffer = Buffer.allocUnsafeSlow(CHUNK_BYTES);
  for (;;) {
    const { bytesRead } = await handle.read(buffer, 0, CHUNK_BYTES, null);
    if (bytesRead === 0) return;
    yield buffer.subarray(0, bytesRead);
  }
}

function spend(budget: Budget, bytes: number): void {
  budget.bytesLeft -= bytes;
  if (budget.bytesLeft < 0) throw new BadFileError("the snapshot is larger than --max-snapshot-bytes allows");
}

/**
 * Unzips into the cutter with backpressure. Node stops quietly at bytes that
 * follow the last member, so the bytes it took in are compared with the bytes
 * it was given.
 */
async function cutGzip(
  handle: FileHandle,
  take: (chunk: Buffer) => void,
  cutter: LineCutter,
  budget: Budget,
) {
  const unzip = createGunzip({ chunkSize: CHUNK_BYTES });
  let given = 0;
  let failure: Error | undefined;
  const ended = new Promise<void>((resolve) => {
    unzip.on("data", (chunk: Buffer) => {
      try {
        spend(budget, chunk.length);
        cutter.push(chunk);
      } catch (error) {
        failure = error as Error;
        unzip.destroy();
      }
    });
    unzip.on("error", () => {
      failure ??= new BadFileError("the gzip data is damaged or cut short");
    });
    unzip.on("close", resolve);
  });
  try {
    for await (const chunk of chunksOf(handle)) {
      take(chunk);
      given += chunk.length;
      if (unzip.destroyed) break;
      // The stream may keep the chunk after this loop has used its buffer again.
      await new Promise<void>((resolve) => {
        unzip.once("close", resolve);
        unzip.write(Buffer.from(chunk), () => {
          unzip.off("close", resolve);
          resolve();
        });
      });
    }
    if (given === 0) throw new BadFileError("the gzip data is damaged or cut short");
    if (!unzip.destroyed) unzip.end();
    await ended;
  } finally {
    unzip.destroy();
  }
  if (failure !== undefined) throw failure;
  if (unzip.bytesWritten !== given) throw new BadFileError("there is something behind the gzip data");
}

/**
 * Reads a whole file into a sink.
 *
 * @throws {BadFileError} when the bytes cannot be used, and any error of the file system
 */
export async function readFileLines(file: StoredFile, sink: LineSink, budget: Budget): Promise<Stored> {
  const hash = createHash("sha256");
  let bytes = 0;
  const take = (chunk: Buffer): void => {
    hash.update(chunk);
    bytes += chunk.length;
  };
  const cutter = new LineCutter(sink);
  if (file.gzip) {
    await cutGzip(file.handle, take, cutter, budget);
  } else {
    for await (const chunk of chunksOf(file.handle)) {
      take(chunk);
      spend(budget, chunk.length);
      cutter.push(chunk);
    }
  }
  cutter.end();
  return { bytes, sha256: hash.digest("hex") };
}
