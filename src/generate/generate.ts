/** `orrery generate`: a realistic snapshot of any size, the same for the same seed. It replaces only snapshots of its own. */

import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { mkdir, open, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { createGunzip, createGzip } from "node:zlib";
import type { CommandIo } from "../cli/command.ts";
import { failureAt, type Options } from "../cli/options.ts";
import { claimFolder } from "../files/folders.ts";
import { OccupiedError } from "../files/publish.ts";
import { ROW_FILES } from "../model/model.ts";
import { formatTime } from "../model/time.ts";
import type { Values } from "../settings/settings.ts";
import { formsOf, isRowFile, MANIFEST } from "../snapshot/files.ts";
import { type Listed, manifestText, readManifestOf } from "../snapshot/manifest.ts";
import { createRows, LAST_MOMENT } from "./rows.ts";

const CHUNK_UNITS = 500_000;
/** Folder inside the target where a snapshot is completed first: always on the same file system. */
const STAGING = ".orrery-generate";
/** File in it with the hashes of all files, old and new, that may exist during a replacement. */
const JOURNAL = "journal.json";

async function hashOf(path: string, unzip = false): Promise<string> {
  const hash = createHash("sha256");
  if (unzip) await pipeline(createReadStream(path), createGunzip(), hash);
  else await pipeline(createReadStream(path), hash);
  return hash.digest("hex");
}

/** The generation of rows, by the hashes of their files before compression. */
function generationOf(plainSha256: readonly string[]): string {
  return `gen-${createHash("sha256").update(plainSha256.join("")).digest("hex").slice(0, 16)}`;
}

/** Whether the manifest's generation is derived from the folder's rows in the way that only this command uses. */
async function isGenerated(folder: string, names: readonly string[]): Promise<boolean> {
  const rows = ROW_FILES.flatMap(formsOf).filter((name) => names.includes(name));
  if (rows.length !== ROW_FILES.length) return false;
  try {
    const plain = await Promise.all(rows.map((name) => hashOf(join(folder, name), name.endsWith(".gz"))));
    return (await readManifestOf(folder))?.generation === generationOf(plain);
  } catch {
    // Rows that cannot be decompressed are not from this command.
    return false;
  }
}

/** Whether all files belong to an interrupted replacement by this command. */
async function isInterrupted(folder: string, names: readonly string[]): Promise<boolean> {
  const journal: unknown = await readFile(join(folder, STAGING, JOURNAL), "utf8")
    .then(JSON.parse)
    .catch(() => undefined);
  if (!Array.isArray(journal)) return false;
  for (const name of names) if (!journal.includes(await hashOf(join(folder, name)))) return false;
  return true;
}

/** Checks that a snapshot may be put into a folder. @returns the names of the files to be replaced */
async function replaceable(folder: string, force: boolean): Promise<readonly string[]> {
  const names = (await readdir(folder)).filter((name) => name !== STAGING);
  if (names.length === 0) return names;
  if (!force) throw new OccupiedError("is not empty; --force replaces a snapshot that this command made");
  const foreign = names.find((name) => name !== MANIFEST && !isRowFile(name));
  if (foreign !== undefined) throw new OccupiedError(`holds ${foreign}, which this command did not make`);
  if ((await isInterrupted(folder, names)) || (await isGenerated(folder, names))) return names;
  throw new OccupiedError("holds rows that this command did not make, or that were changed since");
}

/** Writes rows to a new file. Draws them no faster than the disk writes, so memory does not grow. @returns their number */
async function writeRows(path: string, rows: Iterable<object>, gzip: boolean): Promise<number> {
  let count = 0;
  function* chunks(): Generator<Buffer> {
    let text = "";
    for (const row of rows) {
      text += `${JSON.stringify(row)}\n`;
      count++;
      if (text.length < CHUNK_UNITS) continue;
      yield Buffer.from(text);
      text = "";
    }
    yield Buffer.from(text);
  }

  const handle = await open(path, "w");
  const save = async (written: Iterable<Buffer> | AsyncIterable<Buffer>): Promise<void> => {
    for await (const chunk of written) await handle.writeFile(chunk);
  };
  try {
    await (gzip ? pipeline(chunks(), createGzip({ chunkSize: 65_536 }), save) : save(chunks()));
    // Byte 9 names the system that zlib was built for, on which the bytes must not depend; 255 is "unknown".
    if (gzip) await handle.write(Uint8Array.of(255), 0, 1, 9);
  } finally {
    await handle.close();
  }
  return count;
}

/** Writes the row files and the manifest into an empty folder. @returns the hex SHA-256 of each */
async function writeFiles(folder: string, { gzip, ...sizes }: GenerateOptions): Promise<string[]> {
  const tables = createRows(sizes);
  const files: Record<string, Listed> = {};
  const plain: string[] = [];
  for (const file of ROW_FILES) {
    const name = gzip ? `${file}.gz` : file;
    const path = join(folder, name);
    const rows = await writeRows(path, tables[file], gzip);
    const sha256 = await hashOf(path);
    files[name] = { rows, bytes: (await stat(path)).size, sha256 };
    plain.push(gzip ? await hashOf(path, true) : sha256);
  }
  const text = manifestText({ generation: generationOf(plain), createdAt: formatTime(LAST_MOMENT), files });
  await writeFile(join(folder, MANIFEST), text);
  const ofManifest = createHash("sha256").update(text).digest("hex");
  return [...Object.values(files).map(({ sha256 }) => sha256), ofManifest];
}

/** Sizes, seed, form and folder of a snapshot; missing folders are created. */
export type GenerateOptions = Omit<Values<"generate">, "force"> & Partial<Pick<Values<"generate">, "force">>;

/**
 * Makes a snapshot folder. Rows depend on the seed and the counts alone; bytes of gzipped files also on the zlib inside Node.
 * All files are complete before the first is moved into place, and the manifest moves last: a reader sees a whole snapshot, old
 * or new, or one that contradicts its manifest or lacks files. After a kill in between, the next call can replace all files.
 * @throws {OccupiedError} when the folder holds anything that must not be replaced; any error of the file system
 */
export async function generateSnapshot(options: GenerateOptions): Promise<void> {
  const unclaim = await claimFolder(options.out);
  await replaceSnapshot(options).catch(async (error: unknown) => {
    await unclaim();
    throw error;
  });
}

async function replaceSnapshot(options: GenerateOptions): Promise<void> {
  const { out, force = false } = options;
  const old = await replaceable(out, force);
  const staging = join(out, STAGING);
  await rm(staging, { recursive: true, force: true });
  await mkdir(staging);
  try {
    const written = await writeFiles(staging, options);
    const replaced = await Promise.all(old.map((name) => hashOf(join(out, name))));
    await writeFile(join(staging, JOURNAL), JSON.stringify([...replaced, ...written]));
  } catch (error) {
    await rm(staging, { recursive: true, force: true });
    throw error;
  }
  const made = (await readdir(staging)).filter((name) => name !== JOURNAL && name !== MANIFEST);
  for (const name of made) await rename(join(staging, name), join(out, name));
  const surplus = old.filter((name) => name !== MANIFEST && !made.includes(name));
  for (const name of surplus) await rm(join(out, name), { force: true });
  await rename(join(staging, MANIFEST), join(out, MANIFEST));
  await rm(staging, { recursive: true, force: true });
}

export async function generate({ values }: Options<"generate">, io: CommandIo): Promise<void> {
  try {
    await generateSnapshot(values);
  } catch (error) {
    throw failureAt(values.out, error);
  }
  io.complain(`orrery: wrote ${values.out}\n`);
}
