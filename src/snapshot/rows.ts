/**
 * Checks on the fields of a row. Written out by hand rather than interpreted
 * from a schema, since a million rows pass through here.
 */

import { parseTime } from "../model/time.ts";
import { parseUuid } from "../model/uuid.ts";
import { notJson } from "../util/json.ts";
import { type Problems, showValue } from "./problems.ts";

/** A parsed line. */
export type Row = Readonly<Record<string, unknown>>;

/** The checks of one file: remembers the line under way and whether it is still good. */
export class RowChecker {
  readonly file: string;
  readonly #problems: Problems;
  line = 0;
  /** No problem in this line so far. */
  good = true;

  constructor(file: string, problems: Problems) {
    this.file = file;
    this.#problems = problems;
  }

  /** Begins another line. */
  begin(line: number): void {
    this.line = line;
    this.good = true;
  }

  /** Parses a line into a row, or reports why it is none. */
  parse(text: string, line: number): Row | undefined {
    this.begin(line);
    let row: unknown;
    try {
      row = JSON.parse(text);
    } catch {
      // The parser's own message quotes the text, which may hold fields that are not ours to show.
      this.#problems.line(this.file, line, notJson(text, true));
      this.good = false;
      return undefined;
    }
    if (typeof row === "object" && row !== null && !Array.isArray(row)) return row as Row;
    this.#problems.line(this.file, line, "must be a JSON object");
    this.good = false;
    return undefined;
  }

  report(field: string, what: string): void {
    this.good = false;
    this.#problems.field(this.file, this.line, field, what);
  }

  /** Reads an id into `words[at]`. */
  uuid(field: string, value: unknown, words: Uint32Array, at: number): void {
    if (typeof value !== "string" || !parseUuid(value, words, at)) this.#wrong(field, value, "a UUID");
  }

  /** A string; a lone surrogate in it becomes U+FFFD. */
  text(field: string, value: unknown): string {
    if (typeof value === "string") return value.toWellFormed();
    this.#wrong(field, value, "a string");
    return "";
  }

  /** A string, where null or absence means "". */
  optionalText(field: string, value: unknown): string {
    return value === undefined || value === null ? "" : this.text(field, value);
  }

  boolean(field: string, value: unknown): boolean {
    if (typeof value !== "boolean") this.#wrong(field, value, "true or false");
    return value === true;
  }

  count(field: string, value: unknown): number {
    if (Number.isSafeInteger(value) && (value as number) >= 0) return value as number;
    this.#wrong(field, value, "a whole number from 0 to 9007199254740991");
    return 0;
  }

  /** A time, in milliseconds since the epoch. */
  time(field: string, value: unknown): number {
    const at = typeof value === "string" ? parseTime(value) : Number.NaN;
    if (!Number.isNaN(at)) return at;
    this.#wrong(field, value, "a real time like 2026-01-31T09:30:00.000Z");
    return 0;
  }

  #wrong(field: string, value: unknown, wanted: string): void {
    this.report(field, value === undefined ? "is missing" : `must be ${wanted}, is ${showValue(value)}`);
  }
}
