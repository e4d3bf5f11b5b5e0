/** Text for terminals: JSON, columns, and a progress bar on standard error. */

import { escaped } from "../util/escaped.ts";
import type { CommandIo } from "./command.ts";

export type ProgressBar = ReturnType<typeof startProgress>;

export function jsonText(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}

/** Lays out rows of cells, one row a line. @param numbers columns, from 0, that are aligned to the right */
export function formatColumns(rows: readonly (readonly string[])[], numbers: readonly number[] = []): string {
  const clean = rows.map((row) => row.map(escaped));
  const widths: number[] = [];
  for (const row of clean) {
    for (const [at, cell] of row.entries()) widths[at] = Math.max(widths[at] ?? 0, cell.length);
  }
  const lines = clean.map((row) =>
    row
      .map((cell, at) => (numbers.includes(at) ? cell.padStart(widths[at]!) : cell.padEnd(widths[at]!)))
      .join("  ")
      .trimEnd(),
  );
  return lines.map((line) => `${line}\n`).join("");
}

const WIDTH = 30;
/** Shorter work shows no bar. */
const PATIENCE_MS = 400;

/** Goes to the start of a terminal's line and clears it. */
export const CLEAR_LINE = "\r\u001b[K";

/** Starts a bar, which only a terminal shows. @param what the work in progress @param whatNext the work after it */
export function startProgress(
  { isTerminal, complain, columns }: Pick<CommandIo, "isTerminal" | "complain" | "columns">,
  what: string,
  whatNext = "sorting and indexing",
) {
  const began = performance.now();
  // A bar that wraps could not be cleared.
  const room = (columns || 80) - 1;
  let shown = "";
  return {
    /** Shows a share, from 0 to 1, and some words on it. */
    show(share: number, words = ""): void {
      const percent = Math.floor(share * 100);
      const now = `${percent} ${words}`;
      if (!isTerminal || now === shown || performance.now() - began < PATIENCE_MS) return;
      shown = now;
      const full = Math.round(share * WIDTH);
      const bar = `[${"#".repeat(full)}${"-".repeat(WIDTH - full)}] ${String(percent).padStart(3)} %`;
      const next = percent === 100 ? `, ${whatNext}` : words && `, ${words}`;
      const texts = [`${what} ${bar}${next}`, `${what} ${bar}`, `${bar}${next}`, bar, `${percent} %`];
      complain(CLEAR_LINE + (texts.find((text) => text.length <= room) ?? ""));
    },
    end(): void {
      if (shown !== "") complain(CLEAR_LINE);
    },
  };
}
