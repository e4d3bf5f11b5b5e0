/** The folder that a synthetic snapshot goes to: which files may be replaced, and replacing them without a mixture. */

import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { createGunzip } from "node:zlib";
import { makeFolder } from "../files/folders.ts";
import { OccupiedError } from "../files/publish.ts";
import { ROW_FILES } from "../model/model.ts";
import { MANIFEST } from "../snapshot/files.ts";

/** Folder inside the target where a snapshot is completed first: it is on the same file system wherever that is mounted. */
const STAGING = ".orrery-generate";
/** File in it with the hashes of all files, old and new, that may be there while the one is being replaced by the other. */
const JOURNAL = "journal.json";

/** Id of the generation with such rows: the same whether they are compressed or not. */
export function generationOf(plainSha256: readonly string[]): string {
  return `gen-${createHash("sha256").update(plainSha256.join("")).digest("hex").slice(0, 16)}`;
}

async function hashOf(path: string, unzip = false): Promise<string> {
  const hash = createHash("sha256");
  if (unzip) await pipeline(createReadStream(path), createGunzip(), hash);
  else await pipeline(createReadStream(path), hash);
  return hash.digest("hex");
}

/** Undefined when the file is not there or no JSON. */
async function readJson(path: string): Promise<unknown> {
  return readFile(path, "utf8")
    .then(JSON.parse)
    .catch(() => undefined);
}

/** Whether its manifest's generation was derived from the folder's rows, which only this command does like this. */
async function isGenerated(folder: string, names: readonly string[]): Promise<boolean> {
  const manifest = (await readJson(join(folder, MANIFEST))) as { generation?: unknown } | null | undefined;
  const rows = ROW_FILES.flatMap((file) => names.filter((name) => name === file || name === `${file}.gz`));
  if (rows.length !== ROW_FILES.length) return false;
  try {
    const hashes: string[] = [];
    for (const name of rows) hashes.push(await hashOf(join(folder, name), name.endsWith(".gz")));
    return manifest?.generation === generationOf(hashes);
  } catch {
    // Rows that cannot be unpacked were not made by us.
    return false;
  }
}

/** Whether all files are those of a replacement that was cut off, and so ours. */
async function isInterrupted(folder: string, names: readonly string[]): Promise<boolean> {
  const journal = await readJson(join(folder, STAGING, JOURNAL));
  if (!Array.isArray(journal)) return false;
  for (const name of names) if (!journal.includes(await hashOf(join(folder, name)))) return false;
  return true;
}

/** Checks that a snapshot may be put into a folder; returns the names of the files to be replaced. */
async function replaceable(folder: string, force: boolean): Promise<readonly string[]> {
  const names = (await readdir(folder)).filter((name) => name !== STAGING);
  if (names.length === 0) return names;
  if (!force) throw new OccupiedError("is not empty; --force replaces a snapshot that this command made");
  const known: readonly string[] = [MANIFEST, ...ROW_FILES, ...ROW_FILES.map((file) => `${file}.gz`)];
  const foreign = names.find((name) => !known.includes(name));
  if (foreign !== undefined) throw new OccupiedError(`holds ${foreign}, which this command did not make`);
  if ((await isInterrupted(folder, names)) || (await isGenerated(folder, names))) return names;
  throw new OccupiedError("holds rows that this command did not make, or that were changed since");
}

/**
 * Puts a snapshot into a folder, made when missing. All files are complete before the first is put in its place, and the
 * manifest comes last, so that a reader sees a whole snapshot, old or new, or one that contradicts its manifest or lacks
 * files. When the process is killed meanwhile, the next call can finish the job.
 *
 * @param force whether a snapshot that was made like this, and not changed since, may be replaced
 * @param write writes the row files and the manifest into a folder that is empty, and returns the hex SHA-256 of each
 * @throws {OccupiedError} when the folder holds anything else; nothing was changed then
 */
export async function fillFolder(
  folder: string,
  force: boolean,
  write: (staging: string) => Promise<readonly string[]>,
): Promise<void> {
  await makeFolder(folder);
  const old = await replaceable(folder, force);
  const staging = join(folder, STAGING);
  await rm(staging, { recursive: true, force: true });
  await mkdir(staging);
  try {
    const written = await write(staging);
    const replaced = await Promise.all(old.map((name) => hashOf(join(folder, name))));
    await writeFile(join(staging, JOURNAL), JSON.stringify([...replaced, ...written]));
  } catch (error) {
    await rm(staging, { recursive: true, force: true });
    throw error;
  }
  const made = (await readdir(staging)).filter((name) => name !== JOURNAL && name !== MANIFEST);
  for (const name of made) await rename(join(staging, name), join(folder, name));
  const surplus = old.filter((name) => name !== MANIFEST && !made.includes(name));
  for (const name of surplus) await rm(join(folder, name), { force: true });
  await rename(join(staging, MANIFEST), join(folder, MANIFEST));
  await rm(staging, { recursive: true, force: true });
}
