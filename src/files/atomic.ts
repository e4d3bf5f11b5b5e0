/**
 * Atomic replacement of files: the new file is written and synced under a temporary name (`FILE.`, 16 hex digits, `.tmp`),
 * then renamed over the old one. A kill at any moment leaves the old file or the new one.
 */

import { randomBytes } from "node:crypto";
import type { BigIntStats } from "node:fs";
import { type FileHandle, open, readdir, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { problemText } from "../util/system-error.ts";
import { PlaceError } from "../util/user-error.ts";

const TEMPORARY = /^(.+)\.[0-9a-f]{16}\.tmp$/;

export type Contents = string | ((handle: FileHandle) => Promise<void>);

/** Permissions, owner and group, as read from the open old file: its folder may be another user's, who can swap it. */
type Access = Pick<BigIntStats, "mode" | "uid" | "gid">;

interface NewFileOptions {
  /** Permissions, regardless of the umask; when absent, 0666 minus the umask. */
  readonly mode?: number;
  /** The file whose permissions, owner and group the new one gets in place of `mode`. */
  readonly like?: Access | undefined;
}

/** A new temporary name beside a file, for its replacement. */
export function temporaryOf(file: string): string {
  return `${file}.${randomBytes(8).toString("hex")}.tmp`;
}

/** The name of the file that a temporary file will replace; undefined for any other name. */
export function targetOfTemporary(name: string): string | undefined {
  return TEMPORARY.exec(name)?.[1];
}

/** Removes temporary files of killed writers beside a file. */
export async function removeLeftovers(file: string): Promise<void> {
  const names = await readdir(dirname(file)).catch(() => []);
  for (const name of names) {
    if (targetOfTemporary(name) !== basename(file)) continue;
    await rm(join(dirname(file), name), { force: true }).catch(() => {});
  }
}

/** Syncs a file, or the names in a folder, to the disk. @throws errors of the file system */
export async function syncToDisk(path: string): Promise<void> {
  const handle = await open(path, "r");
  await handle.sync().finally(() => handle.close());
}

/** @throws {PlaceError} when this user must not give files to the owner or the group */
async function makeLike(handle: FileHandle, { mode, uid, gid }: Access): Promise<void> {
  const own = await handle.stat({ bigint: true });
  if (own.uid !== uid || own.gid !== gid) {
    await handle.chown(Number(uid), Number(gid)).catch((error: unknown) => {
      throw new PlaceError(`its owner and group cannot be kept: ${problemText(error)}`);
    });
  }
  await handle.chmod(Number(mode & 0o777n));
}

export type NewFile = Awaited<ReturnType<typeof writeNewFile>>;

/**
 * Writes the new file beside its place, complete on the disk; removes it on failure. Sets its access on the open file: another
 * user, who owns the folder, may move its name.
 * @param file without symbolic links
 * @throws {PlaceError} when the owner and group of `like` cannot be kept; errors of `contents` and of the file system
 */
export async function writeNewFile(file: string, contents: Contents, { mode, like }: NewFileOptions = {}) {
  const temporary = temporaryOf(file);
  /** Removes it; never fails, and does nothing after a commit. */
  const discard = (): Promise<void> => rm(temporary, { force: true }).catch(() => {});
  try {
    // "x" opens neither an existing file nor a link.
    const handle = await open(temporary, "wx+", like === undefined ? mode : 0o600);
    try {
      // The umask restricts the mode given to open.
      if (mode !== undefined && like === undefined) await handle.chmod(mode);
      await (typeof contents === "string" ? handle.writeFile(contents) : contents(handle));
      if (like !== undefined) await makeLike(handle, like);
      await handle.sync();
    } finally {
      await handle.close();
    }
  } catch (error) {
    await discard();
    throw error;
  }
  return {
    /** Renames it into place; resolves once that would survive a power cut, as far as the system can sync folders. */
    async commit(): Promise<void> {
      await rename(temporary, file);
      await syncToDisk(dirname(file)).catch(() => {});
    },
    discard,
  };
}

/**
 * Replaces or creates a file.
 * @param file without symbolic links
 * @param options `ready` is called when the new file is complete on the disk; if it throws, the old file stays
 * @throws errors of `contents`, of `ready` and of the file system; the old file then stays
 */
export async function replaceFile(
  file: string,
  contents: Contents,
  { ready, ...options }: NewFileOptions & { readonly ready?: () => Promise<void> } = {},
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
