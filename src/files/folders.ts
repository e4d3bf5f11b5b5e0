import { access, constants, mkdir, rmdir, stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { codeOf } from "../util/system-error.ts";

/** Whether a text stands for a URL and not for a folder. */
export function isAddress(text: string): boolean {
  return /^[a-z][a-z0-9+.-]*:\/\//i.test(text);
}

/**
 * Makes a folder and those above it that are missing. (`mkdir` with `recursive` never ends where nothing can be made
 * although what is above is there, as below `/proc`.)
 *
 * @param mode of what is made
 * @returns the topmost folder that was made; undefined when all were there
 * @throws errors of the file system
 */
export async function makeFolder(path: string, mode = 0o777): Promise<string | undefined> {
  const folder = resolve(path);
  const make = async (): Promise<string | undefined> => {
    try {
      await mkdir(folder, { mode });
      return folder;
    } catch (error) {
      if (codeOf(error) !== "EEXIST" || !(await stat(folder)).isDirectory()) throw error;
      return undefined;
    }
  };
  try {
    return await make();
  } catch (error) {
    if (codeOf(error) !== "ENOENT" || dirname(folder) === folder) throw error;
  }
  const above = await makeFolder(dirname(folder), mode);
  const made = await make();
  return above ?? made;
}

/**
 * Makes a folder and tries whether it can be written to, before long work whose result shall go there.
 *
 * @returns removes the folders that were made, if they are empty
 * @throws errors of the file system
 */
export async function claimFolder(path: string): Promise<() => Promise<void>> {
  const made = await makeFolder(path);
  const unclaim = async (): Promise<void> => {
    if (made === undefined) return;
    for (let folder = resolve(path); folder.length >= made.length; folder = dirname(folder)) {
      await rmdir(folder).catch(() => {});
    }
  };
  try {
    await access(path, constants.W_OK);
  } catch (error) {
    await unclaim();
    throw error;
  }
  return unclaim;
}
