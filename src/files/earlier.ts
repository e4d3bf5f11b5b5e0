/** Rollback to earlier versions, and versions of plain folders, where files are replaced one by one. */

import { link, lstat, mkdir, rename, rm, rmdir, stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import { syncToDisk, temporaryOf } from "./atomic.ts";
import { makeFolder } from "./folders.ts";
import { hold, OWNER_ENDING } from "./ownership.ts";
import {
  isThere,
  listVersions,
  newName,
  OccupiedError,
  prune,
  readCurrent,
  switchLink,
  versionsOf,
} from "./publish.ts";

async function inodeOf(path: string): Promise<string | undefined> {
  const found = await stat(path, { bigint: true }).catch(() => undefined);
  return found && `${found.dev}:${found.ino}`;
}

/** The version that a plain folder holds, found by the inode of the first file; undefined if no version has it. */
async function linkedVersion(place: string, names: readonly string[]): Promise<string | undefined> {
  const versions = versionsOf(place);
  const inode = await inodeOf(join(place, names[0]!));
  if (inode === undefined) return undefined;
  for (const name of await listComplete(versions)) {
    if ((await inodeOf(join(versions, name, names[0]!))) === inode) return name;
  }
  return undefined;
}

async function listComplete(versions: string): Promise<readonly string[]> {
  return (await isThere(versions)) ? (await listVersions(versions)).complete : [];
}

/**
 * Keeps the files of a plain folder as an earlier version, as hard links, before they are replaced.
 *
 * @param names of the files; the first one is in every version
 * @returns the version's name; undefined when there is nothing to keep
 * @throws errors of the file system
 */
export async function keepEarlier(
  dir: string,
  names: readonly string[],
  keep: number,
): Promise<string | undefined> {
  const place = resolve(dir);
  const versions = versionsOf(place);
  let kept = await linkedVersion(place, names);
  if (kept === undefined && keep > 0 && (await isThere(join(place, names[0]!)))) {
    await makeFolder(versions);
    const name = newName();
    const { release } = await hold(join(versions, name) + OWNER_ENDING);
    try {
      await mkdir(join(versions, name));
      for (const file of names) {
        const from = join(place, file);
        if (await isThere(from)) await link(from, join(versions, name, file));
      }
      kept = name;
    } finally {
      if (kept === undefined) await rm(join(versions, name), { recursive: true, force: true });
      await release();
    }
  }
  if (await isThere(versions)) {
    await prune(versions, keep, async () => undefined, kept);
    await rmdir(versions).catch(() => {});
  }
  return kept;
}

/** Replaces a plain folder's files by links to a version's. A kill at any moment leaves files that fit together. */
async function linkFiles(place: string, folder: string, names: readonly string[]): Promise<void> {
  const [first, ...others] = names;
  for (const name of others) await rm(join(place, name), { force: true });
  for (const name of [first!, ...others]) {
    if (!(await isThere(join(folder, name)))) continue;
    const temporary = temporaryOf(join(place, name));
    await link(join(folder, name), temporary);
    await rename(temporary, join(place, name));
  }
  await syncToDisk(place);
}

/**
 * Finds a version that was published before the current one.
 *
 * @param dir a link that {@link publishVersion} made, or a plain folder with versions that {@link keepEarlier} keeps
 * @param steps versions to go back; 1 is the previous one
 * @param names of the files in a plain folder
 * @returns the version and its folder; the number of earlier versions if `steps` exceeds it
 * @throws {OccupiedError} when `dir` is neither; errors of the file system
 */
export async function findEarlier(dir: string, steps: number, names: readonly string[]) {
  const place = resolve(dir);
  const versions = versionsOf(place);
  const isLink = (await lstat(place)).isSymbolicLink();
  if (!isLink && !(await isThere(join(place, names[0]!))))
    throw new OccupiedError("is nothing that export, mirror or build has published");
  // Adds the current files of a plain folder to its versions, if they are not among them.
  const current = isLink
    ? await readCurrent(place)
    : await keepEarlier(place, names, Number.MAX_SAFE_INTEGER);
  const earlier = (await listComplete(versions)).filter((name) => name < current!);
  const name = earlier.at(-steps);
  if (name === undefined) return earlier.length;
  const folder = join(versions, name);
  return {
    folder,
    /** Number of versions that are older still. */
    older: earlier.length - steps,
    /** Publishes the version. @throws errors of the file system */
    publish: () => (isLink ? switchLink(place, folder) : linkFiles(place, folder, names)),
  };
}
