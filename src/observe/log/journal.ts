/** Lines for the journal of systemd, which reads a line's priority from its beginning (sd-daemon(3)). */

import { fstatSync } from "node:fs";

const PRIORITIES: Readonly<Record<string, number>> = { error: 3, warn: 4, info: 6 };

/** Whether standard error is a stream to the journal. @param journalStream value of `JOURNAL_STREAM`: its device and inode */
export function isJournal(journalStream: string | undefined): boolean {
  try {
    const { dev, ino } = fstatSync(2);
    return journalStream === `${dev}:${ino}`;
  } catch {
    // It is closed.
    return false;
  }
}

export function withPriority(level: string, lines: string): string {
  return lines.replace(/^(?=.)/gm, `<${PRIORITIES[level]}>`);
}
