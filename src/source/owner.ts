/**
 * Which process a folder in the making belongs to, and whether that one still lives. A mark beside the folder names the
 * process. Process ids mean nothing in another container or on another machine that shares the disk: there the mark counts
 * for as long as its owner renews it.
 */

import { readFileSync, readlinkSync } from "node:fs";
import { open, readFile, rm, stat, utimes } from "node:fs/promises";
import { hostname } from "node:os";
import { isObject } from "../json.ts";
import { codeOf } from "../system-error.ts";

/** What the name of a mark ends with, behind that of its folder. */
export const OWNER_ENDING = ".owner";

const RENEW_MS = 5000;
/** Not renewed for so long, the owner is gone, or so slow that it finds out itself. */
const STALE_MS = 120_000;

/** Reads a line of the system, where there is such a thing. */
function readOr(read: () => string): string {
  try {
    return read().trim();
  } catch {
    return "";
  }
}

/** Where process ids are those of this process. */
function spaceOfProcesses(): string {
  const boot = readOr(() => readFileSync("/proc/sys/kernel/random/boot_id", "utf8"));
  return `${boot || hostname()} ${readOr(() => readlinkSync("/proc/self/ns/pid"))}`;
}

/** When a process began, so that another one with its id is not taken for it; empty when unknown. */
function beginOf(pid: number): string {
  const line = readOr(() => readFileSync(`/proc/${pid}/stat`, "utf8"));
  // The name, in parentheses, may hold anything; the 20th field behind it is the start.
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

/**
 * Marks a folder, which may be made later, as this process's.
 *
 * @returns what takes the mark away; it never fails
 * @throws errors of the file system
 */
export async function claim(folder: string): Promise<() => Promise<void>> {
  const mark = folder + OWNER_ENDING;
  const { pid } = process;
  const handle = await open(mark, "wx");
  try {
    await handle.writeFile(JSON.stringify({ space: spaceOfProcesses(), pid, begin: beginOf(pid) }));
  } catch (error) {
    // Of an owner that nobody knows: it would count until it is stale.
    await rm(mark, { force: true }).catch(() => {});
    throw error;
  } finally {
    await handle.close();
  }
  const renewal = setInterval(() => {
    const now = new Date();
    utimes(mark, now, now).catch(() => {});
  }, RENEW_MS).unref();
  return async () => {
    clearInterval(renewal);
    await rm(mark, { force: true }).catch(() => {});
  };
}

/** Whether a folder was ever marked, and not let go of since: it is not complete unless somebody leads to it. */
export type Ownership = "none" | "living" | "dead";

/** Whose a folder is: nobody's, of a process that lives, or of one that was killed. */
export async function ownershipOf(folder: string): Promise<Ownership> {
  const mark = folder + OWNER_ENDING;
  try {
    const age = Date.now() - (await stat(mark)).mtimeMs;
    // Empty or cut off while it is being written.
    const value = await readFile(mark, "utf8")
      .then((text): unknown => JSON.parse(text))
      .catch(() => undefined);
    if (isObject(value) && value.space === spaceOfProcesses() && typeof value.pid === "number")
      return isAlive(value.pid, String(value.begin)) ? "living" : "dead";
    return age < STALE_MS ? "living" : "dead";
  } catch (error) {
    if (codeOf(error) === "ENOENT") return "none";
    throw error;
  }
}
