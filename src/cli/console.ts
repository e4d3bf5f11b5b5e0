/** What a server says: its log on standard error, a line or two on standard output. Neither ever holds it up. */

import { fstatSync } from "node:fs";
import { isatty } from "node:tty";
import type { LogSink } from "../serve/log/log.ts";
import { createSink, EXIT_PATIENCE_MS } from "../serve/log/sink.ts";
import { CLEAR_LINE } from "./progress.ts";

/** The outputs of a server. */
export interface Console {
  /** Standard error. On a terminal a status line stays below the lines of the log. */
  readonly log: LogSink & { readonly isTTY: boolean };
  /** Replaces the status line, given with what clears it; {@link CLEAR_LINE} alone takes it away. For terminals. */
  readonly status: (text: string) => void;
  /** Prints to standard output, below what standard error said. */
  readonly announce: (text: string) => Promise<void>;
  /** Whether both are the same terminal, where nothing needs saying twice. */
  readonly isOneTerminal: boolean;
  /** Resolves when everything is written, or when its readers had their time. */
  readonly flush: () => Promise<void>;
}

/**
 * Keeps a status line below other lines.
 *
 * @returns what writes the other lines, and what replaces the status line
 */
export function keepStatusBelow(write: (text: string, isBulk?: boolean) => void): {
  readonly write: (text: string, isBulk?: boolean) => void;
  readonly status: (text: string) => void;
} {
  let current = "";
  return {
    write: (text, isBulk) => write(current === "" ? text : CLEAR_LINE + text + current, isBulk),
    status(text) {
      current = text === CLEAR_LINE ? "" : text;
      write(text);
    },
  };
}

function isOneTerminal(): boolean {
  return isatty(1) && isatty(2) && fstatSync(1).rdev === fstatSync(2).rdev;
}

/** Opens the process's outputs as a server's. */
export function openConsole(): Console {
  const errors = createSink(2);
  const output = createSink(1);
  const { write, status } = keepStatusBelow(errors.write);
  return {
    log: { isTTY: errors.isTTY, write, onDropped: errors.onDropped },
    status,
    async announce(text) {
      if (errors.isTTY) await errors.flush(EXIT_PATIENCE_MS);
      output.write(text);
    },
    isOneTerminal: isOneTerminal(),
    async flush() {
      await Promise.all([errors.flush(EXIT_PATIENCE_MS), output.flush(EXIT_PATIENCE_MS)]);
    },
  };
}
