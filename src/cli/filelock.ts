/**
 * A lock on a file, for processes that share its folder and perhaps nothing else: no process ids, which mean nothing in
 * another container. It is a folder beside the file whose time its holder renews; one that was not renewed for a while
 * has lost its holder and is removed by whoever comes next.
 */

import { mkdir, rmdir, stat, unlink } from "node:fs/promises";
import { lock as acquire } from "proper-lockfile";
import { codeOf } from "../system-error.ts";
import { CommandError } from "./options.ts";

/** How often a holder renews its lock. */
const HEARTBEAT_MS = 1000;
/** A lock whose time is further away than this has lost its holder. New ones are dated up to a second ahead. */
const STALE_MS = 5000;
/** Pause between two attempts, at least; at most twice as long. */
const RETRY_MS = 15;
/** A wait of more than this is told. */
const TELL_MS = 1000;
/** How long a holder that lives is waited for. */
const PATIENCE_MS = 60_000;

/** The lock was lost to another process while this one was stopped: what it was about to write is out of date. */
class LockLostError extends Error {
  override name = "LockLostError";
}

/** Throws unless the lock is still held; to be called right before what it protects. */
export type AssertHeld = () => Promise<void>;

function ignore(): void {}

/** Whether a lock is there and nobody renews it. Times ahead count too: the clock may have been set back. */
async function isStale(path: string): Promise<boolean> {
  const found = await stat(path).catch(ignore);
  return found !== undefined && Math.abs(Date.now() - found.mtimeMs) > STALE_MS;
}

async function removeLock(lock: string): Promise<void> {
  // Earlier versions made a file.
  const isFile = (await stat(lock).catch(ignore))?.isFile() === true;
  await (isFile ? unlink(lock) : rmdir(lock)).catch((error: unknown) => {
    if (codeOf(error) !== "ENOENT") throw error;
  });
}

/**
 * Removes a lock that is stale. One process at a time does so, and looks again first: of several that had seen it stale,
 * a late one would otherwise remove the lock that another has taken in the meantime.
 */
async function breakLock(lock: string): Promise<void> {
  const guard = guardOf(lock);
  try {
    await mkdir(guard);
  } catch (error) {
    if (codeOf(error) !== "EEXIST") throw error;
    if (await isStale(guard)) await rmdir(guard).catch(ignore);
    return;
  }
  try {
    if (await isStale(lock)) await removeLock(lock);
  } finally {
    await rmdir(guard).catch(ignore);
  }
}

function guardOf(lock: string): string {
  return `${lock}.breaking`;
}

/** What tells a lock from another of the same name. */
async function identityOf(lock: string): Promise<string> {
  const found = await stat(lock, { bigint: true }).catch(ignore);
  return found === undefined ? "" : `${found.dev}:${found.ino}:${found.birthtimeNs}`;
}

/** Takes the lock; resolves to what releases it. */
async function take(file: string, lock: string, tell: (text: string) => void): Promise<() => Promise<void>> {
  const began = performance.now();
  let told = false;
  for (;;) {
    try {
      return await acquire(file, {
        lockfilePath: lock,
        // The file may not exist yet, and links are followed before.
        realpath: false,
        update: HEARTBEAT_MS,
        // Never for the library: it breaks a stale lock without looking again.
        stale: Number.POSITIVE_INFINITY,
        // Whoever writes asks whether the lock is still held.
        onCompromised: ignore,
      });
    } catch (error) {
      if (codeOf(error) !== "ELOCKED") throw error;
    }
    if (await isStale(lock)) await breakLock(lock);
    const waited = performance.now() - began;
    if (waited > PATIENCE_MS) {
      throw new CommandError(
        `${file}: another command has been changing it for ${PATIENCE_MS / 1000} s (${lock})`,
      );
    }
    if (waited > TELL_MS && !told) {
      told = true;
      tell(
        `orrery: another command is changing ${file}; waiting (at most ${STALE_MS / 1000 + 1} s if it has died)\n`,
      );
    }
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS * (1 + Math.random())));
  }
}

/**
 * Runs something while no other process does the same for this file.
 *
 * @param file path without links, so that all mean the same lock: `FILE.lock` beside it
 * @param run does the work; begun anew when the lock was lost under way
 * @param tell receives a line when the lock has to be waited for
 * @throws {CommandError} when others hold the lock for a minute; errors of the file system; what `run` throws
 */
export async function withLock<T>(
  file: string,
  run: (assertHeld: AssertHeld) => Promise<T>,
  tell: (text: string) => void = ignore,
): Promise<T> {
  const lock = `${file}.lock`;
  for (;;) {
    const release = await take(file, lock, tell);
    const mine = await identityOf(lock);
    let lost = false;
    try {
      // Left by a process that was killed while it removed a lock.
      await rmdir(guardOf(lock)).catch(ignore);
      return await run(async () => {
        lost = (await identityOf(lock)) !== mine;
        if (lost) throw new LockLostError();
      });
    } catch (error) {
      if (!(error instanceof LockLostError)) throw error;
    } finally {
      // One that was lost is somebody else's now.
      if (!lost) await release().catch(ignore);
    }
  }
}
