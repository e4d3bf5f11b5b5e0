/**
 * Atomic replacement of files: the new file is written and synced under a temporary name (`FILE.`, 16 hex digits, `.tmp`),
 * then renamed over the old one. A kill at any moment leaves the old file or the new one.
 */

import { randomBytes } from "node:crypto";
import { chown, type FileHandle, open, readdir, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";

const TEMPORARY = /^(.+)\.[0-9a-f]{16}\.tmp$/;

export type Contents = string | ((handle: FileHandle) => Promise<void>);

interface NewFileOptions {
  /** Permissions, regardless of the umask; when absent, 0666 minus the umask. */
  readonly mode?: number;
  /** Whether the new file keeps the old one's owner and group, if this process is root; false when absent. */
  readonly keepsOwner?: boolean;
}

/** A new temporary name beside a file, for its replacement. */
export function temporaryOf(file: string): string {
  return `${file}.${randomBytes(8).toString("hex")}.tmp`;
}

/** The name of the file that a temporary file will replace; undefined for any other name. */
export function targetOfTemporary(name: string): string | undefined {
  return TEMPORARY.exec(name)?.[1];
}

/** Removes temporary files of killed writers. @param leastAgeMs younger files stay: their writer may be alive */
export async function removeLeftovers(file: string, leastAgeMs = 0): Promise<void> {
  for (const name of await readdir(dirname(file)).catch(() => [])) {
    if (targetOfTemporary(name) !== basename(file)) continue;
    const path = join(dirname(file), name);
    const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: Date.now() }));
    if (leastAgeMs === 0 || Date.now() - mtimeMs > leastAgeMs)
      await rm(path, { force: true }).catch(() => {});
  }
}

/** Syncs a file, or the names in a folder, to the disk. @throws errors of the file system */
export async function syncToDisk(path: string): Promise<void> {
  const handle = await open(path, "r");
  await handle.sync().finally(() => handle.close());
}

export type NewFile = Awaited<ReturnType<typeof writeNewFile>>;

/**
 * Writes the new file beside its place, complete on the disk; removes it on failure.
 *
 * @param file without symbolic links
 * @throws errors of `contents` and of the file system
 */
export async function writeNewFile(
  file: string,
  contents: Contents,
  { mode, keepsOwner = false }: NewFileOptions = {},
) {
  const temporary = temporaryOf(file);
  /** Removes it; never fails, and does nothing after a commit. */
  const discard = (): Promise<void> => rm(temporary, { force: true }).catch(() => {});
  try {
    const handle = await open(temporary, "wx+", mode);
    try {
      // The umask restricts the mode given to open.
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
 *
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
