/**
 * Rows on their way from a file into a store.
 *
 * Every row is validated; visible ones are encoded at once, so that nothing of
 * a parsed row survives its line. Hidden rows leave only their ids behind, to
 * notice duplicates and references that point nowhere, and those are dropped
 * before a request can see them.
 */

import { ROW_FILES, type RowFile } from "../model.ts";
import { Float64Column, TextColumn, Uint32Column } from "../store/bytes.ts";
import { encodeInstance, encodeUser, encodeWorld } from "../store/encode.ts";
import { ArrivingIds } from "../store/ids.ts";
import { formatParsed } from "../time.ts";
import { formatUuid } from "../uuid.ts";
import type { Row, RowChecker } from "./rows.ts";

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
  /** Four words a row: the owner of a world, the world of an instance. */
  readonly parents: Uint32Column;
  readonly hidden: Hidden;
  readonly dangling: Dangling;
  /** What the searches look through, by visible row: display names, or names of worlds. */
  readonly names: string[];
  readonly descriptions: string[];
}

/** World statistics by number of arrival; worlds are matched once all have arrived. */
export interface StagedStats {
  readonly ids: ArrivingIds;
  readonly lines: Uint32Column;
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

function createStaged(): Staged {
  return {
    ids: new ArrivingIds(),
    lines: new Uint32Column(),
    visible: new Uint32Column(),
    times: new Float64Column(),
    texts: new TextColumn(),
    parents: new Uint32Column(),
    hidden: new Map(),
    dangling: { count: 0, examples: [] },
    names: [],
    descriptions: [],
  };
}

/** Makes an empty stage. */
export function createStage(): Stage {
  return {
    users: createStaged(),
    worlds: createStaged(),
    stats: {
      ids: new ArrivingIds(),
      lines: new Uint32Column(),
      totalVisits: new Float64Column(),
      uniqueVisitors: new Float64Column(),
      visitsLast7Days: new Float64Column(),
      visitsLast30Days: new Float64Column(),
      hidden: new Map(),
      dangling: { count: 0, examples: [] },
    },
    instances: createStaged(),
  };
}

const id = new Uint32Array(4);
const parent = new Uint32Array(4);

/** Registers an id; a duplicate is reported and makes the row bad. */
function arrive(staged: Staged | StagedStats, check: RowChecker, field: string): void {
  const before = staged.ids.add(id, 0);
  if (before < 0) staged.lines.push(check.line);
  else check.report(field, `is a duplicate of line ${staged.lines.values[before]}: ${formatUuid(id, 0)}`);
}

function hide(hidden: Hidden, why: string): void {
  hidden.set(why, (hidden.get(why) ?? 0) + 1);
}

function dangle(dangling: Dangling, file: string, line: number, field: string, words: Uint32Array): void {
  dangling.count++;
  if (dangling.examples.length < MOST_DANGLING) {
    dangling.examples.push(`${file}:${line}: ${field}: points nowhere: ${formatUuid(words, 0)}`);
  }
}

function show(staged: Staged, time: number, text: string): void {
  staged.visible.push(staged.ids.length - 1);
  staged.times.push(time);
  staged.texts.push(text);
}

/** The id as it is served; the row was checked. */
function servedId(value: unknown): string {
  return (value as string).toLowerCase();
}

/** The time as it is served; the row was checked. */
function servedTime(value: unknown, at: number): string {
  return formatParsed(value as string, at);
}

function stageUser(stage: Stage, row: Row, check: RowChecker): void {
  check.uuid("id", row.id, id, 0);
  const displayName = check.text("displayName", row.displayName);
  const userIconUrl = check.optionalText("userIconUrl", row.userIconUrl);
  const createdAt = check.time("createdAt", row.createdAt);
  if (!check.good) return;
  arrive(stage.users, check, "id");
  if (!check.good) return;
  const text = encodeUser({
    id: servedId(row.id),
    displayName,
    userIconUrl,
    createdAt: servedTime(row.createdAt, createdAt),
  });
  show(stage.users, createdAt, text);
  stage.users.names.push(displayName);
}

function stageWorld(stage: Stage, row: Row, check: RowChecker, file: string): void {
  check.uuid("id", row.id, id, 0);
  const name = check.text("name", row.name);
  const description = check.optionalText("description", row.description);
  check.uuid("ownerId", row.ownerId, parent, 0);
  const isPublic = check.boolean("isPublic", row.isPublic);
  const status = check.text("status", row.status);
  const createdAt = check.time("createdAt", row.createdAt);
  const updatedAt = check.time("updatedAt", row.updatedAt);
  if (!check.good) return;
  const { worlds, users } = stage;
  arrive(worlds, check, "id");
  if (!check.good) return;
  if (users.ids.find(parent, 0) < 0) dangle(worlds.dangling, file, check.line, "ownerId", parent);
  const hiddenBy = !isPublic ? "not public" : status !== "ACTIVE" ? "status is not ACTIVE" : undefined;
  if (hiddenBy !== undefined) {
    hide(worlds.hidden, hiddenBy);
    return;
  }
  for (const word of parent) worlds.parents.push(word);
  const text = encodeWorld({
    id: servedId(row.id),
    name,
    description,
    ownerId: servedId(row.ownerId),
    isPublic,
    createdAt: servedTime(row.createdAt, createdAt),
    updatedAt: servedTime(row.updatedAt, updatedAt),
  });
  show(worlds, createdAt, text);
  worlds.names.push(name);
  worlds.descriptions.push(description);
}

function stageStats(stage: Stage, row: Row, check: RowChecker, file: string): void {
  check.uuid("worldId", row.worldId, id, 0);
  const totalVisits = check.count("totalVisits", row.totalVisits);
  const uniqueVisitors = check.count("uniqueVisitors", row.uniqueVisitors);
  const visitsLast7Days = check.count("visitsLast7Days", row.visitsLast7Days);
  const visitsLast30Days = check.count("visitsLast30Days", row.visitsLast30Days);
  if (!check.good) return;
  const { stats, worlds } = stage;
  arrive(stats, check, "worldId");
  if (!check.good) return;
  stats.totalVisits.push(totalVisits);
  stats.uniqueVisitors.push(uniqueVisitors);
  stats.visitsLast7Days.push(visitsLast7Days);
  stats.visitsLast30Days.push(visitsLast30Days);
  const world = worlds.ids.find(id, 0);
  if (world < 0) {
    dangle(stats.dangling, file, check.line, "worldId", id);
    hide(stats.hidden, "world is not in the snapshot");
  } else if (!isVisible(worlds, world)) {
    hide(stats.hidden, "world is hidden");
  }
}

function stageInstance(stage: Stage, row: Row, check: RowChecker, file: string): void {
  check.uuid("id", row.id, id, 0);
  check.uuid("worldId", row.worldId, parent, 0);
  const isPublic = check.boolean("isPublic", row.isPublic);
  const isActive = check.boolean("isActive", row.isActive);
  const createdAt = check.time("createdAt", row.createdAt);
  if (!check.good) return;
  const { instances, worlds } = stage;
  arrive(instances, check, "id");
  if (!check.good) return;
  const world = worlds.ids.find(parent, 0);
  if (world < 0) dangle(instances.dangling, file, check.line, "worldId", parent);
  const hiddenBy = whyHidden(isPublic, isActive, worlds, world);
  if (hiddenBy !== undefined) {
    hide(instances.hidden, hiddenBy);
    return;
  }
  for (const word of parent) instances.parents.push(word);
  const text = encodeInstance({
    id: servedId(row.id),
    worldId: servedId(row.worldId),
    createdAt: servedTime(row.createdAt, createdAt),
  });
  show(instances, createdAt, text);
}

/** Why an instance is hidden; `world` is the number of arrival of its world, or -1. */
function whyHidden(isPublic: boolean, isActive: boolean, worlds: Staged, world: number): string | undefined {
  if (!isPublic) return "not public";
  if (!isActive) return "not active";
  if (world < 0) return "world is not in the snapshot";
  return isVisible(worlds, world) ? undefined : "world is hidden";
}

/** Whether the row with this number of arrival is visible; numbers in `visible` ascend. */
function isVisible(staged: Staged, arrival: number): boolean {
  const { values } = staged.visible;
  let low = 0;
  let high = staged.visible.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (values[middle]! < arrival) low = middle + 1;
    else high = middle;
  }
  return low < staged.visible.length && values[low] === arrival;
}

/** How a parsed row of each file is staged. */
export const STAGERS: Readonly<
  Record<RowFile, (stage: Stage, row: Row, check: RowChecker, file: string) => void>
> = {
  "users.ndjson": stageUser,
  "worlds.ndjson": stageWorld,
  "world-stats.ndjson": stageStats,
  "instances.ndjson": stageInstance,
};

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
