/**
 * Turns the bytes of rows into the served JSON without parsing or encoding. `row-files.ts` parses unusual and wrong rows, with
 * the same result for every row that both can take.
 */

import {
  FIELDS,
  type FieldType,
  isString,
  type NamedField,
  servedLayout,
  type TableName,
} from "../model/schema.ts";
import { parseServedTime } from "../model/time.ts";
import { parseServedUuid } from "../model/uuid.ts";
import { type Arriving, createArriving, type RowChecker } from "./rows.ts";
import { ABSENT, COUNT, ESCAPED, FALSE, NULL, PLAIN, RowScanner, standsAt, TRUE } from "./scan.ts";
import type { Staged } from "./stage.ts";

/** The layout of a served row: parts of constant bytes and the field after them, and the end. */
function layoutOf(fields: readonly NamedField[]) {
  const { parts, end } = servedLayout(fields);
  const made = parts.map(({ before, field, isName }) => {
    const absent = String(field.absent === undefined ? "" : field.absent);
    const text = isString(field.type) ? JSON.stringify(absent).slice(1, -1) : absent;
    return {
      before: Buffer.from(before),
      field: fields.indexOf(field),
      /** `before` holds the field's name alone, so a source with the same number of bytes there has the same bytes. */
      isName,
      /** The bytes of a value that is null or absent. */
      absent: Buffer.from(text),
    };
  });
  /** Most bytes of a row besides the values of its source. */
  const bytes = made.reduce((sum, { before, absent }) => sum + before.length + absent.length, end.length);
  return { parts: made, end: Buffer.from(end), bytes };
}

const NOWHERE = -0x4000_0000;

function isAbsent(kind: number): boolean {
  return kind === NULL || kind === ABSENT;
}

/** Stages the rows of a table from their bytes. One object serves all rows of a file. */
export class ScannedRows {
  readonly #fields: readonly NamedField[];
  readonly #layout: ReturnType<typeof layoutOf>;
  readonly #scan: RowScanner;
  readonly #row: Arriving;
  /** By field: the bytes of the value that makes a row visible. */
  readonly #only: readonly Uint8Array[];
  readonly #check: RowChecker;
  readonly #staged: Staged;

  constructor(table: TableName, staged: Staged, check: RowChecker) {
    const fields = FIELDS[table];
    this.#fields = fields;
    this.#layout = layoutOf(fields);
    this.#scan = new RowScanner(fields);
    this.#row = createArriving(fields);
    this.#only = fields.map(({ shows }) => Buffer.from(String(shows?.only ?? "")));
    this.#check = check;
    this.#staged = staged;
  }

  /** Stages the line that begins at `from`. @returns the position after its end; -1 if it must be parsed, and nothing was staged */
  stage(bytes: Uint8Array, from: number, line: number): number {
    const to = this.#scan.scan(bytes, from);
    if (to < 0) return -1;
    for (let at = 0; at < this.#fields.length; at++) if (!this.#read(bytes, at)) return -1;
    this.#check.line = line;
    if (this.#staged.add(this.#row, this.#check)) this.#append(bytes, from, to);
    return to;
  }

  #read(bytes: Uint8Array, at: number): boolean {
    const { type, absent, shows } = this.#fields[at]!;
    const { kinds, starts, ends } = this.#scan;
    const { shown, numbers } = this.#row;
    if (isAbsent(kinds[at]!)) {
      if (type === "count") numbers[at] = Number(absent);
      return absent !== undefined && shows === undefined;
    }
    const from = starts[at]!;
    const only = this.#only[at]!;
    if (shows !== undefined)
      shown[at] = ends[at]! - from === only.length && standsAt(bytes, from, only) ? 1 : 0;
    return this.#readValue(bytes, at, type);
  }

  #readValue(bytes: Uint8Array, at: number, type: FieldType): boolean {
    const { kinds, starts, ends, counts } = this.#scan;
    const { ids, numbers } = this.#row;
    const kind = kinds[at]!;
    if (type === "id") return kind === PLAIN && parseServedUuid(bytes, starts[at]!, ends[at]!, ids[at]!);
    if (type === "text") return kind === PLAIN || kind === ESCAPED;
    if (type === "boolean") return kind === TRUE || kind === FALSE;
    if (type === "count") {
      numbers[at] = counts[at]!;
      return kind === COUNT;
    }
    numbers[at] = kind === PLAIN ? parseServedTime(bytes, starts[at]!, ends[at]!) : Number.NaN;
    return !Number.isNaN(numbers[at]);
  }

  /**
   * Assembles the served row from its source. Equal bytes are copied in one run: most of a row if its fields have the served order.
   */
  #append(bytes: Uint8Array, from: number, to: number): void {
    const { kinds, starts, ends } = this.#scan;
    const { texts } = this.#staged;
    const { parts, end, bytes: more } = this.#layout;
    texts.beginText(to - from + more);
    let runFrom = from;
    let runTo = from;
    for (const { before, field, isName, absent } of parts) {
      const isThere = !isAbsent(kinds[field]!);
      if (isThere && isName && starts[field]! - runTo === before.length) {
        runTo = ends[field]!;
        continue;
      }
      texts.append(bytes, runFrom, runTo);
      texts.append(before, 0, before.length);
      if (!isThere) texts.append(absent, 0, absent.length);
      runFrom = isThere ? starts[field]! : NOWHERE;
      runTo = isThere ? ends[field]! : NOWHERE;
    }
    texts.append(bytes, runFrom, runTo);
    texts.append(end, 0, end.length);
    texts.endText();
  }
}
