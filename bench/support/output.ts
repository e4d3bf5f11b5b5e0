/** Output of benches: lines and tables of Markdown, readable on a terminal and in a document. */

import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { ROOT } from "./child.ts";
import { median } from "./load.ts";

/** A cell: a text, or undefined without a figure. */
export type Cell = string | number | undefined;

/**
 * A table with columns as wide as their contents.
 *
 * @param names number of leading columns with names; the others hold figures
 */
export function markdown(head: readonly Cell[], rows: readonly (readonly Cell[])[], names = 1): string {
  const texts = [head, ...rows].map((row) => row.map((cell) => String(cell ?? "–").replaceAll("|", "\\|")));
  const widths = texts[0]!.map((_, column) => Math.max(4, ...texts.map((row) => row[column]!.length)));
  const line = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;
  const padded = texts.map((row) =>
    line(
      row.map((cell, column) =>
        column < names ? cell.padEnd(widths[column]!) : cell.padStart(widths[column]!),
      ),
    ),
  );
  const rule = line(
    widths.map((width, at) => (at < names ? "-".repeat(width) : `${"-".repeat(width - 1)}:`)),
  );
  return [padded[0], rule, ...padded.slice(1)].join("\n");
}

/** A figure with `digits` decimals; a dash if it is not finite. */
export function fixed(value: number, digits: number): string {
  return Number.isFinite(value) ? value.toFixed(digits) : "–";
}

/** A rounded number with thousands separators; a dash if it is not finite. */
export function whole(value: number): string {
  return Number.isFinite(value) ? Math.round(value).toLocaleString("en-US") : "–";
}

/**
 * A figure over some rounds: its median, then in brackets the lowest and the highest. A dash without rounds.
 *
 * @param show the number of decimals, or a function that formats a number
 */
export function spread(values: readonly number[], show: number | ((value: number) => string)): string {
  const sorted = values.filter(Number.isFinite).sort((a, b) => a - b);
  if (sorted.length === 0) return "–";
  const write = typeof show === "number" ? (value: number) => fixed(value, show) : show;
  return `${write(median(sorted))} (${write(sorted[0]!)}–${write(sorted.at(-1)!)})`;
}

/** The machine's processors, and the running version of Node. */
export function machine(): string {
  return `Node ${process.version}, ${cpus().length} × ${cpus()[0]!.model.trim()}`;
}

export function git(...args: string[]): string {
  return execFileSync("git", args, { cwd: ROOT, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] }).trim();
}

/** The commit of this tree, with a note if a file differs from it. */
export function commitOf(): string {
  try {
    const commit = git("rev-parse", "--short", "HEAD");
    return git("status", "--porcelain") === "" ? commit : `${commit} with changes`;
  } catch {
    return "unknown";
  }
}

/** Writes a bench's figures for programs, if a file was given. */
export function saveJson(file: string | undefined, value: unknown): void {
  if (file !== undefined) writeFileSync(file, `${JSON.stringify(value, null, 2)}\n`);
}
