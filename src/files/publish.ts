/**
 * Atomic publication of snapshots: readers see a whole one, old or new. The folder `DIR.versions` holds a folder per version,
 * and `DIR` is a symbolic link to one of them, which one rename switches to the next. A version is filled under a name of its
 * own (`NAME.partial`), and renamed when it is complete. Some earlier versions stay, to be published again by that link.
 */

import { randomBytes } from "node:crypto";
import { lstat, mkdir, readdir, readlink, rename, rm, rmdir, symlink } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { codeOf } from "../util/system-error.ts";
import { PlaceError } from "../util/user-error.ts";
import { syncToDisk } from "./atomic.ts";
import { claimFolder } from "./folders.ts";
import { isStale, keepRenewed, withLock } from "./lock.ts";

/** Number of earlier versions that stay beside a published one. */
export const EARLIER_VERSIONS = 3;

/** A version's folder (a time and a random number), before and after it is complete. Nothing else is ever removed. */
const OURS = /^\d{8}T\d{9}Z-[0-9a-f]{8}(\.partial)?$/;
const PARTIAL = ".partial";
/** Age at which a folder that is not renewed counts as left by a dead process. */
const STALE_MS = 120_000;

function newName(): string {
  return `${new Date().toISOString().replace(/[-:.]/g, "")}-${randomBytes(4).toString("hex")}`;
}

export function versionsOf(dir: string): string {
  return `${resolve(dir)}.versions`;
}

/** The folders of complete versions, oldest first, or of those that are being made. */
async function foldersIn(versions: string, isPartial: boolean): Promise<string[]> {
  const names = (await readdir(versions)).filter((name) => OURS.test(name));
  const some = names.filter((name) => name.endsWith(PARTIAL) === isPartial).sort();
  return some.map((name) => join(versions, name));
}

interface Keeping {
  readonly keep: number;
  /** Whether a folder holds the data that are being published. */
  readonly isSame?: ((folder: string) => Promise<boolean>) | undefined;
}

/** Removes all versions but the current one and `keep` others with other data, of which the previous one counts as the newest. */
async function prune(
  current: string,
  previous: string | undefined,
  { keep, isSame }: Keeping,
): Promise<void> {
  const folders = await foldersIn(dirname(current), false);
  const others = folders.filter((folder) => folder !== current).reverse();
  others.sort((a, b) => Number(b === previous) - Number(a === previous));
  let kept = 0;
  for (const folder of others) {
    if (kept < keep && !(await isSame?.(folder))) kept++;
    else await rm(folder, { recursive: true, force: true });
  }
}

/** This program did not make the file, folder or link in the place; nothing was changed. */
export class OccupiedError extends PlaceError {
  override name = "OccupiedError";
}

/** The folder of the published version, if any. @throws {OccupiedError} when the place holds something else; errors of the file system */
export async function currentVersion(dir: string): Promise<string | undefined> {
  const place = resolve(dir);
  let target: string;
  try {
    target = await readlink(place);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    // Not a link. One may replace an empty folder, since nothing is lost.
    if (codeOf(error) !== "EINVAL") throw error;
    if (!(await lstat(place)).isDirectory())
      throw new OccupiedError("is a file; it must be free for a symbolic link");
    if ((await readdir(place)).length === 0) return undefined;
    throw new OccupiedError(
      "is a folder that this command did not make; it must be free for a symbolic link",
    );
  }
  const name = basename(target);
  const folder = join(versionsOf(place), name);
  if (resolve(dirname(place), target) === folder && OURS.test(name)) return folder;
  throw new OccupiedError(`is a symbolic link that this command did not make: it leads to ${target}`);
}

async function switchLink(place: string, folder: string): Promise<void> {
  const versions = dirname(folder);
  const next = join(versions, "next");
  // A killed process may have left one.
  await rm(next, { force: true });
  await symlink(join(basename(versions), basename(folder)), next);
  try {
    await syncToDisk(versions);
    const there = await lstat(place).catch(() => undefined);
    // Succeeds only if it is empty.
    if (there?.isDirectory()) await rmdir(place);
    await rename(next, place);
  } catch (error) {
    await rm(next, { force: true }).catch(() => {});
    throw error;
  }
  await syncToDisk(dirname(place));
}

/**
 * Makes a version and publishes it. Leftovers of killed processes are removed first, to make space. When `fill` rejects, or finds
 * nothing new, nothing is published and nothing is left over. Any number of processes may publish to one place: the last wins.
 * @param dir the place of the link; folders above it are made when missing
 * @param fill writes files, but no folders, into an empty folder; resolves to undefined if nothing is new. It also receives the
 *   folder of the published version, if any, which it must only read (it may hard-link files from there)
 * @param keeping `keep` is the number of earlier versions to keep; when absent 1, since a reader may have it open. `isSame` is
 *   asked after `fill`: earlier versions with the new data are removed, so that all kept versions differ
 * @returns the published folder and the result of `fill`
 * @throws {OccupiedError} when `dir` is neither free, nor an empty folder, nor a link of this function; errors of `fill` and of
 *   the file system
 */
export async function publishVersion<Result>(
  dir: string,
  fill: (folder: string, current: string | undefined) => Promise<Result | undefined>,
  keeping: Keeping = { keep: 1 },
): Promise<{ readonly folder: string; readonly result: Result } | undefined> {
  const place = resolve(dir);
  const versions = versionsOf(place);
  const current = await currentVersion(place);
  const unclaim = await claimFolder(versions);
  const partial = join(versions, newName() + PARTIAL);
  const stopRenewing = keepRenewed(partial);
  try {
    // Versions that killed processes began.
    for (const begun of await foldersIn(versions, true))
      if (isStale(begun, STALE_MS)) await rm(begun, { recursive: true, force: true });
    await mkdir(partial);
    const result = await fill(partial, current);
    if (result === undefined) return undefined;
    for (const name of await readdir(partial)) await syncToDisk(join(partial, name));
    await syncToDisk(partial);
    return await withLock(join(versions, "publish"), async () => {
      // Another process may have published meanwhile.
      const previous = await currentVersion(place);
      const folder = join(versions, newName());
      await rename(partial, folder);
      await switchLink(place, folder).catch(async (error: unknown) => {
        await rm(folder, { recursive: true, force: true });
        throw error;
      });
      await prune(folder, previous, keeping);
      return { folder, result };
    });
  } finally {
    stopRenewing();
    await rm(partial, { recursive: true, force: true }).catch(() => {});
    // These fail unless a folder is empty.
    await rmdir(versions).catch(() => {});
    await unclaim();
  }
}

/** Removes the link to a version, unless another process has published meanwhile. @throws errors of the file system */
export async function unpublishVersion(dir: string, folder: string): Promise<void> {
  const place = resolve(dir);
  await withLock(join(versionsOf(place), "publish"), async () => {
    if ((await currentVersion(place)) === folder) await rm(place);
  });
}
