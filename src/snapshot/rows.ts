/** Checks of the fields of a row. */

import type { FieldType, NamedField } from "../model/schema.ts";
import { formatTime, parseTime } from "../model/time.ts";
import { parseUuid } from "../model/uuid.ts";
import { isCount, isObject, notJson, parsedJson } from "../util/json.ts";
import { type Problems, showValue } from "./problems.ts";

export type Row = Readonly<Record<string, unknown>>;

/** A checked row before it is staged, by number of the field. One object serves all rows of a file. */
export interface Arriving {
  /** Ids, four words each. */
  readonly ids: readonly Uint32Array[];
  /** Counts, and times in milliseconds since the epoch. */
  readonly numbers: Float64Array;
  /** Not 0 if the field has the value that makes a row visible. */
  readonly shown: Uint8Array;
}

export function createArriving(fields: readonly NamedField[]): Arriving {
  return {
    ids: fields.map(() => new Uint32Array(4)),
    numbers: new Float64Array(fields.length),
    shown: new Uint8Array(fields.length),
  };
}

const WANTED: Readonly<Record<FieldType, string>> = {
  id: "a UUID",
  text: "a string",
  boolean: "true or false",
  count: "a whole number from 0 to 9007199254740991",
  time: "a real time like 2026-01-31T09:30:00.000Z",
};

function whyWrong(type: FieldType, value: unknown): string {
  return value === undefined ? "is missing" : `must be ${WANTED[type]}, is ${showValue(value)}`;
}

/** The checks of one file, or of the rows that a program gives as a table: remembers the current line, or index. */
export class RowChecker {
  readonly file: string;
  readonly #problems: Problems;
  readonly #by: "line" | "index";
  line = 0;

  constructor(file: string, problems: Problems, by: "line" | "index" = "line") {
    this.file = file;
    this.#problems = problems;
    this.#by = by;
  }

  /** The place of the current row in messages: `users.ndjson:4`, `users[3]`. */
  get place(): string {
    return this.#by === "line" ? `${this.file}:${this.line}` : `${this.file}[${this.line}]`;
  }

  /** The place of another row in the same file or table: `line 4`, `users[3]`. */
  placeOf(line: number): string {
    return this.#by === "line" ? `line ${line}` : `${this.file}[${line}]`;
  }

  /** Parses a line into a row, or reports why it is not one. */
  parse(text: string, line: number): Row | undefined {
    this.line = line;
    const row = parsedJson(text);
    if (isObject(row)) return row;
    this.report(row === undefined ? notJson(text, true) : "must be a JSON object");
    return undefined;
  }

  report(what: string): void {
    this.#problems.file(this.place, what);
  }

  /** Reads the field of number `at` into a row. @returns as {@link readValue}; a wrong value is reported */
  read(field: NamedField, given: unknown, row: Arriving, at: number): unknown {
    const { name, type, absent, shows } = field;
    const value = absent === undefined ? given : (given ?? absent);
    if (shows !== undefined) row.shown[at] = value === shows.only ? 1 : 0;
    if (value === null && absent === null) {
      row.numbers[at] = 0;
      return null;
    }
    const served = readValue(type, value, row, at);
    if (served === undefined) this.report(`${name}: ${whyWrong(type, value)}`);
    return served;
  }
}

/** A value as it is served, with U+FFFD for a lone surrogate in a text; undefined if it is of another type. */
function readValue(type: FieldType, value: unknown, { ids, numbers }: Arriving, at: number): unknown {
  switch (type) {
    case "text":
      return typeof value === "string" ? value.toWellFormed() : undefined;
    case "boolean":
      return typeof value === "boolean" ? value : undefined;
    case "id":
      return typeof value === "string" && parseUuid(value, ids[at]!, 0) ? value.toLowerCase() : undefined;
    case "count":
      if (!isCount(value)) return undefined;
      numbers[at] = value;
      return value;
    case "time":
      numbers[at] = typeof value === "string" ? parseTime(value) : Number.NaN;
      return Number.isNaN(numbers[at]) ? undefined : formatTime(numbers[at]!);
  }
}
