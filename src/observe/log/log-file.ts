/** The file of the log (`--log-file`), which rotation moves away. Whatever becomes of it, nothing waits for it. */

import { constants, open, openSync } from "node:fs";
import { ForeignFileError, isForeign } from "../../files/foreign.ts";
import { codeOf, systemErrorText } from "../../util/system-error.ts";
import { createSinkTo, type Sink } from "./sink.ts";

/** A log that goes to a file. */
export interface LogFile extends Sink {
  /**
   * Opens the file again by its name and makes one when it is gone. Lines go on to the file before until then.
   *
   * @returns why it could not be opened, or undefined
   */
  readonly reopen: () => Promise<string | undefined>;
}

/** A pipe that nobody reads must not be waited for. Lines of several processes stay whole. */
const FLAGS =
  constants.O_WRONLY |
  constants.O_APPEND |
  constants.O_CREAT |
  (constants.O_NONBLOCK ?? 0) |
  (constants.O_NOCTTY ?? 0);
const MODE = 0o640;

/** Between attempts to open what cannot be opened yet. */
const RETRY_MS = 500;

/** What may be otherwise soon: a pipe without a reader, a full disk, too many open files. */
const PASSING: ReadonlySet<string | undefined> = new Set([
  "ENXIO",
  "ENOSPC",
  "EDQUOT",
  "EMFILE",
  "ENFILE",
  "EIO",
  "EINTR",
  "ENOMEM",
]);

function openLater(file: string): Promise<number> {
  return new Promise((resolve, reject) => {
    open(file, FLAGS, MODE, (error, fd) => (error === null ? resolve(fd) : reject(error)));
  });
}

function openNow(file: string): number | undefined {
  try {
    return openSync(file, FLAGS, MODE);
  } catch (error) {
    if (PASSING.has(codeOf(error))) return undefined;
    throw error;
  }
}

/** Refuses a file that is no log. What cannot be read may be a log all the same: who may only append may not read. */
async function refuseForeign(file: string, beginning: RegExp): Promise<void> {
  if (await isForeign(file, beginning).catch(() => false))
    throw new ForeignFileError("is no log of orrery, and nothing is appended to it");
}

/**
 * Opens the file; lines wait, as many as there is room for, while it is a pipe that nobody reads yet or the disk is full.
 *
 * @param beginning of every log; a regular file with another is no log; any will do when absent
 * @throws {ForeignFileError}, or the error of the system when the name leads to nothing that a log can be
 */
export async function openLogFile(file: string, beginning = /^/): Promise<LogFile> {
  await refuseForeign(file, beginning);
  const fd = openNow(file);
  const sink = createSinkTo(fd);
  let isOpen = fd !== undefined;

  async function reopen(): Promise<string | undefined> {
    try {
      await refuseForeign(file, beginning);
      sink.moveTo(await openLater(file));
      isOpen = true;
      return undefined;
    } catch (error) {
      return error instanceof ForeignFileError ? error.message : (systemErrorText(error) ?? String(error));
    }
  }

  async function retry(): Promise<void> {
    if (isOpen || (await reopen()) === undefined) return;
    setTimeout(retry, RETRY_MS).unref();
  }
  if (!isOpen) setTimeout(retry, RETRY_MS).unref();

  return { ...sink, isTTY: false, reopen };
}
