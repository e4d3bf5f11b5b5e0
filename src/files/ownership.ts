/**
 * Ownership of files and folders, for processes that share a disk and perhaps nothing else. A mark beside a file names the
 * process that owns it. Within one space of process ids the mark of a dead process is void; from another container or machine
 * a mark is valid as long as its owner renews it.
 */

import { randomBytes } from "node:crypto";
import { lutimes, readFileSync, readlinkSync } from "node:fs";
import { lstat, mkdir, open, rm, rmdir, stat } from "node:fs/promises";
import { hostname } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { isObject } from "../util/json.ts";
import { codeOf } from "../util/system-error.ts";
import { PlaceError } from "../util/told-error.ts";
import { readGiven } from "./given.ts";

/** Ending of the name of a folder's mark. */
export const OWNER_ENDING = ".owner";

/** Interval at which an owner renews its mark. */
const RENEW_MS = 1000;
/** Age at which a mark counts as abandoned; a slow owner notices the loss itself. */
const STALE_MS = 120_000;
/** A guard is held for a few system calls; an older one was left by a killed process. */
const STALE_GUARD_MS = 5000;
/** Shortest pause between two attempts; the longest is twice as long. */
const RETRY_MS = 15;

export class HeldError extends PlaceError {
  override name = "HeldError";
}

/** The mark was taken by another process while this one was stopped. */
class LostError extends Error {
  override name = "LostError";
}

function readOr(read: () => string): string {
  try {
    return read().trim();
  } catch {
    return "";
  }
}

/** Identifies the space of process ids of this process: the boot and the pid namespace. */
function spaceOfProcesses(): string {
  const boot = readOr(() => readFileSync("/proc/sys/kernel/random/boot_id", "utf8"));
  return `${boot || hostname()} ${readOr(() => readlinkSync("/proc/self/ns/pid"))}`;
}

/** Start time of a process, to tell it from a later one with the same id; empty when unknown. */
function beginOf(pid: number): string {
  const line = readOr(() => readFileSync(`/proc/${pid}/stat`, "utf8"));
  // The name, in parentheses, may hold anything; the 20th field after it is the start time.
  return line.slice(line.lastIndexOf(")") + 2).split(" ")[19] ?? "";
}

function isAlive(pid: number, begin: string): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if (codeOf(error) !== "EPERM") return false;
  }
  return beginOf(pid) === begin;
}

/** The owner of a marked file or folder: none, a live process, or a dead one. */
type Ownership = "none" | "living" | "dead";

/** Reads a mark. @throws errors of the file system */
export async function ownershipOf(mark: string, staleMs = STALE_MS): Promise<Ownership> {
  try {
    // A time in the future counts by its distance: the clock may have been set back.
    // A link that leads nowhere is a mark, too: none can be made in its place.
    const age = Math.abs(Date.now() - (await lstat(mark)).mtimeMs);
    // Undefined for a mark that is still being written, or a folder, as earlier versions made it.
    const value = await readGiven(mark)
      .then(({ bytes }): unknown => JSON.parse(bytes.toString()))
      .catch(() => undefined);
    if (isObject(value) && value.space === spaceOfProcesses() && typeof value.pid === "number")
      return isAlive(value.pid, String(value.begin)) ? "living" : "dead";
    return age < staleMs ? "living" : "dead";
  } catch (error) {
    if (codeOf(error) === "ENOENT") return "none";
    throw error;
  }
}

async function removeMark(mark: string): Promise<void> {
  const isFolder = (await lstat(mark).catch(() => undefined))?.isDirectory() === true;
  await (isFolder ? rmdir(mark) : rm(mark, { force: true })).catch((error: unknown) => {
    if (codeOf(error) !== "ENOENT") throw error;
  });
}

const guardOf = (mark: string): string => `${mark}.breaking`;

/**
 * Removes the mark of a dead process. One process at a time does so, and checks again first: a late one would otherwise remove
 * the mark that another process has made meanwhile.
 */
async function removeDead(mark: string, staleMs: number): Promise<void> {
  const guard = guardOf(mark);
  try {
    await mkdir(guard);
  } catch (error) {
    if (codeOf(error) !== "EEXIST") throw error;
    const { mtimeMs } = await stat(guard).catch(() => ({ mtimeMs: Date.now() }));
    if (Math.abs(Date.now() - mtimeMs) > STALE_GUARD_MS) await rmdir(guard).catch(() => {});
    return;
  }
  try {
    if ((await ownershipOf(mark, staleMs)) === "dead") await removeMark(mark);
  } finally {
    await rmdir(guard).catch(() => {});
  }
}

/** Makes the mark. @throws an error with the code EEXIST where one exists; other errors of the file system */
async function claim(mark: string) {
  const { pid } = process;
  // Distinguishes it from other marks of this process.
  const number = randomBytes(8).toString("hex");
  const text = JSON.stringify({ space: spaceOfProcesses(), pid, begin: beginOf(pid), number });
  const handle = await open(mark, "wx");
  try {
    await handle.writeFile(text);
  } catch (error) {
    // An incomplete mark would count until it is stale.
    await rm(mark, { force: true }).catch(() => {});
    throw error;
  } finally {
    await handle.close();
  }
  const isMine = async (): Promise<boolean> =>
    (await readGiven(mark).catch(() => undefined))?.bytes.toString() === text;
  const renewal = setInterval(() => {
    const now = new Date();
    // Changes no file that a link leads to: the folder may be another user's.
    lutimes(mark, now, now, () => {});
  }, RENEW_MS).unref();
  return {
    /** @throws {LostError} when another process owns it by now; call it right before the protected step */
    async assertHeld(): Promise<void> {
      if (!(await isMine())) throw new LostError(`${mark}: is another process's by now`);
    },
    /** Removes the mark, unless another process owns it by now; never fails. */
    async release(): Promise<void> {
      clearInterval(renewal);
      if (await isMine()) await removeMark(mark).catch(() => {});
    },
  };
}

/**
 * Acquires exclusive ownership.
 *
 * @param mark path of the mark; the marked file or folder may be made later
 * @param staleMs age at which a mark that was not renewed counts as abandoned, in milliseconds
 * @param onHeld called while a live process owns it, with the time waited so far in milliseconds; a throw ends the wait
 * @throws {HeldError} when a live process owns it, without `onHeld`; errors of the file system
 */
export async function hold(mark: string, staleMs = STALE_MS, onHeld?: (waitedMs: number) => void) {
  const began = performance.now();
  for (;;) {
    try {
      const held = await claim(mark);
      // Left by a process that was killed while it removed a mark.
      await rmdir(guardOf(mark)).catch(() => {});
      return held;
    } catch (error) {
      if (codeOf(error) !== "EEXIST") throw error;
    }
    const ownership = await ownershipOf(mark, staleMs);
    if (ownership === "none") continue;
    if (ownership === "dead") await removeDead(mark, staleMs);
    else if (onHeld === undefined) throw new HeldError("another process is at work on it");
    else onHeld(performance.now() - began);
    await sleep(RETRY_MS * (1 + Math.random()));
  }
}

/** Age at which the lock of a process in another container counts as abandoned. */
const STALE_LOCK_MS = 5000;
/** Longer waits are reported. */
const TELL_MS = 1000;
/** How long to wait for a live holder. */
const PATIENCE_MS = 60_000;

/**
 * Runs a function under the lock of a file: `FILE.lock` beside it.
 *
 * @param file path with links resolved, so that all processes take the same lock
 * @param run does the work; run again if the lock was lost meanwhile
 * @param tell receives a line if the wait for the lock is long
 * @throws {HeldError} when others hold the lock for a minute; errors of the file system and of `run`
 */
export async function withLock<T>(
  file: string,
  run: (assertHeld: () => Promise<void>) => Promise<T>,
  tell: (text: string) => void = () => {},
): Promise<T> {
  const lock = `${file}.lock`;
  let told = false;
  const onHeld = (waitedMs: number): void => {
    if (waitedMs >= PATIENCE_MS) {
      const seconds = PATIENCE_MS / 1000;
      throw new HeldError(`${file}: another command has been changing it for ${seconds} s (${lock})`);
    }
    if (told || waitedMs <= TELL_MS) return;
    told = true;
    const most = STALE_LOCK_MS / 1000 + 1;
    tell(`orrery: another command is changing ${file}; waiting (at most ${most} s if it has died)\n`);
  };
  for (;;) {
    const held = await hold(lock, STALE_LOCK_MS, onHeld);
    try {
      return await run(held.assertHeld);
    } catch (error) {
      if (!(error instanceof LostError)) throw error;
    } finally {
      await held.release();
    }
  }
}
