/**
 * The versions of something that is published: a folder each, below `DIR.versions`. Some earlier ones are kept, to be published
 * again; older ones are removed, and so is what killed processes left.
 */

import { randomBytes } from "node:crypto";
import { lstat, readdir, rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import { OWNER_ENDING, ownershipOf } from "./ownership.ts";

/** The name of a link on its way ends with it. */
export const LINK_ENDING = ".link";
/** A version's folder, its owner's mark or its link on the way: a time and a random number. Nothing else is ever removed. */
export const OURS = /^(\d{8}T\d{9}Z-[0-9a-f]{8})(\.owner|\.link)?$/;

/** A name that is younger than all before it. */
export function newName(): string {
  return `${new Date().toISOString().replace(/[-:.]/g, "")}-${randomBytes(4).toString("hex")}`;
}

/** The folder of the versions of a published folder. */
export function versionsOf(dir: string): string {
  return `${resolve(dir)}.versions`;
}

/** What lies in the folder of versions. */
export interface Versions {
  /** Names of versions that were completed, oldest first. */
  readonly complete: readonly string[];
  /** Names of those that a process was killed over. */
  readonly dead: readonly string[];
}

/** Whether there is something of that name, a broken link too. */
export async function isThere(path: string): Promise<boolean> {
  return (await lstat(path).catch(() => undefined)) !== undefined;
}

/** Lists them. @throws errors of the file system */
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

/** The newest of the names, among them one that must be. */
function newest(names: readonly string[], count: number, must: string | undefined): Set<string> {
  const others = names.filter((name) => name !== must);
  const isThere = must !== undefined && count > 0 && others.length < names.length;
  const room = count - (isThere ? 1 : 0);
  return new Set([...(isThere ? [must] : []), ...(room > 0 ? others.slice(-room) : [])]);
}

/** Removes one, and what stands beside it. */
export async function removeVersion(versions: string, name: string): Promise<void> {
  await rm(join(versions, name), { recursive: true, force: true });
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
  for (const name of dead) {
    if (name !== now) await removeVersion(versions, name);
    else
      for (const ending of [LINK_ENDING, OWNER_ENDING])
        await rm(join(versions, name + ending), { force: true });
  }
}
