/**
 * Files that are replaced in one step: the new file is complete on the disk under a temporary name (`FILE.`, 16 hex digits,
 * `.tmp`) before one rename puts it in the place of the old one. A kill at any moment leaves the old file or the new one.
 */

import { randomBytes } from "node:crypto";
import { chown, type FileHandle, open, readdir, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";

const TEMPORARY = /^(.+)\.[0-9a-f]{16}\.tmp$/;

export type Contents = string | ((handle: FileHandle) => Promise<void>);

export interface NewFileOptions {
  /** Permissions, whatever the umask says; 0666 without what the umask takes away when absent. */
  readonly mode?: number;
  /** Whether the owner of the old file stays, where this process may give files away; false when absent. */
  readonly keepsOwner?: boolean;
}

/** A file that is complete on the disk, but not in its place. */
export interface NewFile {
  /** Puts it in its place, and resolves when that would last over a power cut, where the system can say so. */
  readonly commit: () => Promise<void>;
  /** Removes it; never fails, and does nothing once it is in its place. */
  readonly discard: () => Promise<void>;
}

/** A new name beside a file, for the one that is to take its place. */
export function temporaryOf(file: string): string {
  return `${file}.${randomBytes(8).toString("hex")}.tmp`;
}

/** The file that a temporary file is to become; undefined for the name of any other file. */
export function targetOfTemporary(name: string): string | undefined {
  return TEMPORARY.exec(name)?.[1];
}

/** Removes temporary files of killed writers. @param leastAgeMs younger ones stay: their writer may live */
export async function removeLeftovers(file: string, leastAgeMs = 0): Promise<void> {
  for (const name of await readdir(dirname(file)).catch(() => [])) {
    if (targetOfTemporary(name) !== basename(file)) continue;
    const path = join(dirname(file), name);
    const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: Date.now() }));
    if (leastAgeMs === 0 || Date.now() - mtimeMs > leastAgeMs)
      await rm(path, { force: true }).catch(() => {});
  }
}

/** Brings a file, or the names in a folder, to the disk. @throws errors of the file system */
export async function syncToDisk(path: string): Promise<void> {
  const handle = await open(path, "r");
  await handle.sync().finally(() => handle.close());
}

/**
 * Writes the new file beside its place. One that was begun and failed is removed.
 *
 * @param file without symbolic links
 * @throws what `contents` throws; errors of the file system
 */
export async function writeNewFile(
  file: string,
  contents: Contents,
  { mode, keepsOwner = false }: NewFileOptions = {},
): Promise<NewFile> {
  const temporary = temporaryOf(file);
  const discard = (): Promise<void> => rm(temporary, { force: true }).catch(() => {});
  try {
    const handle = await open(temporary, "wx+", mode);
    try {
      // The mode given to open is cut by the umask.
      if (mode !== undefined) await handle.chmod(mode);
      await (typeof contents === "string" ? handle.writeFile(contents) : contents(handle));
      await handle.sync();
    } finally {
      await handle.close();
    }
    if (keepsOwner && process.getuid?.() === 0) {
      const old = await stat(file).catch(() => undefined);
      if (old !== undefined) await chown(temporary, old.uid, old.gid);
    }
  } catch (error) {
    await discard();
    throw error;
  }
  return {
    async commit() {
      await rename(temporary, file);
      await syncToDisk(dirname(file)).catch(() => {});
    },
    discard,
  };
}

export interface ReplaceOptions extends NewFileOptions {
  /** Called when the new file is complete on the disk; a throw leaves the old one. */
  readonly ready?: () => Promise<void>;
}

/**
 * Replaces a file, or makes it.
 *
 * @param file without symbolic links
 * @throws what `contents` and `ready` throw; errors of the file system. The old file stays then
 */
export async function replaceFile(
  file: string,
  contents: Contents,
  { ready, ...options }: ReplaceOptions = {},
): Promise<void> {
  const made = await writeNewFile(file, contents, options);
  try {
    await ready?.();
    await made.commit();
  } catch (error) {
    await made.discard();
    throw error;
  }
}
