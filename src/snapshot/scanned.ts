/**
 * Rows that a scan is enough for: their bytes become the served JSON without
 * being parsed or encoded. Whatever is unusual about a row, an error above all,
 * is parsed in `load-rows.ts`; both make the same of every row that both can take.
 */

import {
  FIELDS,
  isString,
  type NamedField,
  servedLayout,
  type TableName,
  VALUE_BYTES,
} from "../model/schema.ts";
import { parseServedTime } from "../model/time.ts";
import { parseServedUuid } from "../model/uuid.ts";
import type { TextColumn } from "../store/bytes.ts";
import { type Arriving, createArriving, type RowChecker } from "./rows.ts";
import { ABSENT, COUNT, ESCAPED, FALSE, NULL, PLAIN, RowScanner, TRUE } from "./scan.ts";
import { createStageRow, type Stage } from "./stage.ts";

/**
 * Stages the line that begins at `from`, if it can.
 *
 * @returns the place after the line's end, or -1 when nothing was staged and the line is to be parsed
 */
export type StageScanned = (bytes: Uint8Array, from: number, line: number) => number;

/** A part of a served row: bytes that always stand there, and the field after them. */
interface Part {
  readonly before: Uint8Array;
  readonly field: number;
  /** Nothing but the field's name stands in `before`, so a source that leaves the same room says the same. */
  readonly isName: boolean;
  /** What stands in place of a value that is null or absent. */
  readonly absent: Uint8Array;
}

/** How a row is served: parts, then the end. */
interface Layout {
  readonly parts: readonly Part[];
  readonly end: Uint8Array;
  /** Bytes beside the fields. */
  readonly bytes: number;
}

function layoutOf(fields: readonly NamedField[]): Layout {
  const { parts, end } = servedLayout(fields);
  const made = parts.map(({ before, field, isName }) => {
    const absent = String(field.absent ?? "");
    const text = isString(field.type) ? JSON.stringify(absent).slice(1, -1) : absent;
    return {
      ...{ before: Buffer.from(before), field: fields.indexOf(field), isName },
      absent: Buffer.from(text),
    };
  });
  const bytes = made.reduce((sum, { before, absent }) => sum + before.length + absent.length, end.length);
  return { parts: made, end: Buffer.from(end), bytes };
}

/** No place in a source. */
const NOWHERE = -0x4000_0000;

/**
 * Puts the served row together from its source. Where both say the same the
 * bytes are taken in one run, which is most of a row in an export of our order.
 */
function appendRow(
  texts: TextColumn,
  bytes: Uint8Array,
  from: number,
  to: number,
  scan: RowScanner,
  layout: Layout,
): void {
  const { kinds, starts, ends } = scan;
  texts.beginText(to - from + layout.bytes);
  let runFrom = from;
  let runTo = from;
  for (const { before, field, isName, absent } of layout.parts) {
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
  texts.append(layout.end, 0, layout.end.length);
  texts.endText();
}

function isAbsent(kind: number): boolean {
  return kind === NULL || kind === ABSENT;
}

function standsThere(bytes: Uint8Array, from: number, to: number, wanted: Uint8Array): boolean {
  return to - from === wanted.length && wanted.every((byte, at) => bytes[from + at] === byte);
}

/** Makes what reads the field of number `at` of a scanned row into another, and says whether a scan is enough for it. */
function createRead(
  { kinds, starts, ends, counts }: RowScanner,
  fields: readonly NamedField[],
  { ids, numbers, shown }: Arriving,
): (bytes: Uint8Array, at: number) => boolean {
  const only = fields.map(({ shows }) => Buffer.from(String(shows?.only ?? "")));
  return (bytes, at) => {
    const { type, absent, shows } = fields[at]!;
    const kind = kinds[at]!;
    const from = starts[at]!;
    const to = ends[at]!;
    if (isAbsent(kind)) {
      if (type === "count") numbers[at] = Number(absent);
      return absent !== undefined && shows === undefined;
    }
    if (shows !== undefined) shown[at] = standsThere(bytes, from, to, only[at]!) ? 1 : 0;
    if (type === "id") return kind === PLAIN && parseServedUuid(bytes, from, to, ids[at]!);
    if (type === "text") return kind === PLAIN || kind === ESCAPED;
    if (type === "boolean") return kind === TRUE || kind === FALSE;
    if (type === "count") {
      numbers[at] = counts[at]!;
      return kind === COUNT;
    }
    numbers[at] = kind === PLAIN ? parseServedTime(bytes, from, to) : Number.NaN;
    return !Number.isNaN(numbers[at]);
  };
}

/** Makes what stages the rows of a table from their bytes. */
export function stageScanned(stage: Stage, table: TableName, check: RowChecker): StageScanned {
  const fields = FIELDS[table];
  const layout = layoutOf(fields);
  // Ids and times are taken in the served form alone, and each of their bytes is looked at when they are read.
  const lengths = Object.fromEntries(fields.map(({ name, type }) => [name, VALUE_BYTES[type] ?? 0]));
  const scan = new RowScanner(
    fields.map(({ name }) => name),
    lengths,
  );
  const arriving = createArriving(fields);
  const read = createRead(scan, fields, arriving);
  const stageRow = createStageRow(stage, table, check);
  const { texts } = stage[table];
  return (bytes, from, line) => {
    const to = scan.scan(bytes, from);
    if (to < 0) return -1;
    for (let at = 0; at < fields.length; at++) if (!read(bytes, at)) return -1;
    check.begin(line);
    if (stageRow(arriving)) appendRow(texts, bytes, from, to, scan, layout);
    return to;
  };
}
