/** Non-blocking descriptors of standard error and standard output, and synchronous writes with a timeout. */

import { constants, fstatSync, openSync, statSync, writeSync } from "node:fs";
import { devNull } from "node:os";
import { isatty } from "node:tty";

/**
 * A descriptor of the same file, pipe or terminal that never blocks: a blocked write would keep the process from ending.
 */
export function openWithoutBlocking(fd: 1 | 2): number {
  const file = fstatSync(fd);
  if (!file.isFIFO() && !file.isSocket() && !isatty(fd)) return fd;
  if (!file.isSocket()) {
    try {
      // A new descriptor: every process that has the old one shares its mode.
      const { O_WRONLY, O_NONBLOCK, O_NOCTTY } = constants;
      return openSync(`/proc/self/fd/${fd}`, O_WRONLY | O_NONBLOCK | O_NOCTTY);
    } catch {
      // No such folder, another user's pipe, or a pipe without a reader.
    }
  }
  // Node makes pipes and sockets non-blocking when it creates their streams.
  void (fd === 1 ? process.stdout : process.stderr);
  return fd;
}

/** Whether writes are lost. If a descriptor was closed at the start of the process, Node opens the null device. */
export function leadsNowhere(fd: number): boolean {
  const file = fstatSync(fd);
  if (!file.isCharacterDevice()) return false;
  const nowhere = statSync(devNull, { throwIfNoEntry: false });
  return nowhere?.isCharacterDevice() === true && nowhere.rdev === file.rdev;
}

const sleeper = new Int32Array(new SharedArrayBuffer(4));
const PAUSE_MS = 5;

/**
 * Writes a whole text synchronously. @param patienceMs timeout for a slow reader @throws the error of the system, such
 * as EPIPE
 */
export function writeWhole(fd: number, text: string | Buffer, patienceMs = Number.POSITIVE_INFINITY): void {
  let rest = typeof text === "string" ? Buffer.from(text) : text;
  const deadline = performance.now() + patienceMs;
  while (rest.length > 0) {
    try {
      rest = rest.subarray(writeSync(fd, rest));
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code !== "EAGAIN" || performance.now() >= deadline) throw error;
      Atomics.wait(sleeper, 0, 0, PAUSE_MS);
    }
  }
}
