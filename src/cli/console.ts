/** The outputs of a server: its log on standard error, a line or two on standard output. Neither ever blocks it. */

import { fstatSync } from "node:fs";
import { isatty } from "node:tty";
import { isJournal } from "../observe/log/journal.ts";
import type { LogSink } from "../observe/log/log.ts";
import { openWithoutBlocking, Sink } from "../observe/log/sink.ts";
import { CLEAR_LINE } from "./terminal.ts";

export type Console = ReturnType<typeof openConsole>;

/** Keeps a status line below other lines. @returns writes the other lines, and replaces the status line */
export function keepStatusBelow(write: (text: string, isBulk?: boolean) => void) {
  let current = "";
  return {
    write: (text: string, isBulk?: boolean) =>
      write(current === "" ? text : CLEAR_LINE + text + current, isBulk),
    /** Replaces the status line; the text begins with {@link CLEAR_LINE}, which alone removes the line. */
    status(text: string): void {
      current = text === CLEAR_LINE ? "" : text;
      write(text);
    },
  };
}

/** Opens the outputs of a server. @param journalStream value of `JOURNAL_STREAM` */
export function openConsole(format = "auto", journalStream?: string) {
  const errors = new Sink(openWithoutBlocking(2));
  const output = new Sink(openWithoutBlocking(1));
  const { write, status } = keepStatusBelow((text, isBulk) => errors.write(text, isBulk));
  const isPretty = format === "pretty" || (format === "auto" && errors.isTTY);
  const isShared = errors.isTTY && isatty(1) && isatty(2) && fstatSync(1).rdev === fstatSync(2).rdev;
  const log: LogSink = {
    isPretty,
    isJournal: isJournal(journalStream),
    write,
    onDropped: (listener) => errors.onDropped(listener),
    watch: (observe) => errors.watch(observe),
  };
  return {
    /** Standard error. A status line stays below the lines of the log. */
    log,
    /** Whether standard error is a terminal with a log for people: a log in JSON has lines alone, on a terminal too. */
    takesStatus: errors.isTTY && isPretty,
    status,
    /** Prints to standard output, below the earlier lines of standard error. */
    async announce(text: string): Promise<void> {
      if (errors.isTTY) await errors.flush();
      output.write(text);
    },
    /** Whether a log for people shares the terminal of standard output, so that no line should appear twice. */
    isOneTerminal: isShared && isPretty,
    /** Resolves when everything is written, or after a timeout. */
    async flush(): Promise<void> {
      await Promise.all([errors, output].map((sink) => sink.flush()));
    },
  };
}
