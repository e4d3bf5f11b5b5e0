/**
 * Locks of files, for processes that share a disk and perhaps nothing else. The holder of a lock sets its time every second; a
 * lock that is ten seconds old was left by a process that died, so clocks must not differ by more.
 */

import { randomBytes } from "node:crypto";
import { lstatSync, lutimes, unlinkSync } from "node:fs";
import { open, rm } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { codeOf } from "../util/system-error.ts";
import { PlaceError } from "../util/user-error.ts";
import { readGiven } from "./given.ts";

/** Interval at which an owner sets the time of its lock or folder. */
const RENEW_MS = 1000;
/** Age at which a lock counts as left by a dead process. */
const STALE_MS = 10_000;
/** Shortest pause between two attempts; the longest is twice as long. */
const RETRY_MS = 15;
/** How long to wait for a live holder. */
const PATIENCE_MS = 60_000;

/** Another process took the lock while this one was stopped. */
class LostError extends Error {
  override name = "LostError";
}

/** Sets the time of a file or folder every second, which shows that its owner lives. @returns ends it */
export function keepRenewed(path: string): () => void {
  const renewal = setInterval(() => {
    const now = new Date();
    // Changes no file that a link leads to: the folder may be another user's.
    lutimes(path, now, now, () => {});
  }, RENEW_MS);
  renewal.unref();
  return () => clearInterval(renewal);
}

/** Whether a file or folder is there whose owner last renewed it too long ago. @throws errors of the file system */
export function isStale(path: string, staleMs: number): boolean {
  const found = lstatSync(path, { throwIfNoEntry: false });
  // A time in the future counts by its distance: the clock may have been set back.
  return found !== undefined && Math.abs(Date.now() - found.mtimeMs) > staleMs;
}

/** @throws errors of the file system, but not that the lock is gone */
function removeIfStale(lock: string): void {
  try {
    // Nothing comes between the check and the removal, so that no lock is removed that was just made.
    if (isStale(lock, STALE_MS)) unlinkSync(lock);
  } catch (error) {
    if (codeOf(error) !== "ENOENT") throw error;
  }
}

/** Takes a lock. @returns undefined if another process has it @throws errors of the file system */
async function take(lock: string) {
  const text = `${process.pid} ${randomBytes(8).toString("hex")}\n`;
  const handle = await open(lock, "wx").catch((error: unknown) => {
    if (codeOf(error) === "EEXIST") return undefined;
    throw error;
  });
  if (handle === undefined) return undefined;
  try {
    await handle.writeFile(text);
  } catch (error) {
    // An incomplete lock would count until it is stale.
    await rm(lock, { force: true }).catch(() => {});
    throw error;
  } finally {
    await handle.close();
  }
  const stop = keepRenewed(lock);
  const isHeld = async (): Promise<boolean> =>
    (await readGiven(lock).catch(() => undefined))?.bytes.toString() === text;
  return {
    async assertHeld(): Promise<void> {
      if (!(await isHeld())) throw new LostError();
    },
    /** Never fails. */
    async release(): Promise<void> {
      stop();
      if (await isHeld()) await rm(lock, { force: true }).catch(() => {});
    },
  };
}

/**
 * Runs a function under the lock of a file: `FILE.lock` beside it.
 * @param file path with links resolved, so that all processes take the same lock
 * @param run does the work; `assertHeld`, called right before the step that must not be done twice, throws if the lock was
 *   lost, and `run` begins anew
 * @throws {PlaceError} when others hold the lock for a minute; errors of the file system and of `run`
 */
export async function withLock<T>(
  file: string,
  run: (assertHeld: () => Promise<void>) => Promise<T>,
): Promise<T> {
  const lock = `${file}.lock`;
  for (let began = performance.now(); ; ) {
    const taken = await take(lock);
    if (taken !== undefined) {
      try {
        return await run(taken.assertHeld);
      } catch (error) {
        if (!(error instanceof LostError)) throw error;
        began = performance.now();
        continue;
      } finally {
        await taken.release();
      }
    }
    removeIfStale(lock);
    if (performance.now() - began >= PATIENCE_MS) {
      throw new PlaceError(`another command has been changing it for ${PATIENCE_MS / 1000} s (${lock})`);
    }
    await sleep(RETRY_MS * (1 + Math.random()));
  }
}
