/** `orrery generate`, a synthetic snapshot: believable data of any size, the same for the same seed. */

import { createHash } from "node:crypto";
import { open, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import type { CommandIo } from "../cli/command.ts";
import { CommandError, type Options } from "../cli/options.ts";
import { OccupiedError } from "../files/publish.ts";
import { ROW_FILES } from "../model/model.ts";
import { formatTime } from "../model/time.ts";
import type { Values } from "../settings/settings.ts";
import { MANIFEST } from "../snapshot/files.ts";
import { FORMAT } from "../snapshot/manifest.ts";
import { systemErrorText } from "../util/system-error.ts";
import { fillFolder, generationOf } from "./folder.ts";
import { createRows, LAST_MOMENT } from "./rows.ts";

/** What to make; the folder is made when missing, with its parents. */
export type GenerateOptions = Omit<Values<"generate">, "force"> & Partial<Pick<Values<"generate">, "force">>;

function checkOptions(options: GenerateOptions): void {
  for (const what of ["users", "worlds", "instances"] as const) {
    const count = options[what];
    if (!Number.isSafeInteger(count) || count < 0)
      throw new RangeError(`${what} must be a whole number from 0`);
  }
  if (!Number.isSafeInteger(options.seed)) throw new RangeError("seed must be a safe integer");
}

const CHUNK_BYTES = 1 << 20;
/** Place of the byte in a gzip header that names the operating system. */
const OS_AT = 9;

/** A file's rows, its bytes on disk, and their hash and that of the rows before compression. */
type Written = Record<"rows" | "bytes", number> & Record<"sha256" | "plainSha256", string>;

/** Writes rows to a new file; no more are drawn than the disk takes in, so memory does not grow with them. */
async function writeRows(path: string, rows: Iterable<string>, gzip: boolean): Promise<Written> {
  const plain = createHash("sha256");
  const zipped = gzip ? createHash("sha256") : undefined;
  let [count, bytes] = [0, 0];

  function* chunks(): Generator<Buffer> {
    const buffer = Buffer.allocUnsafeSlow(CHUNK_BYTES);
    let length = 0;
    const take = (): Buffer => {
      // The file has taken a chunk in before the next row is drawn; zlib may still read it then.
      const chunk = gzip ? Buffer.from(buffer.subarray(0, length)) : buffer.subarray(0, length);
      plain.update(chunk);
      length = 0;
      return chunk;
    };
    for (const row of rows) {
      // A code unit takes three bytes at most.
      if (length + row.length * 3 > CHUNK_BYTES) yield take();
      length += buffer.write(row, length);
      count++;
    }
    yield take();
  }

  const handle = await open(path, "w");
  const save = async (written: Iterable<Buffer> | AsyncIterable<Buffer>): Promise<void> => {
    for await (const chunk of written) {
      // Unknown: zlib names the system it was built for, and the bytes must not depend on that.
      if (gzip && bytes === 0) chunk[OS_AT] = 255;
      zipped?.update(chunk);
      bytes += chunk.length;
      await handle.writeFile(chunk);
    }
  };
  try {
    await (gzip ? pipeline(chunks(), createGzip({ chunkSize: 65_536 }), save) : save(chunks()));
  } finally {
    await handle.close();
  }
  const plainSha256 = plain.digest("hex");
  return { rows: count, bytes, sha256: zipped?.digest("hex") ?? plainSha256, plainSha256 };
}

/**
 * Writes a snapshot folder. Rows depend on the seed and the counts alone, never on the clock or the machine; bytes of
 * gzipped files also depend on the zlib inside Node.
 *
 * @throws {RangeError} when a count or the seed is no such number
 * @throws {OccupiedError} when the folder holds anything that must not be replaced, and any error of the file system; then
 *   nothing was changed, but for an error while finished files are put in their place
 */
export async function generateSnapshot(options: GenerateOptions): Promise<void> {
  checkOptions(options);
  const { out, gzip, force = false } = options;
  await fillFolder(out, force, async (staging) => {
    const tables = createRows(options);
    const files: Record<string, Omit<Written, "plainSha256">> = {};
    const hashes: string[] = [];
    for (const file of ROW_FILES) {
      const name = gzip ? `${file}.gz` : file;
      const { plainSha256, ...entry } = await writeRows(join(staging, name), tables[file], gzip);
      files[name] = entry;
      hashes.push(plainSha256);
    }
    // The generation is that of the rows, compressed or not.
    const generation = generationOf(hashes);
    const manifest = { format: FORMAT, generation, createdAt: formatTime(LAST_MOMENT), files };
    const text = `${JSON.stringify(manifest, null, 2)}\n`;
    await writeFile(join(staging, MANIFEST), text);
    return [
      ...Object.values(files).map(({ sha256 }) => sha256),
      createHash("sha256").update(text).digest("hex"),
    ];
  });
}

/** Runs the command. */
export async function generate({ values }: Options<"generate">, io: CommandIo): Promise<void> {
  try {
    await generateSnapshot(values);
  } catch (error) {
    const why = error instanceof OccupiedError ? error.message : systemErrorText(error);
    if (why === undefined) throw error;
    throw new CommandError(`${values.out}: ${why}`);
  }
  io.complain(`orrery: wrote ${values.out}\n`);
}
