/** The log file (`--log-file`), which log rotation moves away. No failure of the file blocks the server. */

import { closeSync, constants, fstatSync, open } from "node:fs";
import { promisify } from "node:util";
import { hasOther } from "../../files/foreign.ts";
import { openRegular } from "../../files/given.ts";
import { codeOf, problemText } from "../../util/system-error.ts";
import { PlaceError } from "../../util/told-error.ts";
import { LOG_BEGINNING } from "./log.ts";
import { Sink } from "./sink.ts";

/** The open must not wait for the reader of a pipe. Appending keeps lines of several processes whole. */
const { O_WRONLY, O_APPEND, O_CREAT, O_NONBLOCK = 0, O_NOCTTY = 0 } = constants;
const FLAGS = O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK | O_NOCTTY;
const MODE = 0o640;

const RETRY_MS = 500;

/** Codes of temporary failures: a pipe without a reader, a full disk, too many open files. */
const PASSING = ["ENXIO", "ENOSPC", "EDQUOT", "EMFILE", "ENFILE", "EIO", "EINTR", "ENOMEM"];

/** Checks an open file, which its name may no longer lead to. @throws {PlaceError} unless it may be a log */
async function checkIsLog(file: string, fd: number): Promise<void> {
  const opened = fstatSync(fd, { bigint: true });
  if (!opened.isFile() || opened.size === 0n) return;
  const found = await openRegular(file).catch((error: unknown) => {
    if (error instanceof PlaceError) throw error;
  });
  // A user may have the right to append alone.
  if (found === undefined) return;
  const isOther = await hasOther(found.handle, LOG_BEGINNING);
  if (found.stats.ino !== opened.ino || found.stats.dev !== opened.dev)
    throw new PlaceError("was replaced while it was opened");
  if (isOther) throw new PlaceError("is not a log of orrery, and nothing is appended to it");
}

/** Opens the file for appending. If it cannot be read, the check whether it is a log is skipped. @returns its descriptor @throws {PlaceError} for another file; errors of the file system */
async function openToAppend(file: string): Promise<number> {
  const fd = await promisify(open)(file, FLAGS, MODE);
  try {
    await checkIsLog(file, fd);
    return fd;
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

export class LogFile extends Sink {
  override readonly isTTY = false;
  readonly #file: string;

  /** @param opened its descriptor, or why it cannot be opened yet */
  constructor(file: string, opened: number | string) {
    super(typeof opened === "number" ? opened : undefined);
    this.#file = file;
    if (typeof opened === "string") this.#reopenLater(opened);
  }

  /** Opens the file again by its name; until then lines go to the old file. @returns why it could not be opened */
  async reopen(): Promise<string | undefined> {
    const fd = await openToAppend(this.#file).catch(problemText);
    if (typeof fd === "string") return fd;
    this.moveTo(fd);
    return undefined;
  }

  #reopenLater(problem: string): void {
    this.fail(problem);
    setTimeout(async () => {
      const still = await this.reopen();
      if (still !== undefined) this.#reopenLater(still);
    }, RETRY_MS).unref();
  }
}

/** Opens the file; lines wait while it is a pipe without a reader or the disk is full. @throws {PlaceError} */
export async function openLogFile(file: string): Promise<LogFile> {
  const opened = await openToAppend(file).catch((error: unknown) => {
    if (PASSING.includes(codeOf(error) ?? "")) return problemText(error);
    throw error;
  });
  return new LogFile(file, opened);
}
