/** The lock on a file that commands change, also those of other containers that share its folder: a mark beside the file. */

import { HeldError, hold, LostError } from "./ownership.ts";

/** Holders in other containers whose mark is older have lost the lock. */
const STALE_MS = 5000;
/** A wait of more than this is told. */
const TELL_MS = 1000;
/** How long a holder that lives is waited for. */
const PATIENCE_MS = 60_000;

/** Throws unless the lock is still held; to be called right before what it protects. */
export type AssertHeld = () => Promise<void>;

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
  run: (assertHeld: AssertHeld) => Promise<T>,
  tell: (text: string) => void = () => {},
): Promise<T> {
  const lock = `${file}.lock`;
  let told = false;
  const onWait = (waitedMs: number): void => {
    if (told || waitedMs <= TELL_MS) return;
    told = true;
    tell(
      `orrery: another command is changing ${file}; waiting (at most ${STALE_MS / 1000 + 1} s if it has died)\n`,
    );
  };
  for (;;) {
    const held = await hold(lock, { staleMs: STALE_MS, patienceMs: PATIENCE_MS, onWait }).catch((error) => {
      if (!(error instanceof HeldError)) throw error;
      throw new HeldError(
        `${file}: another command has been changing it for ${PATIENCE_MS / 1000} s (${lock})`,
      );
    });
    try {
      return await run(held.assertHeld);
    } catch (error) {
      if (!(error instanceof LostError)) throw error;
    } finally {
      await held.release();
    }
  }
}
