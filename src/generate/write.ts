/** Rows to a file, in large chunks: one is written while the next is drawn. */

import { createHash } from "node:crypto";
import { open } from "node:fs/promises";
import { pipeline } from "node:stream/promises";
import { setImmediate } from "node:timers/promises";
import { createGzip } from "node:zlib";
import { RowBytes } from "./row-bytes.ts";
import type { Table } from "./rows.ts";

const CHUNK_BYTES = 1 << 20;
const GZIP_LEVEL = 6;
/** Place of the byte in a gzip header that names the operating system, and "unknown". */
const OS_AT = 9;
const OS_UNKNOWN = 255;

/** What a file holds now. */
export interface Written {
  readonly rows: number;
  /** Bytes on disk. */
  readonly bytes: number;
  /** Hex hash of the bytes on disk. */
  readonly sha256: string;
  /** Hex hash of the rows before compression. */
  readonly plainSha256: string;
}

/** Where bytes go. The promise is kept when the chunk may be written over. */
type Take = (chunk: Buffer) => Promise<void>;

async function zip(chunks: Iterable<Buffer>, take: Take): Promise<void> {
  let first = true;
  await pipeline(chunks, createGzip({ level: GZIP_LEVEL, chunkSize: 65_536 }), async (zipped) => {
    for await (const chunk of zipped as AsyncIterable<Buffer>) {
      // zlib names the system it was built for; the bytes must not depend on that.
      if (first) chunk[OS_AT] = OS_UNKNOWN;
      first = false;
      await take(chunk);
    }
  });
}

/** Writes each chunk while the next one is drawn. */
async function copy(chunks: Iterable<Buffer>, take: Take): Promise<void> {
  let writing: Promise<void> | undefined;
  for (const chunk of chunks) {
    await writing;
    writing = take(chunk);
    // A failure belongs to whoever waits for it next; until then it is no surprise.
    writing.catch(() => {});
    // The write begins, and a signal or a timer has its turn.
    await setImmediate();
  }
  await writing;
}

/**
 * Writes rows, one a line, to a new or emptied file.
 *
 * No more rows are drawn than the disk takes in, so memory does not grow with them.
 *
 * @throws errors of the file system, and what drawing a row throws
 */
export async function writeRows(path: string, { rows, draw }: Table, gzip: boolean): Promise<Written> {
  const plainHash = createHash("sha256");
  const hash = gzip ? createHash("sha256") : undefined;
  let count = 0;
  let bytes = 0;

  function* chunksOfRows(): Generator<Buffer, void> {
    // What was yielded last may still be on its way to the disk.
    let [filling, leaving] = [new RowBytes(CHUNK_BYTES), new RowBytes(CHUNK_BYTES)];
    for (let row = 0; row < rows; row++) {
      if (draw(row, filling)) {
        count++;
        filling.endRow();
      }
      if (filling.length < CHUNK_BYTES && row + 1 < rows) continue;
      const chunk = filling.written;
      if (chunk.length === 0) continue;
      plainHash.update(chunk);
      // zlib takes a chunk in at its leisure.
      yield gzip ? Buffer.from(chunk) : chunk;
      [filling, leaving] = [leaving, filling];
      filling.clear();
    }
  }

  const handle = await open(path, "w");
  try {
    const take: Take = async (chunk) => {
      hash?.update(chunk);
      bytes += chunk.length;
      await handle.writeFile(chunk);
    };
    await (gzip ? zip : copy)(chunksOfRows(), take);
  } finally {
    await handle.close();
  }
  const plainSha256 = plainHash.digest("hex");
  return { rows: count, bytes, sha256: hash?.digest("hex") ?? plainSha256, plainSha256 };
}
