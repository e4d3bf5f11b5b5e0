/**
 * Publishing a snapshot so that its readers see a whole one, old or new: beside `DIR` stands a folder `DIR.versions` with a
 * folder per version, and `DIR` is a symbolic link to one of them, which one rename switches to the next.
 *
 * Some earlier versions are kept, to be published again; older ones are removed, and so is what killed processes left.
 */

import { randomBytes } from "node:crypto";
import { lstat, mkdir, readdir, readlink, rename, rm, rmdir, symlink } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { codeOf } from "../util/system-error.ts";
import { syncToDisk } from "./atomic.ts";
import { makeFolder } from "./folders.ts";
import { hold, OWNER_ENDING, ownershipOf } from "./ownership.ts";

/** The name of a link on its way ends with it. */
const LINK_ENDING = ".link";
/** A version's folder, its owner's mark or its link on the way: a time and a random number. Nothing else is ever removed. */
const OURS = /^(\d{8}T\d{9}Z-[0-9a-f]{8})(\.owner|\.link)?$/;

/** A name that is younger than all before it. */
export function newName(): string {
  return `${new Date().toISOString().replace(/[-:.]/g, "")}-${randomBytes(4).toString("hex")}`;
}

/** The folder of the versions of a published folder. */
export function versionsOf(dir: string): string {
  return `${resolve(dir)}.versions`;
}

interface Versions {
  /** Names of versions that were completed, oldest first. */
  readonly complete: readonly string[];
  /** Names of versions over which a process was killed. */
  readonly dead: readonly string[];
}

/** Whether there is something of that name, a broken link too. */
export async function isThere(path: string): Promise<boolean> {
  return (await lstat(path).catch(() => undefined)) !== undefined;
}

/** @throws errors of the file system */
export async function listVersions(versions: string): Promise<Versions> {
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

/** The newest of the names, oldest first; one of them before all others. */
function newest(names: readonly string[], count: number, first: string | undefined): Set<string> {
  const order = [...names.filter((name) => name !== first), ...names.filter((name) => name === first)];
  return new Set(order.slice(Math.max(0, order.length - count)));
}

async function removeVersion(versions: string, name: string): Promise<void> {
  await rm(join(versions, name), { recursive: true, force: true });
  await removeMarks(versions, name);
}

async function removeMarks(versions: string, name: string): Promise<void> {
  for (const ending of [LINK_ENDING, OWNER_ENDING]) await rm(join(versions, name + ending), { force: true });
}

/**
 * Removes versions, but not the current one, `keep` others and those in the making.
 *
 * @param current tells the current one when the others are listed: what another process published by then is among them
 * @param previous one that is kept in any case, if any is
 */
export async function prune(
  versions: string,
  keep: number,
  current: () => Promise<string | undefined>,
  previous?: string,
): Promise<void> {
  const { complete, dead } = await listVersions(versions);
  const now = await current();
  const others = complete.filter((name) => name !== now);
  const kept = newest(others, keep, previous);
  for (const name of others) if (!kept.has(name)) await removeVersion(versions, name);
  for (const name of dead) await (name === now ? removeMarks : removeVersion)(versions, name);
}

/** The place is taken by what this program did not make; nothing was changed. */
export class OccupiedError extends Error {
  override name = "OccupiedError";
}

/** The version's name that the link leads to; undefined where there is no link. @throws {OccupiedError} */
export async function readCurrent(dir: string): Promise<string | undefined> {
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

/** The folder of the published version, if any. @throws {OccupiedError} when the place holds something else; errors of the file system */
export async function currentVersion(dir: string): Promise<string | undefined> {
  const name = await readCurrent(resolve(dir));
  return name === undefined ? undefined : join(versionsOf(dir), name);
}

async function syncFolder(folder: string): Promise<void> {
  for (const entry of await readdir(folder)) await syncToDisk(join(folder, entry));
  await syncToDisk(folder);
}

/** Makes the link lead to another version, by one rename. */
export async function switchLink(dir: string, folder: string): Promise<void> {
  await syncFolder(folder);
  const versions = dirname(folder);
  const next = folder + LINK_ENDING;
  // A process may have been killed over it.
  await rm(next, { force: true });
  await symlink(join(basename(versions), basename(folder)), next);
  try {
    await syncToDisk(versions);
    const there = await lstat(dir).catch(() => undefined);
    // Succeeds only where it is empty.
    if (there?.isDirectory()) await rmdir(dir);
    await rename(next, dir);
  } catch (error) {
    await rm(next, { force: true }).catch(() => {});
    throw error;
  }
}

/** The one before: a reader may have it open. */
const KEEP = 1;

export interface PublishOptions {
  /** How many earlier versions are kept; 1 when absent. */
  readonly keep?: number | undefined;
  /** Whether it takes the place of the version that it was made from, which is then no earlier one. */
  readonly replaces?: boolean;
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
  { keep = KEEP, replaces = false }: PublishOptions = {},
): Promise<Result | undefined> {
  const place = resolve(dir);
  const versions = versionsOf(place);
  const current = (): Promise<string | undefined> => readCurrent(place);
  const before = await current();
  await makeFolder(versions);
  let isPublished = false;
  try {
    await prune(versions, keep, current);
    const folder = join(versions, newName());
    const { release } = await hold(folder + OWNER_ENDING);
    try {
      await mkdir(folder);
      const result = await fill(folder, before === undefined ? undefined : join(versions, before));
      if (result === undefined) return undefined;
      // Another process may have published meanwhile.
      const previous = await current();
      await switchLink(place, folder);
      isPublished = true;
      await syncToDisk(dirname(place));
      await release();
      if (replaces && before !== undefined) await removeVersion(versions, before);
      await prune(versions, keep, current, replaces ? undefined : previous);
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
