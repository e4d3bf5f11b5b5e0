/** Files that something else has made: neither replaced nor added to. */

import { constants } from "node:fs";
import { open, readlink, realpath, stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { codeOf } from "../util/system-error.ts";

/** The file was made by something else; it was left as it is. The message says what it is not. */
export class ForeignFileError extends Error {
  override name = "ForeignFileError";
}

/**
 * The path after all symbolic links, also where the file itself is missing.
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

/** So many characters can a pattern look at. */
const PATTERN_LENGTH = 64;

/**
 * Whether a regular file begins with other bytes. An empty one does not, and neither does a missing one.
 *
 * @throws errors of the file system, but not that the file is missing
 */
export async function isForeign(file: string, beginning: string | RegExp): Promise<boolean> {
  try {
    // Opening a pipe would tell its writer that somebody reads it.
    if (!(await stat(file)).isFile()) return false;
    const handle = await open(file, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
    try {
      const length = typeof beginning === "string" ? Buffer.byteLength(beginning) : PATTERN_LENGTH;
      const { buffer, bytesRead } = await handle.read(Buffer.alloc(length), 0, length, 0);
      const text = buffer.toString("utf8", 0, bytesRead);
      return bytesRead > 0 && !(typeof beginning === "string" ? text === beginning : beginning.test(text));
    } finally {
      await handle.close();
    }
  } catch (error) {
    if (codeOf(error) === "ENOENT") return false;
    throw error;
  }
}
