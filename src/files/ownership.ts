/**
 * Who owns a file or folder, for processes that share a disk and perhaps nothing else. A mark beside it names the process that
 * owns it. Where process ids mean the same to both, the mark of a process that is gone counts no more; in another container or
 * on another machine a mark counts as long as its owner renews it.
 */

import { randomBytes } from "node:crypto";
import { readFileSync, readlinkSync } from "node:fs";
import { lstat, mkdir, open, readFile, rm, rmdir, stat, utimes } from "node:fs/promises";
import { hostname } from "node:os";
import { isObject } from "../util/json.ts";
import { codeOf } from "../util/system-error.ts";

/** The name of a folder's mark ends with it. */
export const OWNER_ENDING = ".owner";

/** How often an owner renews its mark. */
const RENEW_MS = 1000;
/** Age at which a mark has lost its owner; a slow owner finds out itself. */
const STALE_MS = 120_000;
/** Guards are held for some system calls; an older one was left by a process that was killed in between. */
const STALE_GUARD_MS = 5000;
/** Pause between two attempts, at least; at most twice as long. */
const RETRY_MS = 15;

/** Another process owns it. */
export class HeldError extends Error {
  override name = "HeldError";
}

/** The mark was taken by another process while this one was stopped. */
export class LostError extends Error {
  override name = "LostError";
}

export interface Hold {
  /** @throws {LostError} when another process owns it by now; to be called right before what it protects */
  readonly assertHeld: () => Promise<void>;
  /** Takes the mark away, unless it is another's by now; never fails. */
  readonly release: () => Promise<void>;
}

export interface HoldOptions {
  /** Age at which a mark that was not renewed has lost its owner, in milliseconds; two minutes when absent. */
  readonly staleMs?: number;
  /** How long a living owner is waited for, in milliseconds; 0 when absent. */
  readonly patienceMs?: number;
  /** Told how long it has waited, in milliseconds, before each further attempt. */
  readonly onWait?: (waitedMs: number) => void;
}

function readOr(read: () => string): string {
  try {
    return read().trim();
  } catch {
    return "";
  }
}

/** Names the space of process ids that this process lives in. */
function spaceOfProcesses(): string {
  const boot = readOr(() => readFileSync("/proc/sys/kernel/random/boot_id", "utf8"));
  return `${boot || hostname()} ${readOr(() => readlinkSync("/proc/self/ns/pid"))}`;
}

/** When a process began, so that another one with its id is not taken for it; empty when unknown. */
function beginOf(pid: number): string {
  const line = readOr(() => readFileSync(`/proc/${pid}/stat`, "utf8"));
  // The name, in parentheses, may hold anything; the 20th field after it is the start.
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

/** The owner of a marked thing: none, a process that lives, or one that is gone. */
export type Ownership = "none" | "living" | "dead";

/** Reads a mark. @throws errors of the file system */
export async function ownershipOf(mark: string, staleMs = STALE_MS): Promise<Ownership> {
  try {
    // Times ahead count too: the clock may have been set back.
    const age = Math.abs(Date.now() - (await stat(mark)).mtimeMs);
    // Empty or cut off while it is being written; a folder where an earlier version made it.
    const value = await readFile(mark, "utf8")
      .then((text): unknown => JSON.parse(text))
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
 * Removes the mark of a process that is gone. One process at a time does so, and looks again first: of several that had seen
 * it, a late one would otherwise remove the mark that another has made in the meantime.
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

/** Makes the mark. @throws an error with the code EEXIST where there is one; others of the file system */
async function claim(mark: string): Promise<Hold> {
  const { pid } = process;
  // The number tells it from other marks of this process.
  const number = randomBytes(8).toString("hex");
  const text = JSON.stringify({ space: spaceOfProcesses(), pid, begin: beginOf(pid), number });
  const handle = await open(mark, "wx");
  try {
    await handle.writeFile(text);
  } catch (error) {
    // It names nobody: it would count until it is stale.
    await rm(mark, { force: true }).catch(() => {});
    throw error;
  } finally {
    await handle.close();
  }
  const isMine = async (): Promise<boolean> => (await readFile(mark, "utf8").catch(() => undefined)) === text;
  const renewal = setInterval(() => {
    const now = new Date();
    utimes(mark, now, now).catch(() => {});
  }, RENEW_MS).unref();
  return {
    async assertHeld() {
      if (!(await isMine())) throw new LostError(`${mark}: is another process's by now`);
    },
    async release() {
      clearInterval(renewal);
      if (await isMine()) await removeMark(mark).catch(() => {});
    },
  };
}

/**
 * Becomes the owner, alone.
 *
 * @param mark path of the mark; what it is the mark of may be made later
 * @throws {HeldError} when a process that lives has owned it for as long as it was waited for; errors of the file system
 */
export async function hold(
  mark: string,
  { staleMs = STALE_MS, patienceMs = 0, onWait }: HoldOptions = {},
): Promise<Hold> {
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
    const waited = performance.now() - began;
    if (ownership === "living" && waited >= patienceMs)
      throw new HeldError("another process is at work on it");
    onWait?.(waited);
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS * (1 + Math.random())));
  }
}

/** Holders of a lock in other containers whose mark is older have lost it. */
const STALE_LOCK_MS = 5000;
/** A wait of more than this is told. */
const TELL_MS = 1000;
/** How long a holder that lives is waited for. */
const PATIENCE_MS = 60_000;

/**
 * Runs something while no other process does the same for this file.
 *
 * @param file path without links, so that all mean the same lock: `FILE.lock` beside it
 * @param run does the work; begun anew when the lock was lost meanwhile
 * @param tell receives a line when the lock has to be waited for
 * @throws {HeldError} when others hold the lock for a minute; errors of the file system; what `run` throws
 */
export async function withLock<T>(
  file: string,
  run: (assertHeld: Hold["assertHeld"]) => Promise<T>,
  tell: (text: string) => void = () => {},
): Promise<T> {
  const lock = `${file}.lock`;
  let told = false;
  const onWait = (waitedMs: number): void => {
    if (told || waitedMs <= TELL_MS) return;
    told = true;
    tell(
      `orrery: another command is changing ${file}; waiting (at most ${STALE_LOCK_MS / 1000 + 1} s if it has died)\n`,
    );
  };
  for (;;) {
    const held = await hold(lock, { staleMs: STALE_LOCK_MS, patienceMs: PATIENCE_MS, onWait }).catch(
      (error) => {
        if (!(error instanceof HeldError)) throw error;
        throw new HeldError(
          `${file}: another command has been changing it for ${PATIENCE_MS / 1000} s (${lock})`,
        );
      },
    );
    try {
      return await run(held.assertHeld);
    } catch (error) {
      if (!(error instanceof LostError)) throw error;
    } finally {
      await held.release();
    }
  }
}
