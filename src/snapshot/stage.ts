/**
 * Rows on their way from a file into a store.
 *
 * A row comes here once its fields are checked, from `parsed.ts` or from
 * `scanned.ts`. A visible one is encoded at once, so that nothing else of it
 * survives its line. Hidden rows leave only their ids behind, to notice
 * duplicates and dangling references, and those are dropped before a
 * request can see them.
 *
 * Long: rows of all tables pass through the same arrays, and their references depend on the tables before.
 */

import { ROW_FILES, type RowFile } from "../model.ts";
import { type Packed, packRows } from "../store/build.ts";
import { Float64Column, TextColumn, Uint32Column } from "../store/bytes.ts";
import { ArrivingIds } from "../store/ids.ts";
import { NO_GROUP } from "../store/lists.ts";
import { formatUuid } from "../uuid.ts";
import type { RowChecker } from "./rows.ts";

/** Rows of one file that point at a row that is not there. */
export interface Dangling {
  count: number;
  /** The first few, as `file:line: field: …`. */
  readonly examples: string[];
}

/** How many dangling references are spelled out a file. */
export const MOST_DANGLING = 20;

/** Why rows of a file are hidden, and how many. */
export type Hidden = Map<string, number>;

/** Staged rows of one file. Columns are by visible row unless they say otherwise. */
export interface Staged {
  /** Ids of all rows, hidden ones too, numbered in order of arrival. */
  readonly ids: ArrivingIds;
  /** Line of each row, by number of arrival. */
  readonly lines: Uint32Column;
  /** Number of arrival of each visible row. */
  readonly visible: Uint32Column;
  /** Milliseconds since the epoch. */
  readonly times: Float64Column;
  readonly texts: TextColumn;
  /** The owner of a world, the world of an instance: its row, or NO_GROUP. */
  readonly parents: Uint32Column;
  readonly hidden: Hidden;
  readonly dangling: Dangling;
  /** The table, once all its rows have arrived and were good. */
  packed: Packed | undefined;
}

/** World statistics by number of arrival. */
export interface StagedStats {
  readonly ids: ArrivingIds;
  readonly lines: Uint32Column;
  /** World row, or NO_GROUP. */
  readonly worlds: Uint32Column;
  readonly totalVisits: Float64Column;
  readonly uniqueVisitors: Float64Column;
  readonly visitsLast7Days: Float64Column;
  readonly visitsLast30Days: Float64Column;
  readonly hidden: Hidden;
  readonly dangling: Dangling;
}

/** Everything staged. */
export interface Stage {
  readonly users: Staged;
  readonly worlds: Staged;
  readonly stats: StagedStats;
  readonly instances: Staged;
}

/** What a stage can hold; see `limits.ts`. */
export interface StageLimits {
  /** Of a file. */
  readonly rows: number;
  /** Of visible rows of a file. */
  readonly tableBytes: number;
}

function createStaged(spare: Buffer[], { rows, tableBytes }: Partial<StageLimits>): Staged {
  return {
    ids: new ArrivingIds(rows),
    lines: new Uint32Column(),
    visible: new Uint32Column(),
    times: new Float64Column(),
    texts: new TextColumn(spare, tableBytes),
    parents: new Uint32Column(),
    hidden: new Map(),
    dangling: { count: 0, examples: [] },
    packed: undefined,
  };
}

/** Makes an empty stage. */
export function createStage(limits: Partial<StageLimits> = {}): Stage {
  const spare: Buffer[] = [];
  return {
    users: createStaged(spare, limits),
    worlds: createStaged(spare, limits),
    stats: {
      ids: new ArrivingIds(limits.rows),
      lines: new Uint32Column(),
      worlds: new Uint32Column(),
      totalVisits: new Float64Column(),
      uniqueVisitors: new Float64Column(),
      visitsLast7Days: new Float64Column(),
      visitsLast30Days: new Float64Column(),
      hidden: new Map(),
      dangling: { count: 0, examples: [] },
    },
    instances: createStaged(spare, limits),
  };
}

/** Registers an id; a duplicate is reported and makes the row bad. */
function arrive(staged: Staged | StagedStats, check: RowChecker, field: string, id: Uint32Array): void {
  const before = staged.ids.add(id, 0);
  if (before < 0) staged.lines.push(check.line);
  else check.report(field, `is a duplicate of line ${staged.lines.values[before]}: ${formatUuid(id, 0)}`);
}

function hide(hidden: Hidden, why: string): void {
  hidden.set(why, (hidden.get(why) ?? 0) + 1);
}

function dangle(dangling: Dangling, check: RowChecker, field: string, words: Uint32Array): void {
  dangling.count++;
  if (dangling.examples.length < MOST_DANGLING) {
    dangling.examples.push(
      `${check.file}:${check.line}: ${field}: dangling reference: ${formatUuid(words, 0)}`,
    );
  }
}

/** What every row has that a store holds: its id as four words, and milliseconds since the epoch. */
interface Arriving {
  readonly id: Uint32Array;
  createdAt: number;
}

/** A checked row of `users.ndjson`. */
export type ArrivingUser = Arriving;

/** A checked row of `worlds.ndjson`. */
export interface ArrivingWorld extends Arriving {
  readonly ownerId: Uint32Array;
  isPublic: boolean;
  isActive: boolean;
}

/** A checked row of `instances.ndjson`. */
export interface ArrivingInstance extends Arriving {
  readonly worldId: Uint32Array;
  isPublic: boolean;
  isActive: boolean;
}

/** A checked row of `world-stats.ndjson`. */
export interface ArrivingStats {
  readonly worldId: Uint32Array;
  totalVisits: number;
  uniqueVisitors: number;
  visitsLast7Days: number;
  visitsLast30Days: number;
}

function show(staged: Staged, createdAt: number): true {
  staged.visible.push(staged.ids.length - 1);
  staged.times.push(createdAt);
  return true;
}

/** Stages a user. @returns whether its JSON is to be pushed to `stage.users.texts` */
export function stageUser({ users }: Stage, { id, createdAt }: ArrivingUser, check: RowChecker): boolean {
  arrive(users, check, "id", id);
  return check.good && show(users, createdAt);
}

/** Stages a world. @returns whether its JSON is to be pushed to `stage.worlds.texts` */
export function stageWorld({ users, worlds }: Stage, world: ArrivingWorld, check: RowChecker): boolean {
  arrive(worlds, check, "id", world.id);
  if (!check.good) return false;
  const { ownerId, isPublic, isActive } = world;
  const owner = users.ids.find(ownerId, 0);
  if (owner < 0) dangle(worlds.dangling, check, "ownerId", ownerId);
  const hiddenBy = !isPublic ? "not public" : !isActive ? "status is not ACTIVE" : undefined;
  if (hiddenBy !== undefined) {
    hide(worlds.hidden, hiddenBy);
    return false;
  }
  worlds.parents.push(rowOf(users, owner));
  return show(worlds, world.createdAt);
}

/** Stages the statistics of a world, which are encoded once all have arrived. */
export function stageStats({ stats, worlds }: Stage, row: ArrivingStats, check: RowChecker): void {
  const { worldId } = row;
  arrive(stats, check, "worldId", worldId);
  if (!check.good) return;
  stats.totalVisits.push(row.totalVisits);
  stats.uniqueVisitors.push(row.uniqueVisitors);
  stats.visitsLast7Days.push(row.visitsLast7Days);
  stats.visitsLast30Days.push(row.visitsLast30Days);
  const world = worlds.ids.find(worldId, 0);
  const worldRow = rowOf(worlds, world);
  stats.worlds.push(worldRow);
  if (world < 0) {
    dangle(stats.dangling, check, "worldId", worldId);
    hide(stats.hidden, "world is not in the snapshot");
  } else if (worldRow === NO_GROUP) {
    hide(stats.hidden, "world is hidden");
  }
}

/** Stages an instance. @returns whether its JSON is to be pushed to `stage.instances.texts` */
export function stageInstance(
  { instances, worlds }: Stage,
  row: ArrivingInstance,
  check: RowChecker,
): boolean {
  arrive(instances, check, "id", row.id);
  if (!check.good) return false;
  const { worldId } = row;
  const world = worlds.ids.find(worldId, 0);
  if (world < 0) dangle(instances.dangling, check, "worldId", worldId);
  const hiddenBy = whyHidden(row.isPublic, row.isActive, worlds, world);
  if (hiddenBy !== undefined) {
    hide(instances.hidden, hiddenBy);
    return false;
  }
  instances.parents.push(rowOf(worlds, world));
  return show(instances, row.createdAt);
}

/** Why an instance is hidden; `world` is the number of arrival of its world, or -1. */
function whyHidden(isPublic: boolean, isActive: boolean, worlds: Staged, world: number): string | undefined {
  if (!isPublic) return "not public";
  if (!isActive) return "not active";
  if (world < 0) return "world is not in the snapshot";
  return rowOf(worlds, world) === NO_GROUP ? "world is hidden" : undefined;
}

/** The row that an id came to be by its number of arrival, or NO_GROUP: hidden, unknown, or of a table with problems. */
function rowOf({ packed }: Staged, arrival: number): number {
  return packed?.rows[arrival] ?? NO_GROUP;
}

/** Packs the table of a file whose rows were all good; world statistics wait for the store. */
export function packStaged(stage: Stage, file: RowFile): void {
  const staged = stagedOf(stage, file);
  if ("packed" in staged) staged.packed = packRows(staged);
}

/** The tables of a stage in which every file was packed. */
export function packedOf({
  users,
  worlds,
  instances,
}: Stage): Record<"users" | "worlds" | "instances", Packed> {
  return { users: users.packed!, worlds: worlds.packed!, instances: instances.packed! };
}

/** The ids of a file's hidden rows, four words each; world statistics have no visibility of their own. */
export function hiddenIdsOf(stage: Stage, file: RowFile): Uint32Array {
  const staged = stagedOf(stage, file);
  if (!("visible" in staged)) return new Uint32Array(0);
  const { ids, visible } = staged;
  const hidden = new Uint32Array((ids.length - visible.length) * 4);
  let place = 0;
  for (let arrival = 0, next = 0; arrival < ids.length; arrival++) {
    if (next < visible.length && visible.values[next] === arrival) {
      next++;
      continue;
    }
    hidden.set(ids.words.subarray(arrival * 4, arrival * 4 + 4), place);
    place += 4;
  }
  return hidden;
}

/** The staged rows of a file. */
export function stagedOf(stage: Stage, file: RowFile): Staged | StagedStats {
  const order = [stage.users, stage.worlds, stage.stats, stage.instances] as const;
  return order[ROW_FILES.indexOf(file)]!;
}
