/**
 * Atomic publication of snapshots: readers see a whole one, old or new. The folder `DIR.versions` holds a folder per version,
 * and `DIR` is a symbolic link to one of them, which one rename switches to the next. If `DIR` is a plain folder, where files are
 * replaced one by one, the versions are hard links to its files.
 *
 * Some earlier versions stay, so that one can be published again by that link; older ones are removed, as are leftovers of killed processes.
 */

import { randomBytes } from "node:crypto";
import { link, lstat, mkdir, readdir, readlink, rename, rm, rmdir, stat, symlink } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { codeOf } from "../util/system-error.ts";
import { PlaceError } from "../util/told-error.ts";
import { syncToDisk } from "./atomic.ts";
import { claimFolder, makeFolder } from "./folders.ts";
import { hold, OWNER_ENDING, ownershipOf } from "./ownership.ts";

/** Number of earlier versions that stay beside a published one. */
export const EARLIER_VERSIONS = 3;

/** Ending of the name of a link before it is renamed into place. */
const LINK_ENDING = ".link";
/** A version's folder (a time and a random number), its owner's mark or its new link. Nothing else is ever removed. */
const OURS = /^(\d{8}T\d{9}Z-[0-9a-f]{8})(\.owner|\.link)?$/;

/** A new version name; names sort by time. */
function newName(): string {
  return `${new Date().toISOString().replace(/[-:.]/g, "")}-${randomBytes(4).toString("hex")}`;
}

export function versionsOf(dir: string): string {
  return `${resolve(dir)}.versions`;
}

/** Whether a path exists, if only as a broken link. */
async function isThere(path: string): Promise<boolean> {
  return (await lstat(path).catch(() => undefined)) !== undefined;
}

/** Names of versions: complete ones, oldest first, and ones with the mark of a dead process. @throws errors of the file system */
async function listVersions(versions: string) {
  const entries = (await isThere(versions)) ? await readdir(versions) : [];
  const names = new Set(entries.flatMap((entry) => OURS.exec(entry)?.[1] ?? []));
  const complete: string[] = [];
  const dead: string[] = [];
  for (const name of names) {
    const ownership = await ownershipOf(join(versions, name + OWNER_ENDING));
    // An abandoned version loses its folder first, then its mark: without both it never was complete.
    if (ownership === "none" && (await isThere(join(versions, name)))) complete.push(name);
    else if (ownership === "dead") dead.push(name);
  }
  return { complete: complete.sort(), dead };
}

async function removeVersion(versions: string, name: string): Promise<void> {
  await rm(join(versions, name), { recursive: true, force: true });
  await removeMarks(versions, name);
}

async function removeMarks(versions: string, name: string): Promise<void> {
  for (const ending of [LINK_ENDING, OWNER_ENDING]) await rm(join(versions, name + ending), { force: true });
}

/** Whether a folder holds the data that are being published. */
type IsSame = (folder: string) => Promise<boolean>;

interface Keeping {
  /** Number of earlier versions to keep. */
  readonly keep: number;
  /** Reads the current version after the listing, so that one published meanwhile is not removed. */
  readonly current: () => Promise<string | undefined>;
  /** Version to keep first, if any is kept. */
  readonly previous?: string | undefined;
  readonly isSame?: IsSame | undefined;
}

/** Removes all versions but the current one, `keep` others with other data, and versions that are being made. */
async function prune(versions: string, { keep, current, previous, isSame }: Keeping): Promise<void> {
  const { complete, dead } = await listVersions(versions);
  const now = await current();
  const others: string[] = [];
  for (const name of complete) {
    if (name === now) continue;
    if (await isSame?.(join(versions, name))) await removeVersion(versions, name);
    else others.push(name);
  }
  // Oldest first; the previous version counts as the newest.
  if (previous !== undefined && others.includes(previous))
    others.push(...others.splice(others.indexOf(previous), 1));
  for (const name of others.slice(0, Math.max(0, others.length - keep))) await removeVersion(versions, name);
  for (const name of dead) await (name === now ? removeMarks : removeVersion)(versions, name);
}

/** This program did not make the file, folder or link in the place; nothing was changed. */
export class OccupiedError extends PlaceError {
  override name = "OccupiedError";
}

/** Name of the version that the link leads to; undefined where there is no link. @throws {OccupiedError} */
async function readCurrent(dir: string): Promise<string | undefined> {
  let target: string;
  try {
    target = await readlink(dir);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    // Not a link. One may replace an empty folder, since nothing is lost.
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

/** The folder of the published version, if any. @throws {OccupiedError} when the place holds something else; errors of the file system */
export async function currentVersion(dir: string): Promise<string | undefined> {
  const name = await readCurrent(resolve(dir));
  return name === undefined ? undefined : join(versionsOf(dir), name);
}

async function syncFolder(folder: string): Promise<void> {
  for (const entry of await readdir(folder)) await syncToDisk(join(folder, entry));
  await syncToDisk(folder);
}

/** Switches the link to another version, by one rename. */
async function switchLink(dir: string, folder: string): Promise<void> {
  await syncFolder(folder);
  const versions = dirname(folder);
  const next = folder + LINK_ENDING;
  // A killed process may have left one.
  await rm(next, { force: true });
  await symlink(join(basename(versions), basename(folder)), next);
  try {
    await syncToDisk(versions);
    const there = await lstat(dir).catch(() => undefined);
    // Succeeds only if it is empty.
    if (there?.isDirectory()) await rmdir(dir);
    await rename(next, dir);
  } catch (error) {
    await rm(next, { force: true }).catch(() => {});
    throw error;
  }
}

/** Makes a version. @param fill writes its files; it stays unless this fails or resolves to undefined @returns the result of `fill` */
async function makeVersion<Result>(
  versions: string,
  fill: (folder: string) => Promise<Result | undefined>,
): Promise<Result | undefined> {
  const folder = join(versions, newName());
  const { release } = await hold(folder + OWNER_ENDING);
  let result: Result | undefined;
  try {
    await mkdir(folder);
    result = await fill(folder);
    return result;
  } finally {
    if (result === undefined) await rm(folder, { recursive: true, force: true }).catch(() => {});
    await release();
  }
}

/**
 * Makes a version and publishes it.
 *
 * Leftovers are removed first, to make space for the new version. When `fill` rejects, or resolves to undefined because
 * nothing is new, nothing is published and nothing is left over. Any number of processes may publish to one place: the last
 * to finish wins.
 *
 * @param dir the place of the link; folders above it are made when missing
 * @param fill writes files, but no folders, into an empty folder. It also receives the folder of the published version, if
 *   any, which it must only read (it may hard-link files from there)
 * @param options `keep` is the number of earlier versions to keep; when absent 1, since a reader may have it open. `replaces` tells
 *   whether the version replaces the one that it was made from, which is then removed. `isSame` is asked after `fill`: earlier
 *   versions with the new data are removed, so that all kept versions differ
 * @returns the result of `fill`
 * @throws {OccupiedError} when `dir` is neither free, nor an empty folder, nor a link that this function made; errors of
 *   `fill` and of the file system
 */
export async function publishVersion<Result>(
  dir: string,
  fill: (folder: string, current: string | undefined) => Promise<Result | undefined>,
  {
    keep = 1,
    replaces = false,
    isSame,
  }: { readonly keep?: number | undefined; readonly replaces?: boolean; readonly isSame?: IsSame } = {},
): Promise<Result | undefined> {
  const place = resolve(dir);
  const versions = versionsOf(place);
  const current = (): Promise<string | undefined> => readCurrent(place);
  const before = await current();
  const unclaim = await claimFolder(versions);
  try {
    await prune(versions, { keep, current });
    const published = await makeVersion(versions, async (folder) => {
      const result = await fill(folder, before === undefined ? undefined : join(versions, before));
      if (result === undefined) return undefined;
      // Another process may have published meanwhile.
      const previous = await current();
      await switchLink(place, folder);
      return { result, previous };
    });
    if (published === undefined) return undefined;
    await syncToDisk(dirname(place));
    if (replaces && before !== undefined) await removeVersion(versions, before);
    await prune(versions, { keep, current, previous: replaces ? undefined : published.previous, isSame });
    return published.result;
  } finally {
    // These fail unless a folder is empty.
    await rmdir(versions).catch(() => {});
    await unclaim();
  }
}

async function inodeOf(path: string): Promise<string | undefined> {
  const found = await stat(path, { bigint: true }).catch(() => undefined);
  return found && `${found.dev}:${found.ino}`;
}

/** The version with the file that a plain folder holds; undefined if no version has it. */
async function linkedVersion(place: string, file: string): Promise<string | undefined> {
  const versions = versionsOf(place);
  const inode = await inodeOf(join(place, file));
  if (inode === undefined) return undefined;
  const { complete } = await listVersions(versions);
  for (const name of complete) if ((await inodeOf(join(versions, name, file))) === inode) return name;
  return undefined;
}

/**
 * Keeps the files of a plain folder as an earlier version, as hard links, before they are replaced.
 *
 * @param names of the files; the first one is in every version
 * @param isSame the new files may hold the data of the present ones or of an earlier version, which is then not kept
 * @throws errors of the file system
 */
export async function keepEarlier(dir: string, names: readonly string[], isSame?: IsSame): Promise<void> {
  const place = resolve(dir);
  const versions = versionsOf(place);
  let kept = await linkedVersion(place, names[0]!);
  try {
    const isNew = kept === undefined && (await isThere(join(place, names[0]!)));
    if (isNew && !(await isSame?.(place))) {
      await makeFolder(versions);
      kept = await makeVersion(versions, async (folder) => {
        for (const name of names) {
          const from = join(place, name);
          if (await isThere(from)) await link(from, join(folder, name));
        }
        return basename(folder);
      });
    }
    await prune(versions, {
      keep: EARLIER_VERSIONS,
      current: async () => undefined,
      previous: kept,
      isSame,
    });
  } finally {
    // Fails unless it is empty.
    await rmdir(versions).catch(() => {});
  }
}
