/** One process at a time for a folder: who comes second is refused, and what a killed process left is taken over. */

import { mkdir, rm, rmdir, stat } from "node:fs/promises";
import { codeOf } from "../system-error.ts";
import { claim, OWNER_ENDING, ownershipOf } from "./owner.ts";
import { wait } from "./timing.ts";

/** Another process holds the folder. */
export class HeldError extends Error {
  override name = "HeldError";
}

const RETRY_MS = 20;
const NEVER = new AbortController().signal;
/** The guard is held for some system calls; one that is older was left by a process that was killed in between. */
const STALE_GUARD_MS = 10_000;

/** Removes the mark of a dead process. One process at a time does so, and looks again first. */
async function removeDead(folder: string): Promise<void> {
  const guard = `${folder}${OWNER_ENDING}.breaking`;
  try {
    await mkdir(guard);
  } catch (error) {
    if (codeOf(error) !== "EEXIST") throw error;
    const age = Date.now() - ((await stat(guard).catch(() => undefined))?.mtimeMs ?? Date.now());
    if (Math.abs(age) > STALE_GUARD_MS) await rmdir(guard).catch(() => {});
    else await wait(RETRY_MS, NEVER);
    return;
  }
  try {
    if ((await ownershipOf(folder)) === "dead") await rm(folder + OWNER_ENDING, { force: true });
  } finally {
    await rmdir(guard).catch(() => {});
  }
}

/**
 * Marks a folder as this process's alone.
 *
 * @returns what takes the mark away
 * @throws {HeldError} when a process that lives holds it; errors of the file system
 */
export async function holdAlone(folder: string): Promise<() => Promise<void>> {
  for (;;) {
    try {
      return await claim(folder);
    } catch (error) {
      if (codeOf(error) !== "EEXIST") throw error;
    }
    const ownership = await ownershipOf(folder);
    if (ownership === "living") throw new HeldError("another process is at work on it");
    if (ownership === "dead") await removeDead(folder);
  }
}

/**
 * As {@link holdAlone}, for work of a few calls of the file system: waits while another process has its turn.
 *
 * @param patienceMs how long; a process that held the folder for all of that time was suspended or hangs
 * @returns ends the turn; undefined when another process still has the folder after that time
 * @throws errors of the file system
 */
export async function waitForTurn(
  folder: string,
  patienceMs: number,
): Promise<(() => Promise<void>) | undefined> {
  const began = performance.now();
  for (;;) {
    try {
      return await holdAlone(folder);
    } catch (error) {
      if (!(error instanceof HeldError)) throw error;
    }
    if (performance.now() - began > patienceMs) return undefined;
    await wait(RETRY_MS, NEVER);
  }
}
