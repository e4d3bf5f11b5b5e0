/**
 * Reads files that a user names: keys, tokens, passwords, queries. Such a path may lead to a pipe, to a device that never ends,
 * or to a file system that does not answer. No read of it takes for ever, fills the memory, or holds more than one of the few
 * threads in which Node calls the file system.
 */

import { type BigIntStats, constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { systemErrorText } from "../util/system-error.ts";
import { PlaceError } from "../util/told-error.ts";

/** Time in which the file system must answer each call. */
const MOST_MS = 1500;

const HANGS = `is on a file system that does not answer within ${MOST_MS / 1000} s`;

/** Paths with a call that has had no answer in time. It cannot be ended, and may hold its thread for ever. */
const hanging = new Set<string>();

/** Whether a call has had no answer in time, and has none yet. The process does not end before it has. */
export function isHanging(): boolean {
  return hanging.size > 0;
}

/**
 * Runs calls of the file system, each of which must be answered in time. While one of an earlier run has no answer, further
 * runs for the path fail at once: each would hold one more thread.
 *
 * @param run tells each answer but the last
 * @throws {PlaceError} when there is no answer in time, and what `run` throws
 */
export function answered<T>(path: string, run: (onAnswer: () => void) => Promise<T>): Promise<T> {
  if (hanging.has(path)) return Promise.reject(new PlaceError(HANGS));
  return new Promise((resolve, reject) => {
    let isOver = false;
    const giveUp = (): void => {
      if (isOver) return;
      hanging.add(path);
      reject(new PlaceError(HANGS));
    };
    // Takes an answer that came while this process had no processor.
    const timer = setTimeout(() => setImmediate(giveUp), MOST_MS);
    run(() => timer.refresh())
      .finally(() => {
        isOver = true;
        clearTimeout(timer);
        hanging.delete(path);
      })
      .then(resolve, reject);
  });
}

/**
 * Opens a file for reading without waiting for the writer of a pipe.
 *
 * @throws {PlaceError} when it is not a regular file; errors of the file system
 */
export async function openRegular(file: string): Promise<{ handle: FileHandle; stats: BigIntStats }> {
  const { O_RDONLY, O_NONBLOCK = 0, O_NOCTTY = 0 } = constants;
  const handle = await open(file, O_RDONLY | O_NONBLOCK | O_NOCTTY);
  try {
    const stats = await handle.stat({ bigint: true });
    if (!stats.isFile()) throw new PlaceError("is not a regular file");
    return { handle, stats };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

const MIB = 1_048_576;
/** A file in `/proc` has no size. */
const LEAST_ROOM = 65_536;

/** @throws {PlaceError} when it is larger than `most`, or grows meanwhile */
async function readAll(handle: FileHandle, size: number, most: number, onAnswer: () => void) {
  if (size > most) throw new PlaceError(`is larger than ${most} bytes`);
  const buffer = Buffer.allocUnsafeSlow(Math.min(Math.max(size, LEAST_ROOM), most) + 1);
  let length = 0;
  for (;;) {
    const { bytesRead } = await handle.read(buffer, length, Math.min(MIB, buffer.length - length));
    onAnswer();
    if (bytesRead === 0) return buffer.subarray(0, length);
    length += bytesRead;
    if (length === buffer.length) throw new PlaceError("grows while it is read");
  }
}

/** A file's bytes, and its state before they were read. */
export interface Given {
  readonly bytes: Buffer;
  readonly stats: BigIntStats;
}

/**
 * Reads a whole file.
 *
 * @param most bytes
 * @throws {PlaceError} when it is not a regular file, is too large or has no answer in time; errors of the file system
 */
export function readGiven(file: string, most = MIB): Promise<Given> {
  return answered(file, async (onAnswer) => {
    const { handle, stats } = await openRegular(file);
    try {
      onAnswer();
      return { bytes: await readAll(handle, Number(stats.size), most, onAnswer), stats };
    } finally {
      await handle.close();
    }
  });
}

/** Why a given file could not be read; undefined for a defect. */
export function whyUnread(error: unknown): string | undefined {
  if (error instanceof PlaceError) return error.message;
  const why = systemErrorText(error);
  return why === undefined ? undefined : `cannot be read: ${why}`;
}
