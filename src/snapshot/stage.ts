/**
 * Stages rows between a file and a store, after `row-files.ts` or `scanned.ts` checked their fields. A visible row is encoded at
 * once, so that nothing else of it survives its line. Hidden rows leave only their ids, to detect duplicates and dangling
 * references; a store has no hidden rows.
 */

import { FIELDS, ROWS, TABLES, type TableName } from "../model/schema.ts";
import { formatUuid } from "../model/uuid.ts";
import { type ArrivedRows, type Packed, packRows } from "../store/build.ts";
import { Float64Column, sharedUint32, TextColumn, Uint32Column } from "../store/bytes.ts";
import { ArrivingIds, copyWords, createIdMap, findWords, type IdMap } from "../store/ids.ts";
import { NO_GROUP } from "../store/lists.ts";
import type { Arriving, RowChecker } from "./rows.ts";

export interface Dangling {
  count: number;
  /** The first few, as `file:line: field: …`. */
  readonly examples: string[];
}

/** Most dangling references per file that are reported as examples. */
const MOST_DANGLING = 20;

export type Hidden = Record<string, number>;

export interface StageLimits {
  readonly rows: number;
  /** Bytes of the visible rows of a file. */
  readonly tableBytes: number;
}

const REFERRED: ReadonlySet<TableName> = new Set(
  TABLES.flatMap((table) => FIELDS[table].flatMap(({ refersTo }) => refersTo?.table ?? [])),
);

/** Staged rows of one file. Columns are by visible row unless they say otherwise. */
export class Staged implements ArrivedRows {
  readonly ids: ArrivingIds;
  readonly lines = new Uint32Column();
  readonly visible = new Uint32Column();
  readonly numbers: ReadonlyMap<string, Float64Column>;
  /** The JSON of rows; statistics are encoded once all have arrived. */
  readonly texts: TextColumn;
  readonly parents = new Uint32Column();
  /** Ids in optional references (owners of worlds): four words each, by number of arrival, hidden rows included. */
  readonly references = new Uint32Column();
  readonly hidden: Hidden = {};
  readonly dangling: Dangling = { count: 0, examples: [] };
  /** The table, once all its rows have arrived and were good; world statistics are packed with the store. */
  packed: Packed | undefined;
  /** The ids of its hidden rows, if other tables refer to it. Undefined as long as `packed` is. */
  hiddenIds: IdMap | undefined;
  readonly #table: TableName;
  readonly #isListed: boolean;
  /** Columns of {@link numbers}, and their fields. */
  readonly #columns: readonly { readonly column: Float64Column; readonly at: number }[];
  /** The field with a reference, below 0 for none, and the table that it refers to. */
  readonly #referring: number;
  readonly #target: Staged | undefined;
  /** The noun for a row that a visible row needs. */
  readonly #needed: string | undefined;
  readonly #shows: readonly { readonly at: number; readonly otherwise: string }[];

  /** @param earlier the tables that this one may refer to */
  constructor(
    table: TableName,
    earlier: Partial<Readonly<Record<TableName, Staged>>>,
    spare: Buffer[],
    { rows, tableBytes }: Partial<StageLimits>,
  ) {
    const fields = FIELDS[table];
    this.#table = table;
    this.#isListed = "createdAt" in ROWS[table];
    this.ids = new ArrivingIds(rows);
    this.texts = new TextColumn(spare, tableBytes);
    this.#columns = fields.flatMap(({ name, type }, at) => {
      const isStored = this.#isListed ? name === "createdAt" : type === "count";
      return isStored ? [{ column: new Float64Column(), at }] : [];
    });
    this.numbers = new Map(this.#columns.map(({ column, at }) => [fields[at]!.name, column]));
    this.#referring = fields.findIndex(({ refersTo }) => refersTo !== undefined);
    const { refersTo } = fields[this.#referring] ?? {};
    this.#target = refersTo && earlier[refersTo.table];
    this.#needed = refersTo?.needs ? refersTo.table.slice(0, -1) : undefined;
    this.#shows = fields.flatMap(({ shows }, at) => (shows ? [{ at, otherwise: shows.otherwise }] : []));
  }

  /** Stages a row. @returns whether to push its JSON to the texts: true for a visible row, except of statistics */
  add(row: Arriving, check: RowChecker): boolean {
    const id = row.ids[0]!;
    const before = this.ids.add(id, 0);
    if (before >= 0) {
      const [key] = FIELDS[this.#table];
      const place = check.placeOf(this.lines.values[before]!);
      check.report(`${key!.name}: is a duplicate of ${place}: ${formatUuid(id, 0)}`);
      return false;
    }
    this.lines.push(check.line);
    const referred = this.#resolve(row, check);
    const why = this.#whyHidden(row, referred);
    if (why !== undefined) {
      this.hidden[why] = (this.hidden[why] ?? 0) + 1;
      return false;
    }
    if (this.#target !== undefined) this.parents.push(referred < 0 ? NO_GROUP : referred);
    this.visible.push(this.ids.length - 1);
    for (const { column, at } of this.#columns) column.push(row.numbers[at]!);
    return this.#isListed;
  }

  pack(): void {
    if (!this.#isListed) return;
    this.packed = packRows(this);
    if (REFERRED.has(this.#table)) this.hiddenIds = createIdMap(this.#hiddenWords());
  }

  /** Resolves a row's reference, and counts a dangling one. @returns as {@link findReferred} */
  #resolve({ ids }: Arriving, check: RowChecker): number {
    const at = this.#referring;
    if (at < 0) return NOWHERE;
    const id = ids[at]!;
    if (this.#needed === undefined) for (let word = 0; word < 4; word++) this.references.push(id[word]!);
    const row = findReferred(this.#target!, id, 0);
    if (row === NOWHERE) dangle(this.dangling, check.place, FIELDS[this.#table][at]!.name, id);
    return row;
  }

  #whyHidden({ shown }: Arriving, referred: number): string | undefined {
    for (const { at, otherwise } of this.#shows) if (shown[at] === 0) return otherwise;
    if (this.#needed === undefined || referred >= 0) return undefined;
    return referred === HIDDEN ? `${this.#needed} is hidden` : `${this.#needed} is not in the snapshot`;
  }

  #hiddenWords(): Uint32Array {
    const { ids, visible } = this;
    const hidden = sharedUint32((ids.length - visible.length) * 4);
    for (let arrival = 0, next = 0; (arrival - next) * 4 < hidden.length; arrival++) {
      if (next < visible.length && visible.values[next] === arrival) next++;
      else copyWords(ids.words, arrival * 4, hidden, (arrival - next) * 4);
    }
    return hidden;
  }
}

export type Stage = Readonly<Record<TableName, Staged>>;

export function createStage(limits: Partial<StageLimits> = {}): Stage {
  const spare: Buffer[] = [];
  const stage: Partial<Record<TableName, Staged>> = {};
  for (const table of TABLES) stage[table] = new Staged(table, stage, spare, limits);
  return stage as Stage;
}

/** Counts a dangling reference. @param at position of its id in `words` */
export function dangle(dangling: Dangling, place: string, field: string, words: Uint32Array, at = 0): void {
  dangling.count++;
  if (dangling.examples.length < MOST_DANGLING) {
    dangling.examples.push(`${place}: ${field}: dangling reference: ${formatUuid(words, at)}`);
  }
}

/** Stands for the row of a dangling reference. */
export const NOWHERE = -1;
const HIDDEN = -2;

/** Resolves a reference. @returns the row of a table, {@link NOWHERE} or {@link HIDDEN} */
export function findReferred({ packed, hiddenIds }: Staged, id: Uint32Array, at: number): number {
  // A table with problems is not packed; its snapshot is refused in any case.
  if (packed === undefined || hiddenIds === undefined) return HIDDEN;
  const row = findWords(packed.table.ids, id, at);
  return row >= 0 || findWords(hiddenIds, id, at) < 0 ? row : HIDDEN;
}
