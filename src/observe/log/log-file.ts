/** The log file (`--log-file`), which log rotation moves away. No failure of the file blocks the server. */

import { constants, open } from "node:fs";
import { promisify } from "node:util";
import { isForeign } from "../../files/foreign.ts";
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

/** Opens the file for appending. If it cannot be read, the check whether it is a log is skipped. @returns its descriptor */
async function openToAppend(file: string): Promise<number> {
  if (await isForeign(file, LOG_BEGINNING).catch(() => false))
    throw new PlaceError("is not a log of orrery, and nothing is appended to it");
  return await promisify(open)(file, FLAGS, MODE);
}

export class LogFile extends Sink {
  override readonly isTTY = false;
  readonly #file: string;

  /** @param fd of the file; undefined if it cannot be opened yet */
  constructor(file: string, fd: number | undefined) {
    super(fd);
    this.#file = file;
    if (fd === undefined) this.#reopenLater();
  }

  /** Opens the file again by its name; until then lines go to the old file. @returns why it could not be opened */
  async reopen(): Promise<string | undefined> {
    const fd = await openToAppend(this.#file).catch(problemText);
    if (typeof fd === "string") return fd;
    this.moveTo(fd);
    return undefined;
  }

  #reopenLater(): void {
    setTimeout(async () => {
      if ((await this.reopen()) !== undefined) this.#reopenLater();
    }, RETRY_MS).unref();
  }
}

/** Opens the file; lines wait while it is a pipe without a reader or the disk is full. @throws {PlaceError} */
export async function openLogFile(file: string): Promise<LogFile> {
  const fd = await openToAppend(file).catch((error: unknown) => {
    if (PASSING.includes(codeOf(error) ?? "")) return undefined;
    throw error;
  });
  return new LogFile(file, fd);
}
