/** Files of other programs: these are not replaced. */

import { type FileHandle, readlink, realpath, stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { codeOf } from "../util/system-error.ts";
import { openRegular } from "./given.ts";

/**
 * The path with all symbolic links resolved, even if the file itself is missing.
 *
 * @throws errors of the file system, but not that the file is missing
 */
export async function behindLinks(file: string): Promise<string> {
  try {
    return await realpath(file);
  } catch (error) {
    if (codeOf(error) !== "ENOENT") throw error;
    const target = await readlink(file).catch(() => undefined);
    return target === undefined ? resolve(file) : behindLinks(resolve(dirname(file), target));
  }
}

/** Length of the beginning that a pattern is tested on, in bytes. */
const PATTERN_LENGTH = 64;

/** Whether an open file begins with other bytes; false for an empty one. Closes it. @throws errors of the file system */
async function hasOther(handle: FileHandle, beginning: string | RegExp): Promise<boolean> {
  try {
    const length = typeof beginning === "string" ? Buffer.byteLength(beginning) : PATTERN_LENGTH;
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(length), 0, length, 0);
    const text = buffer.toString("utf8", 0, bytesRead);
    return bytesRead > 0 && !(typeof beginning === "string" ? text === beginning : beginning.test(text));
  } finally {
    await handle.close();
  }
}

/**
 * Whether a regular file begins with other bytes; false for an empty or missing file.
 *
 * @throws errors of the file system, but not that the file is missing
 */
export async function isForeign(file: string, beginning: string | RegExp): Promise<boolean> {
  try {
    // Opening a pipe would announce a reader to its writer.
    if (!(await stat(file)).isFile()) return false;
    const { handle } = await openRegular(file);
    return await hasOther(handle, beginning);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return false;
    throw error;
  }
}
