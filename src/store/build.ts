/** Staged rows to a store: sort, pack, rank, group. */

import type { Period } from "../model.ts";
import { sharedUint32, TextColumn } from "./bytes.ts";
import { encodePlatformStats, encodeWorldStats, FOUND_WORLD_TAIL } from "./encode.ts";
import type { Store } from "./generation.ts";
import { type ArrivingIds, findWords, type IdMap } from "./ids.ts";
import { groupRows, NO_GROUP } from "./lists.ts";
import { countUp, newestFirst, sortHighestFirst } from "./order.ts";
import { type Block, idText, packBlock, packTable, type Table } from "./table.ts";

/** A growing column, as far as building a store needs it. */
interface Column<Values> {
  readonly values: Values;
  readonly length: number;
}

/** Visible rows of one table as they arrived. */
export interface ArrivedRows {
  readonly ids: ArrivingIds;
  /** Number in `ids` of each visible row. */
  readonly visible: Column<Uint32Array>;
  /** Milliseconds since the epoch. */
  readonly times: Column<Float64Array>;
  readonly texts: TextColumn;
  /** Four words a row: the id of the row it belongs to. Empty for users. */
  readonly parents: Column<Uint32Array>;
}

/** World statistics as they arrived; columns are by number in `ids`. */
export interface ArrivedStats {
  readonly ids: ArrivingIds;
  readonly totalVisits: Column<Float64Array>;
  readonly uniqueVisitors: Column<Float64Array>;
  readonly visitsLast7Days: Column<Float64Array>;
  readonly visitsLast30Days: Column<Float64Array>;
}

/** All rows as they arrived. */
export interface Arrived {
  readonly users: ArrivedRows;
  readonly worlds: ArrivedRows;
  readonly stats: ArrivedStats;
  readonly instances: ArrivedRows;
}

interface Ordered {
  readonly table: Table;
  /** Place among the arrived visible rows of each row. */
  readonly order: Uint32Array;
}

function orderAndPack(rows: ArrivedRows): Ordered {
  const count = rows.visible.length;
  const words = new Uint32Array(count * 4);
  for (let at = 0; at < count; at++) {
    const from = rows.visible.values[at]! * 4;
    for (let word = 0; word < 4; word++) words[at * 4 + word] = rows.ids.words[from + word]!;
  }
  const order = newestFirst(rows.times.values, words, count);
  return { table: packTable(rows.texts, words, order), order };
}

/** For each row the row of its parent, or NO_GROUP where the parent is not visible. */
function parentRows({ order }: Ordered, parents: Uint32Array, map: IdMap): Uint32Array {
  return Uint32Array.from(order, (at) => {
    const parent = findWords(map, parents, at * 4);
    return parent < 0 ? NO_GROUP : parent;
  });
}

/** Statistics in world order: one column a count, zeros where a world has no row. */
function statsByWorld(worlds: Table, stats: ArrivedStats): Record<StatsColumn, Float64Array> {
  const byWorld = {
    totalVisits: new Float64Array(worlds.rows),
    uniqueVisitors: new Float64Array(worlds.rows),
    visitsLast7Days: new Float64Array(worlds.rows),
    visitsLast30Days: new Float64Array(worlds.rows),
  };
  for (let row = 0; row < worlds.rows; row++) {
    const at = stats.ids.find(worlds.ids.words, row * 4);
    if (at < 0) continue;
    for (const name of STATS_COLUMNS) byWorld[name][row] = stats[name].values[at]!;
  }
  return byWorld;
}

const STATS_COLUMNS = ["totalVisits", "uniqueVisitors", "visitsLast7Days", "visitsLast30Days"] as const;
type StatsColumn = (typeof STATS_COLUMNS)[number];

/** What the popular ranking of a period counts. */
const RANKED_BY: Readonly<Record<Period, StatsColumn>> = {
  all: "totalVisits",
  week: "visitsLast7Days",
  month: "visitsLast30Days",
};

/** Ranks world rows: the period's count, then unique visitors, then list order. */
function rank(stats: Record<StatsColumn, Float64Array>, period: Period): Uint32Array {
  const order = countUp(stats.totalVisits.length, sharedUint32(stats.totalVisits.length));
  sortHighestFirst(order, stats.uniqueVisitors);
  sortHighestFirst(order, stats[RANKED_BY[period]]);
  return order;
}

function packStats(worlds: Table, stats: Record<StatsColumn, Float64Array>): Block {
  const texts = new TextColumn();
  for (let row = 0; row < worlds.rows; row++) {
    const counts = {
      totalVisits: stats.totalVisits[row]!,
      uniqueVisitors: stats.uniqueVisitors[row]!,
      visitsLast7Days: stats.visitsLast7Days[row]!,
      visitsLast30Days: stats.visitsLast30Days[row]!,
    };
    texts.push(encodeWorldStats({ worldId: idText(worlds, row), ...counts }));
  }
  return packBlock(texts, countUp(worlds.rows));
}

/** A store, and where its rows came from. */
export interface Built {
  readonly store: Store;
  /** Place among the arrived visible rows of each row. */
  readonly userOrder: Uint32Array;
  readonly worldOrder: Uint32Array;
}

/**
 * Builds a store.
 *
 * @param id the generation's name
 * @param contents hash over the stored files
 * @throws {RangeError} when a table is too large to pack
 */
export function buildStore(id: string, contents: string, arrived: Arrived): Built {
  const users = orderAndPack(arrived.users);
  const worlds = orderAndPack(arrived.worlds);
  const instances = orderAndPack(arrived.instances);
  const stats = statsByWorld(worlds.table, arrived.stats);
  const owners = parentRows(worlds, arrived.worlds.parents.values, users.table.ids);
  const homes = parentRows(instances, arrived.instances.parents.values, worlds.table.ids);
  const store: Store = {
    id,
    contents,
    users: users.table,
    worlds: worlds.table,
    instances: instances.table,
    worldStats: packStats(worlds.table, stats),
    popular: { all: rank(stats, "all"), week: rank(stats, "week"), month: rank(stats, "month") },
    worldsByOwner: groupRows(owners, users.table.rows),
    instancesByWorld: groupRows(homes, worlds.table.rows),
    foundWorldTail: FOUND_WORLD_TAIL,
    platformStats: encodePlatformStats({
      totalUsers: users.table.rows,
      totalPublicWorlds: worlds.table.rows,
      totalPublicInstances: instances.table.rows,
    }),
  };
  return { store, userOrder: users.order, worldOrder: worlds.order };
}
