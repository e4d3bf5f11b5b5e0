/** Writes a file of rows while they arrive: compresses it on request, counts and hashes it. */

import { createHash } from "node:crypto";
import { open } from "node:fs/promises";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";

const NEWLINE = 10;
const CHUNK_BYTES = 262_144;

/** Counts and hashes of a written file. */
export interface WrittenFile {
  /** Lines that are not empty. */
  readonly rows: number;
  /** All lines. */
  readonly lines: number;
  /** Bytes on disk. */
  readonly bytes: number;
  /** Hex hash of the bytes on disk. */
  readonly sha256: string;
  /** Hex hash of the rows before compression. */
  readonly plainSha256: string;
}

/** Counts lines, each ended by a newline, and the empty ones. */
function createLineCounter() {
  let lines = 0;
  let empty = 0;
  let wasNewline = true;
  return {
    count(chunk: Buffer): void {
      let from = 0;
      for (let at = chunk.indexOf(NEWLINE); at >= 0; at = chunk.indexOf(NEWLINE, from)) {
        lines++;
        if (at === from && (from > 0 || wasNewline)) empty++;
        from = at + 1;
      }
      if (chunk.length > 0) wasNewline = from === chunk.length;
    },
    lines: () => lines,
    rows: () => lines - empty,
  };
}

/**
 * Writes lines to a new file. Reads the source no faster than the disk writes.
 *
 * @param signal stops the writing; the partial file stays
 * @throws errors of the file system, and what `source` throws
 */
export async function writeRowFile(
  path: string,
  source: AsyncIterable<Buffer>,
  gzip: boolean,
  signal?: AbortSignal,
): Promise<WrittenFile> {
  const counter = createLineCounter();
  const plain = createHash("sha256");
  const stored = createHash("sha256");
  let bytes = 0;

  async function* counted(): AsyncGenerator<Buffer, void> {
    for await (const chunk of source) {
      counter.count(chunk);
      if (gzip) plain.update(chunk);
      yield chunk;
    }
  }

  const handle = await open(path, "wx");
  try {
    const write = async (chunks: AsyncIterable<Buffer>): Promise<void> => {
      for await (const chunk of chunks) {
        stored.update(chunk);
        bytes += chunk.length;
        await handle.writeFile(chunk);
      }
    };
    const options = { signal };
    if (gzip) await pipeline(counted(), createGzip({ chunkSize: CHUNK_BYTES }), write, options);
    else await pipeline(counted(), write, options);
  } finally {
    await handle.close();
  }
  const sha256 = stored.digest("hex");
  return {
    ...{ rows: counter.rows(), lines: counter.lines(), bytes, sha256 },
    plainSha256: gzip ? plain.digest("hex") : sha256,
  };
}
