/** Rows to a file, in large chunks and with a temporary name. */

import { createHash } from "node:crypto";
import { open } from "node:fs/promises";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";

const CHUNK_UNITS = 262_144;
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

/** Where bytes go. */
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

/**
 * Writes rows, one a line, to a new or emptied file.
 *
 * No more rows are drawn than the disk takes in.
 *
 * @throws errors of the file system, and what `rows` throws
 */
export async function writeRows(path: string, rows: Iterable<string>, gzip: boolean): Promise<Written> {
  const plainHash = createHash("sha256");
  const hash = createHash("sha256");
  let count = 0;
  let bytes = 0;

  function* chunksOfRows(): Generator<Buffer, void> {
    let text = "";
    for (const row of rows) {
      count++;
      text += `${row}\n`;
      if (text.length < CHUNK_UNITS) continue;
      const chunk = Buffer.from(text);
      plainHash.update(chunk);
      yield chunk;
      text = "";
    }
    const rest = Buffer.from(text);
    plainHash.update(rest);
    if (rest.length > 0) yield rest;
  }

  const handle = await open(path, "w");
  try {
    const take: Take = async (chunk) => {
      hash.update(chunk);
      bytes += chunk.length;
      await handle.writeFile(chunk);
    };
    if (gzip) await zip(chunksOfRows(), take);
    else for (const chunk of chunksOfRows()) await take(chunk);
  } finally {
    await handle.close();
  }
  return { rows: count, bytes, sha256: hash.digest("hex"), plainSha256: plainHash.digest("hex") };
}
