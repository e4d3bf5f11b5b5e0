/** Turns staged rows into packed tables, and packed tables into a store: sort, pack, rank, group. */

import type { Period, WorldStats } from "../model/model.ts";
import { type Float64Column, sharedUint32, TextColumn, type Uint32Column } from "./bytes.ts";
import { ENCODERS } from "./encoders.ts";
import type { Store } from "./generation.ts";
import { type ArrivingIds, compareWords, copyWords, createIdMap } from "./ids.ts";
import { groupRows, NO_GROUP } from "./lists.ts";
import { countUp, newestFirst, sortHighestFirst } from "./order.ts";
import { type Block, copyFirstRows, idText, packBlock, type Table } from "./table.ts";

/** Visible rows of one table, in order of arrival. */
export interface ArrivedRows {
  readonly ids: ArrivingIds;
  /** Number in `ids` of each visible row. */
  readonly visible: Uint32Column;
  /** By field: creation times in milliseconds since the epoch, or the counts of world statistics. */
  readonly numbers: ReadonlyMap<string, Float64Column>;
  readonly texts: TextColumn;
  /** Row of the user or world that each row belongs to, or NO_GROUP. Empty for users. */
  readonly parents: Uint32Column;
}

/** Statistics of visible worlds, in order of arrival. */
export type ArrivedStats = Pick<ArrivedRows, "numbers" | "parents">;

export interface Packed {
  readonly table: Table;
  /** Row of each id, by number of arrival; NO_GROUP for a hidden one. */
  readonly rows: Uint32Array;
  readonly parents: Uint32Array;
}

/** Sorts and packs one table, and releases its staged texts. */
export function packRows({ ids, visible, numbers, texts, parents }: ArrivedRows): Packed {
  const arrived = ids.words;
  const order = newestFirst(numbers.get("createdAt")!.values, visible.length, (a, b) =>
    compareWords(arrived, visible.values[a]! * 4, visible.values[b]! * 4),
  );
  const rows = new Uint32Array(ids.length).fill(NO_GROUP);
  const words = sharedUint32(order.length * 4);
  for (let row = 0; row < order.length; row++) {
    const arrival = visible.values[order[row]!]!;
    rows[arrival] = row;
    copyWords(arrived, arrival * 4, words, row * 4);
  }
  const table = { ...packBlock(texts, order), ids: createIdMap(words) };
  texts.recycle();
  const parentRows = parents.length > 0 ? order.map((at) => parents.values[at]!) : new Uint32Array(0);
  return { table, rows, parents: parentRows };
}

type Counts = Readonly<Record<CountName, Float64Array>>;
type CountName = Exclude<keyof WorldStats, "worldId">;

/** One column per count, with zeros for worlds without statistics. */
function statsByWorld(worlds: Table, { numbers, parents }: ArrivedStats): Counts {
  const columns = Array.from(numbers, ([name, { values }]) => {
    const column = new Float64Array(worlds.rows);
    for (let at = 0; at < parents.length; at++) column[parents.values[at]!] = values[at]!;
    return [name, column];
  });
  return Object.fromEntries(columns) as Counts;
}

const RANKED_BY: Readonly<Record<Period, CountName>> = {
  all: "totalVisits",
  week: "visitsLast7Days",
  month: "visitsLast30Days",
};

/** Ranks world rows: the period's count, then unique visitors, then list order. */
function rank(stats: Counts, period: Period): Uint32Array {
  const order = countUp(stats.totalVisits.length, sharedUint32(stats.totalVisits.length));
  sortHighestFirst(order, stats.uniqueVisitors);
  sortHighestFirst(order, stats[RANKED_BY[period]]);
  return order;
}

function packStats(worlds: Table, stats: Counts): Block {
  const texts = new TextColumn();
  const columns = Object.entries(stats);
  for (let row = 0; row < worlds.rows; row++) {
    const values: Record<string, string | number> = { worldId: idText(worlds, row) };
    for (const [name, column] of columns) values[name] = column[row]!;
    texts.push(ENCODERS.worldStats(values));
  }
  return packBlock(texts, countUp(worlds.rows));
}

function rankWorlds(worlds: Table, arrivedStats: ArrivedStats): Pick<Store, "worldStats" | "popular"> {
  const stats = statsByWorld(worlds, arrivedStats);
  return {
    worldStats: packStats(worlds, stats),
    popular: { all: rank(stats, "all"), week: rank(stats, "week"), month: rank(stats, "month") },
  };
}

/** The copies of the first rows of each ranking; see {@link Store}. */
export function copyMostPopular({ worlds, popular }: Pick<Store, "worlds" | "popular">) {
  return {
    all: copyFirstRows(worlds, popular.all),
    week: copyFirstRows(worlds, popular.week),
    month: copyFirstRows(worlds, popular.month),
  };
}

/** Builds a store from packed tables. @param made parts that exist already @throws {LimitError} when a table is too large */
export function buildStore(
  id: string,
  contents: string,
  { users, worlds, instances }: { users: Packed; worlds: Packed; instances: Packed },
  arrivedStats: ArrivedStats,
  made: Partial<Store> = {},
): Store {
  const ranked =
    made.worldStats && made.popular
      ? { worldStats: made.worldStats, popular: made.popular }
      : rankWorlds(worlds.table, arrivedStats);
  return {
    id,
    contents,
    users: users.table,
    worlds: worlds.table,
    instances: instances.table,
    ...ranked,
    mostPopular: made.mostPopular ?? copyMostPopular({ worlds: worlds.table, popular: ranked.popular }),
    worldsByOwner: made.worldsByOwner ?? groupRows(worlds.parents, users.table.rows),
    instancesByWorld: made.instancesByWorld ?? groupRows(instances.parents, worlds.table.rows),
    platformStats: ENCODERS.platformStats({
      totalUsers: users.table.rows,
      totalPublicWorlds: worlds.table.rows,
      totalPublicInstances: instances.table.rows,
    }),
  };
}
