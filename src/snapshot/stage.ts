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

import { ROW_FILES, type RowFile } from "../model/model.ts";
import { formatUuid } from "../model/uuid.ts";
import { type Packed, packRows } from "../store/build.ts";
import { Float64Column, sharedUint32, TextColumn, Uint32Column } from "../store/bytes.ts";
import { ArrivingIds, createIdMap, findWords, type IdMap } from "../store/ids.ts";
import { NO_GROUP } from "../store/lists.ts";
import type { RowChecker } from "./rows.ts";

/** Rows of one file that point at a row that is not there. */
export interface Dangling {
  count: number;
  /** The first few, as `file:line: field: …`. */
  readonly examples: string[];
}

/** How many dangling references are spelled out a file. */
const MOST_DANGLING = 20;

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
  /** By id what other files may refer to: rows of the table, and what is hidden. Undefined as long as `packed` is. */
  referred: Referred | undefined;
}

/** What references to a table are resolved with. */
export interface Referred {
  readonly ids: IdMap;
  /** Ids of hidden rows. */
  readonly hidden: IdMap;
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
  /** The owner of every world, hidden ones too, by number of arrival: four words each. */
  readonly owners: Uint32Column;
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
    referred: undefined,
  };
}

/** Makes an empty stage. */
export function createStage(limits: Partial<StageLimits> = {}): Stage {
  const spare: Buffer[] = [];
  return {
    users: createStaged(spare, limits),
    worlds: createStaged(spare, limits),
    owners: new Uint32Column(),
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

/** Where a row stands. */
interface Location {
  readonly file: string;
  readonly line: number;
}

/** Counts a reference that points nowhere. @param at where its id stands in `words` */
export function dangle(
  dangling: Dangling,
  { file, line }: Location,
  field: string,
  words: Uint32Array,
  at = 0,
): void {
  dangling.count++;
  if (dangling.examples.length < MOST_DANGLING) {
    dangling.examples.push(`${file}:${line}: ${field}: dangling reference: ${formatUuid(words, at)}`);
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
export function stageWorld(
  { users, worlds, owners }: Stage,
  world: ArrivingWorld,
  check: RowChecker,
): boolean {
  arrive(worlds, check, "id", world.id);
  if (!check.good) return false;
  const { ownerId, isPublic, isActive } = world;
  for (let word = 0; word < 4; word++) owners.push(ownerId[word]!);
  const owner = findReferred(users.referred, ownerId, 0);
  if (owner === NOWHERE) dangle(worlds.dangling, check, "ownerId", ownerId);
  const hiddenBy = !isPublic ? "not public" : !isActive ? "status is not ACTIVE" : undefined;
  if (hiddenBy !== undefined) {
    hide(worlds.hidden, hiddenBy);
    return false;
  }
  worlds.parents.push(groupOf(owner));
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
  const world = findReferred(worlds.referred, worldId, 0);
  stats.worlds.push(groupOf(world));
  if (world === NOWHERE) {
    dangle(stats.dangling, check, "worldId", worldId);
    hide(stats.hidden, "world is not in the snapshot");
  } else if (world === HIDDEN) {
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
  const world = findReferred(worlds.referred, worldId, 0);
  if (world === NOWHERE) dangle(instances.dangling, check, "worldId", worldId);
  const hiddenBy = whyHidden(row.isPublic, row.isActive, world);
  if (hiddenBy !== undefined) {
    hide(instances.hidden, hiddenBy);
    return false;
  }
  instances.parents.push(world);
  return show(instances, row.createdAt);
}

/** Why an instance is hidden; `world` is what {@link findReferred} says of its world. */
function whyHidden(isPublic: boolean, isActive: boolean, world: number): string | undefined {
  if (!isPublic) return "not public";
  if (!isActive) return "not active";
  if (world === NOWHERE) return "world is not in the snapshot";
  return world === HIDDEN ? "world is hidden" : undefined;
}

/** What a reference points at that points at no row of a table. */
export const NOWHERE = -1;
const HIDDEN = -2;

/**
 * Resolves a reference.
 *
 * @param referred undefined for a table with problems, whose snapshot is refused whatever comes of this
 * @returns the row of a table, or {@link NOWHERE}, or that it is hidden
 */
export function findReferred(referred: Referred | undefined, id: Uint32Array, at: number): number {
  if (referred === undefined) return HIDDEN;
  const row = findWords(referred.ids, id, at);
  return row >= 0 || findWords(referred.hidden, id, at) < 0 ? row : HIDDEN;
}

/** A row that was referred to, as a group: see {@link NO_GROUP}. */
export function groupOf(referred: number): number {
  return referred < 0 ? NO_GROUP : referred;
}

/** Packs the table of a file whose rows were all good; world statistics wait for the store. */
export function packStaged(stage: Stage, file: RowFile): void {
  const staged = stagedOf(stage, file);
  if (!("packed" in staged)) return;
  staged.packed = packRows(staged);
  // Nothing refers to instances.
  if (staged === stage.instances) return;
  staged.referred = { ids: staged.packed.table.ids, hidden: createIdMap(hiddenIdsOf(stage, file)) };
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
  const hidden = sharedUint32((ids.length - visible.length) * 4);
  if (hidden.length === 0) return hidden;
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
