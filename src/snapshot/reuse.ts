/**
 * Decides which parts of the served generation a load reuses, so that it neither reads nor makes them again: those of which all
 * is reused that they are made from. That begins with unchanged files, and with parts that were made again and equal the served
 * ones, which then take their places. Rankings are not compared: to make them and all that depends on them takes some
 * milliseconds. Rows that a program gives are no files, so of them only equal tables are reused.
 */

import { ROW_FILES, type RowFile, tableOf } from "../model/model.ts";
import type { TableName } from "../model/schema.ts";
import { indexStore, type SearchIndex } from "../search/search.ts";
import { isSame } from "../store/bytes.ts";
import type { Store } from "../store/generation.ts";
import type { IdMap } from "../store/ids.ts";
import type { Stage } from "./stage.ts";

type StorePart = Exclude<keyof Store, "id" | "contents" | "platformStats">;
type IndexPart = keyof SearchIndex;
/** `worldIds`: the ids of the visible and of the hidden worlds, each in their order. */
type Part = StorePart | "worldIds" | `index.${IndexPart}`;

/** Something that a part is made from. */
export type Origin = RowFile | Part;

/** Unchanged files, and parts that were made again and equal the served ones: {@link isReused} tells of other parts. */
export type Reused = ReadonlySet<Origin>;

const MADE_FROM: Readonly<Record<Part, readonly Origin[]>> = {
  users: ["users.ndjson"],
  worlds: ["worlds.ndjson"],
  worldIds: ["worlds.ndjson"],
  worldStats: ["world-stats.ndjson", "worldIds"],
  popular: ["world-stats.ndjson", "worldIds"],
  mostPopular: ["worlds", "popular"],
  instances: ["instances.ndjson", "worldIds"],
  worldsByOwner: ["users.ndjson", "worlds.ndjson"],
  instancesByWorld: ["instances.ndjson", "worldIds"],
  "index.users": ["users"],
  "index.worlds": ["worlds"],
  "index.places": ["popular"],
};

/** What the rows of a table are called, in a store and where a program gives them. */
export const ROWS_OF = {
  users: "users",
  worlds: "worlds",
  "world-stats": "worldStats",
  instances: "instances",
} as const satisfies Readonly<Record<TableName, StorePart>>;

function isReused(reused: Reused, origin: Origin): boolean {
  if (reused.has(origin)) return true;
  const from: readonly Origin[] | undefined = MADE_FROM[origin as Part];
  return from?.every((one) => isReused(reused, one)) ?? false;
}

/** Whether the rows of an unchanged file are reused: all else that they are made from must be, too. */
export function areRowsReused(reused: Reused, file: RowFile): boolean {
  return isReused(new Set(reused).add(file), ROWS_OF[tableOf(file)]);
}

/** The files that a load may have to read: changed files, and files with rows that depend on a changed one. */
export function filesToOpen(unchanged: ReadonlySet<RowFile>): RowFile[] {
  return ROW_FILES.filter((file) => !isReused(unchanged, ROWS_OF[tableOf(file)]));
}

/** What is needed of the served generation. */
interface Served {
  readonly store: Store;
  readonly kept: { readonly worlds?: { readonly hidden: IdMap } };
}

/** Notes the parts of a file that was read which equal the served ones, and takes the served table in place of an equal one. */
export function reuseEqual(stage: Stage, file: RowFile, { store, kept }: Served, reused: Set<Origin>): void {
  const table = tableOf(file);
  const { packed, hiddenIds } = stage[table];
  if (packed === undefined || table === "world-stats") return;
  if (packed.table.bytes.equals(store[table].bytes)) {
    stage[table].packed = { ...packed, table: store[table] };
    reused.add(table);
  }
  if (table !== "worlds") return;
  const hiddenBefore = kept.worlds?.hidden.words;
  if (hiddenBefore === undefined || !isSame(hiddenIds!.words, hiddenBefore)) return;
  if (isSame(packed.table.ids.words, store.worlds.ids.words)) reused.add("worldIds");
}

export function reusedStore({ store }: Served, reused: Reused): Partial<Store> {
  const parts = Object.entries(store) as [StorePart, unknown][];
  return Object.fromEntries(parts.filter(([part]) => isReused(reused, part)));
}

/** Indexes a loaded store for both searches. @param previous the index of the served store, whose reused parts are taken */
export function indexReusing(
  { store, reused }: { readonly store: Store; readonly reused: Reused },
  previous: SearchIndex | undefined,
): SearchIndex {
  const parts = Object.entries(previous ?? {}) as [IndexPart, unknown][];
  const taken = parts.filter(([part]) => isReused(reused, `index.${part}`));
  return indexStore(store, Object.fromEntries(taken), previous);
}
