/** The log file (`--log-file`), which log rotation moves away. No failure of the file blocks the server. */

import { constants, open, openSync } from "node:fs";
import { promisify } from "node:util";
import { ForeignFileError, isForeign } from "../../files/foreign.ts";
import { codeOf, systemErrorText } from "../../util/system-error.ts";
import { LOG_BEGINNING } from "./log.ts";
import { Sink } from "./sink.ts";

/** The open must not wait for the reader of a pipe. Appending keeps lines of several processes whole. */
const { O_WRONLY, O_APPEND, O_CREAT, O_NONBLOCK = 0, O_NOCTTY = 0 } = constants;
const FLAGS = O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK | O_NOCTTY;
const MODE = 0o640;

const RETRY_MS = 500;

/** Codes of temporary failures: a pipe without a reader, a full disk, too many open files. */
const PASSING = ["ENXIO", "ENOSPC", "EDQUOT", "EMFILE", "ENFILE", "EIO", "EINTR", "ENOMEM"];

const openLater = promisify(open);

function openNow(file: string): number | undefined {
  try {
    return openSync(file, FLAGS, MODE);
  } catch (error) {
    if (PASSING.includes(codeOf(error) ?? "")) return undefined;
    throw error;
  }
}

/** Refuses a file that is no log. An unreadable file may still be a log: a user may have the right to append alone. */
async function refuseForeign(file: string): Promise<void> {
  if (await isForeign(file, LOG_BEGINNING).catch(() => false))
    throw new ForeignFileError("is no log of orrery, and nothing is appended to it");
}

export class LogFile extends Sink {
  override readonly isTTY = false;
  readonly #file: string;
  #isOpen: boolean;

  /** @param fd of the file; undefined if it cannot be opened yet */
  constructor(file: string, fd: number | undefined) {
    super(fd);
    this.#file = file;
    this.#isOpen = fd !== undefined;
    this.#retryLater();
  }

  /** Opens the file again by its name; until then lines go to the old file. @returns why it could not be opened */
  async reopen(): Promise<string | undefined> {
    try {
      await refuseForeign(this.#file);
      this.moveTo(await openLater(this.#file, FLAGS, MODE));
      this.#isOpen = true;
      return undefined;
    } catch (error) {
      return error instanceof ForeignFileError ? error.message : (systemErrorText(error) ?? String(error));
    }
  }

  #retryLater(): void {
    if (this.#isOpen) return;
    setTimeout(async () => {
      if (!this.#isOpen) await this.reopen();
      this.#retryLater();
    }, RETRY_MS).unref();
  }
}

/**
 * Opens the file; lines wait while it is a pipe without a reader or the disk is full.
 *
 * @throws {ForeignFileError}, or the error of the system if the file cannot be a log
 */
export async function openLogFile(file: string): Promise<LogFile> {
  await refuseForeign(file);
  return new LogFile(file, openNow(file));
}
