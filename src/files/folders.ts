import { rmSync } from "node:fs";
import { access, constants, mkdir, mkdtemp, rmdir, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { codeOf } from "../util/system-error.ts";

/** Whether a text is a URL and not a folder. */
export function isAddress(text: string): boolean {
  return /^[a-z][a-z0-9+.-]*:\/\//i.test(text);
}

/** A URL without its password, for messages. */
export function addressForMessages(address: string): string {
  if (!URL.canParse(address)) return address.replace(/:[^@/]*@/, "@");
  const url = new URL(address);
  url.password = "";
  for (const name of ["password", "sslpassword"]) url.searchParams.delete(name);
  return url.href;
}

/**
 * Makes a folder and its missing parents. (A recursive `mkdir` never ends where the parent exists, but takes no folder: `/proc`.)
 * @returns the topmost folder that was made; undefined when all existed @throws errors of the file system
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
  try {
    const made = await make();
    return above ?? made;
  } catch (error) {
    await removeEmpty(dirname(folder), above);
    throw error;
  }
}

/** Removes empty folders, from one up to the topmost that was made; none if that is undefined. */
async function removeEmpty(from: string, topmost: string | undefined): Promise<void> {
  if (topmost === undefined) return;
  for (let folder = resolve(from); folder.length >= topmost.length; folder = dirname(folder)) {
    await rmdir(folder).catch(() => {});
  }
}

/**
 * Checks that a folder is writable, before long work that writes its result there; makes it if it is missing.
 * @returns a function that removes the new folders, if they are empty @throws errors of the file system
 */
export async function claimFolder(path: string): Promise<() => Promise<void>> {
  const made = await makeFolder(path);
  const unclaim = (): Promise<void> => removeEmpty(path, made);
  try {
    await access(path, constants.W_OK);
  } catch (error) {
    await unclaim();
    throw error;
  }
  return unclaim;
}

/** Makes a folder in the system's temporary folder; any exit of the process removes it. @throws errors of the file system */
export async function makeTemporaryFolder(name: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), `orrery-${name}-`));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
