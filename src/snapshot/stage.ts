/**
 * Stages rows between a file and a store, after `load-rows.ts` or `scanned.ts` checked their fields.
 *
 * A visible row is encoded at once, so that nothing else of it survives its line. Hidden rows leave only their ids, to detect
 * duplicates and dangling references; a store has no hidden rows.
 */

import { byTable, FIELDS, type NamedField, ROWS, TABLES, type TableName } from "../model/schema.ts";
import { formatUuid } from "../model/uuid.ts";
import { type Packed, packRows } from "../store/build.ts";
import { Float64Column, sharedUint32, TextColumn, Uint32Column } from "../store/bytes.ts";
import { ArrivingIds, copyWords, createIdMap, findWords, type IdMap } from "../store/ids.ts";
import { NO_GROUP } from "../store/lists.ts";
import type { Arriving, RowChecker } from "./rows.ts";

/** References of one file to missing rows. */
export interface Dangling {
  count: number;
  /** The first few, as `file:line: field: …`. */
  readonly examples: string[];
}

/** Most dangling references per file that are reported as examples. */
const MOST_DANGLING = 20;

/** Number of hidden rows, by reason. */
export type Hidden = Record<string, number>;

/** Staged rows of one file. Columns are by visible row unless they say otherwise. */
export interface Staged {
  /** Ids of all rows, hidden ones too, numbered in order of arrival. */
  readonly ids: ArrivingIds;
  /** Line of each row, by number of arrival. */
  readonly lines: Uint32Column;
  /** Number of arrival of each visible row. */
  readonly visible: Uint32Column;
  /** Input of the store, by field: creation times in milliseconds since the epoch, or counts. */
  readonly numbers: ReadonlyMap<string, Float64Column>;
  /** The JSON of rows; statistics are encoded once all have arrived. */
  readonly texts: TextColumn;
  /** Row of a world's owner, or of an instance's or statistics' world; NO_GROUP for none. */
  readonly parents: Uint32Column;
  /** Ids in optional references (owners of worlds): four words each, by number of arrival, hidden rows included. */
  readonly references: Uint32Column;
  readonly hidden: Hidden;
  readonly dangling: Dangling;
  /** The table, once all its rows have arrived and were good; world statistics are packed with the store. */
  packed: Packed | undefined;
  /** Ids that other files may refer to: visible and hidden rows. Undefined as long as `packed` is. */
  referred: Referred | undefined;
}

/** Resolves references to a table. */
export interface Referred {
  readonly ids: IdMap;
  /** Ids of hidden rows. */
  readonly hidden: IdMap;
}

export type Stage = Readonly<Record<TableName, Staged>>;

/** Limits of a stage; see `limits.ts`. */
export interface StageLimits {
  /** Rows of a file. */
  readonly rows: number;
  /** Bytes of the visible rows of a file. */
  readonly tableBytes: number;
}

/** Whether the rows of a table appear in lists, newest first. */
function isListed(table: TableName): boolean {
  return "createdAt" in ROWS[table];
}

function createStaged(table: TableName, spare: Buffer[], { rows, tableBytes }: Partial<StageLimits>): Staged {
  const isNumber = ({ name, type }: NamedField): boolean =>
    isListed(table) ? name === "createdAt" : type === "count";
  return {
    ids: new ArrivingIds(rows),
    lines: new Uint32Column(),
    visible: new Uint32Column(),
    numbers: new Map(FIELDS[table].filter(isNumber).map(({ name }) => [name, new Float64Column()])),
    texts: new TextColumn(spare, tableBytes),
    parents: new Uint32Column(),
    references: new Uint32Column(),
    hidden: {},
    dangling: { count: 0, examples: [] },
    packed: undefined,
    referred: undefined,
  };
}

export function createStage(limits: Partial<StageLimits> = {}): Stage {
  const spare: Buffer[] = [];
  return byTable((table) => createStaged(table, spare, limits));
}

/** Counts a dangling reference. @param at position of its id in `words` */
export function dangle(
  dangling: Dangling,
  { file, line }: Pick<RowChecker, "file" | "line">,
  field: string,
  words: Uint32Array,
  at = 0,
): void {
  dangling.count++;
  if (dangling.examples.length < MOST_DANGLING) {
    dangling.examples.push(`${file}:${line}: ${field}: dangling reference: ${formatUuid(words, at)}`);
  }
}

/** Stages a row. @returns whether to push its JSON to the table's texts: true for a visible row, except of statistics */
export type StageRow = (row: Arriving) => boolean;

/** Makes a function that resolves a row's reference and counts a dangling one; it returns the result of {@link findReferred}. */
function createReference(stage: Stage, table: TableName, check: RowChecker): (row: Arriving) => number {
  const { dangling, references } = stage[table];
  const at = FIELDS[table].findIndex(({ refersTo }) => refersTo !== undefined);
  if (at < 0) return () => NOWHERE;
  const { name, refersTo } = FIELDS[table][at]!;
  const target = stage[refersTo!.table];
  return ({ ids }) => {
    const id = ids[at]!;
    if (!refersTo!.needs) for (let word = 0; word < 4; word++) references.push(id[word]!);
    const row = findReferred(target.referred, id, 0);
    if (row === NOWHERE) dangle(dangling, check, name, id);
    return row;
  };
}

/** Makes a function that tells why a row is hidden; `referred` is the result of {@link findReferred} for its reference. */
function createVisibility(table: TableName): (row: Arriving, referred: number) => string | undefined {
  const fields = FIELDS[table];
  const shows = fields.flatMap((field, at) => (field.shows ? [{ at, ...field.shows }] : []));
  const needed = fields.find(({ refersTo }) => refersTo?.needs)?.refersTo?.table.slice(0, -1);
  return ({ shown }, referred) => {
    for (const { at, otherwise } of shows) if (shown[at] === 0) return otherwise;
    if (needed === undefined || referred >= 0) return undefined;
    return referred === HIDDEN ? `${needed} is hidden` : `${needed} is not in the snapshot`;
  };
}

export function createStageRow(stage: Stage, table: TableName, check: RowChecker): StageRow {
  const { ids, lines, visible, numbers, parents, hidden } = stage[table];
  const fields = FIELDS[table];
  const key = fields[0]!.name;
  const columns = Array.from(numbers, ([name, column]) => {
    return { column, at: fields.findIndex((field) => field.name === name) };
  });
  const hasParent = fields.some(({ refersTo }) => refersTo !== undefined);
  const isEncoded = isListed(table);
  const refer = createReference(stage, table, check);
  const whyHidden = createVisibility(table);
  return (row) => {
    const id = row.ids[0]!;
    const before = ids.add(id, 0);
    if (before >= 0) {
      check.report(key, `is a duplicate of line ${lines.values[before]}: ${formatUuid(id, 0)}`);
      return false;
    }
    lines.push(check.line);
    const referred = refer(row);
    const why = whyHidden(row, referred);
    if (why !== undefined) {
      hidden[why] = (hidden[why] ?? 0) + 1;
      return false;
    }
    if (hasParent) parents.push(groupOf(referred));
    visible.push(ids.length - 1);
    for (const { column, at } of columns) column.push(row.numbers[at]!);
    return isEncoded;
  };
}

/** Stands for the row of a dangling reference. */
export const NOWHERE = -1;
const HIDDEN = -2;

/**
 * Resolves a reference.
 *
 * @param referred undefined for a table with problems; its snapshot is refused in any case
 * @returns the row of a table, {@link NOWHERE} or {@link HIDDEN}
 */
export function findReferred(referred: Referred | undefined, id: Uint32Array, at: number): number {
  if (referred === undefined) return HIDDEN;
  const row = findWords(referred.ids, id, at);
  return row >= 0 || findWords(referred.hidden, id, at) < 0 ? row : HIDDEN;
}

export function groupOf(referred: number): number {
  return referred < 0 ? NO_GROUP : referred;
}

/** Tables that others refer to. */
const REFERRED = new Set(
  TABLES.flatMap((table) => FIELDS[table].flatMap(({ refersTo }) => refersTo?.table ?? [])),
);

/** Packs a table with good rows only, if they appear in lists. */
export function packStaged(stage: Stage, table: TableName): void {
  if (!isListed(table)) return;
  const staged = stage[table];
  staged.packed = packRows(staged);
  if (!REFERRED.has(table as "users")) return;
  staged.referred = { ids: staged.packed.table.ids, hidden: createIdMap(hiddenIdsOf(staged)) };
}

/** The ids of a file's hidden rows, four words each. */
function hiddenIdsOf({ ids, visible }: Staged): Uint32Array {
  const hidden = sharedUint32((ids.length - visible.length) * 4);
  for (let arrival = 0, next = 0; (arrival - next) * 4 < hidden.length; arrival++) {
    if (next < visible.length && visible.values[next] === arrival) next++;
    else copyWords(ids.words, arrival * 4, hidden, (arrival - next) * 4);
  }
  return hidden;
}
