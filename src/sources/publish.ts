/**
 * Publishing a snapshot so that its readers see a whole one, old or new: beside `DIR` stands a folder `DIR.versions` with a
 * folder per version, and `DIR` is a symbolic link to one of them, which one rename switches to the next.
 *
 * The version before is kept, since a reader may have it open; older ones are removed, and so is what killed processes left.
 */

import { randomBytes } from "node:crypto";
import { lstat, mkdir, readdir, readlink, rename, rm, rmdir, symlink } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { syncToDisk } from "../files/atomic.ts";
import { makeFolder } from "../files/folders.ts";
import { hold, OWNER_ENDING, ownershipOf } from "../files/ownership.ts";
import { codeOf } from "../util/system-error.ts";

/** The place is taken by what this program did not make; nothing was changed. */
export class OccupiedError extends Error {
  override name = "OccupiedError";
}

const LINK_ENDING = ".link";
/** A version's folder, its owner's mark or its link on the way: a time and a random number. Nothing else is ever removed. */
const OURS = /^(\d{8}T\d{9}Z-[0-9a-f]{8})(\.owner|\.link)?$/;

function newName(): string {
  return `${new Date().toISOString().replace(/[-:.]/g, "")}-${randomBytes(4).toString("hex")}`;
}

/** The folder of the versions of a published folder. */
export function versionsOf(dir: string): string {
  return `${resolve(dir)}.versions`;
}

/** The version's name that the link leads to; undefined where there is no link. @throws {OccupiedError} */
async function readCurrent(dir: string): Promise<string | undefined> {
  let target: string;
  try {
    target = await readlink(dir);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    // No link: an empty folder may be replaced by one, since nothing is lost.
    if (codeOf(error) !== "EINVAL") throw error;
    if (!(await lstat(dir)).isDirectory())
      throw new OccupiedError("is a file; it must be free for a symbolic link");
    if ((await readdir(dir)).length === 0) return undefined;
    throw new OccupiedError(
      "is a folder that this command did not make; it must be free for a symbolic link",
    );
  }
  const name = basename(target);
  if (resolve(dirname(dir), target) === join(versionsOf(dir), name) && OURS.test(name)) return name;
  throw new OccupiedError(`is a symbolic link that this command did not make: it leads to ${target}`);
}

/**
 * The folder of the version that is published now, for reading.
 *
 * @returns undefined when there is none
 * @throws {OccupiedError} when the place holds something else; errors of the file system
 */
export async function currentVersion(dir: string): Promise<string | undefined> {
  const name = await readCurrent(resolve(dir));
  return name === undefined ? undefined : join(versionsOf(dir), name);
}

/** What lies in the folder of versions. */
interface Versions {
  /** Names of versions that were completed, oldest first. */
  readonly complete: readonly string[];
  /** Names of those that a process was killed over. */
  readonly dead: readonly string[];
}

async function isThere(path: string): Promise<boolean> {
  return (await lstat(path).catch(() => undefined)) !== undefined;
}

async function listVersions(versions: string): Promise<Versions> {
  const entries = await readdir(versions);
  const names = new Set(entries.flatMap((entry) => OURS.exec(entry)?.[1] ?? []));
  const complete: string[] = [];
  const dead: string[] = [];
  for (const name of names) {
    const ownership = await ownershipOf(join(versions, name + OWNER_ENDING));
    // One that is given up loses its folder first and its mark then: without both it never was complete.
    if (ownership === "none" && (await isThere(join(versions, name)))) complete.push(name);
    else if (ownership === "dead") dead.push(name);
  }
  return { complete: complete.sort(), dead };
}

/**
 * Removes all versions but the current one, the one before it and those in the making.
 *
 * @param previous the one before, if it is known; else the newest
 */
async function prune(place: string, previous?: string): Promise<void> {
  const versions = versionsOf(place);
  const { complete, dead } = await listVersions(versions);
  // Behind the list: whatever is in it because another process published it was linked by then.
  const current = await readCurrent(place);
  const kept = previous ?? complete.findLast((name) => name !== current);
  const old = complete.filter((name) => name !== current && name !== kept);
  for (const name of [...old, ...dead]) {
    if (name !== current) await rm(join(versions, name), { recursive: true, force: true });
    for (const ending of [LINK_ENDING, OWNER_ENDING])
      await rm(join(versions, name + ending), { force: true });
  }
}

/** Brings a folder and its files to the disk. */
async function syncFolder(folder: string): Promise<void> {
  for (const entry of await readdir(folder)) await syncToDisk(join(folder, entry));
  await syncToDisk(folder);
}

/** Makes the link lead to another version, by one rename. */
async function switchLink(dir: string, folder: string): Promise<void> {
  await syncFolder(folder);
  const versions = dirname(folder);
  const link = folder + LINK_ENDING;
  await symlink(join(basename(versions), basename(folder)), link);
  try {
    await syncToDisk(versions);
    const there = await lstat(dir).catch(() => undefined);
    // Succeeds only where it is empty.
    if (there?.isDirectory()) await rmdir(dir);
    await rename(link, dir);
  } catch (error) {
    await rm(link, { force: true }).catch(() => {});
    throw error;
  }
}

/**
 * Makes a version and publishes it.
 *
 * Left-overs are removed first, so that they do not take the space of the new version. When `fill` rejects, or gives
 * undefined since there is nothing new, nothing is published and nothing is left. Any number of processes may publish to
 * one place: the last to be done wins.
 *
 * @param dir the place of the link; folders above it are made when missing
 * @param fill writes files, but no folders, into an empty folder. It is told the folder of the version that is published
 *   now, if there is one, which it must only read (a file may be taken over as a hard link)
 * @returns what `fill` gave
 * @throws {OccupiedError} when `dir` is neither free, nor an empty folder, nor a link that this function made; what `fill`
 *   throws; errors of the file system
 */
export async function publishVersion<Result>(
  dir: string,
  fill: (folder: string, current: string | undefined) => Promise<Result | undefined>,
): Promise<Result | undefined> {
  const place = resolve(dir);
  const versions = versionsOf(place);
  const before = await readCurrent(place);
  await makeFolder(versions);
  let isPublished = false;
  try {
    await prune(place);
    const folder = join(versions, newName());
    const { release } = await hold(folder + OWNER_ENDING);
    try {
      await mkdir(folder);
      const result = await fill(folder, before === undefined ? undefined : join(versions, before));
      if (result === undefined) return undefined;
      // Another process may have published meanwhile.
      const previous = await readCurrent(place);
      await switchLink(place, folder);
      isPublished = true;
      await syncToDisk(dirname(place));
      await release();
      await prune(place, previous);
      return result;
    } finally {
      if (!isPublished) await rm(folder, { recursive: true, force: true }).catch(() => {});
      await release();
    }
  } finally {
    // Fails where it holds anything.
    await rmdir(versions).catch(() => {});
  }
}
