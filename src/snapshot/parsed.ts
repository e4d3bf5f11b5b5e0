/**
 * Rows of any form: parsed, checked field by field with a problem for each that
 * is wrong, and encoded from their values.
 */

import type { RowFile } from "../model/model.ts";
import { formatTime } from "../model/time.ts";
import { encodeInstance, encodeUser, encodeWorld } from "../store/encode.ts";
import type { Row, RowChecker } from "./rows.ts";
import { type Stage, stageInstance, stageStats, stageUser, stageWorld } from "./stage.ts";

const id = new Uint32Array(4);
const parent = new Uint32Array(4);

/** The id as it is served; the row was checked. */
function servedId(value: unknown): string {
  return (value as string).toLowerCase();
}

function parsedUser(stage: Stage, row: Row, check: RowChecker): void {
  check.uuid("id", row.id, id, 0);
  const displayName = check.text("displayName", row.displayName);
  const userIconUrl = check.optionalText("userIconUrl", row.userIconUrl);
  const createdAt = check.time("createdAt", row.createdAt);
  if (!check.good || !stageUser(stage, { id, createdAt }, check)) return;
  stage.users.texts.push(
    encodeUser({ id: servedId(row.id), displayName, userIconUrl, createdAt: formatTime(createdAt) }),
  );
}

function parsedWorld(stage: Stage, row: Row, check: RowChecker): void {
  check.uuid("id", row.id, id, 0);
  const name = check.text("name", row.name);
  const description = check.optionalText("description", row.description);
  check.uuid("ownerId", row.ownerId, parent, 0);
  const isPublic = check.boolean("isPublic", row.isPublic);
  const isActive = check.text("status", row.status) === "ACTIVE";
  const createdAt = check.time("createdAt", row.createdAt);
  const updatedAt = check.time("updatedAt", row.updatedAt);
  if (!check.good || !stageWorld(stage, { id, ownerId: parent, isPublic, isActive, createdAt }, check))
    return;
  stage.worlds.texts.push(
    encodeWorld({
      id: servedId(row.id),
      name,
      description,
      ownerId: servedId(row.ownerId),
      isPublic,
      createdAt: formatTime(createdAt),
      updatedAt: formatTime(updatedAt),
    }),
  );
}

function parsedStats(stage: Stage, row: Row, check: RowChecker): void {
  check.uuid("worldId", row.worldId, id, 0);
  const totalVisits = check.count("totalVisits", row.totalVisits);
  const uniqueVisitors = check.count("uniqueVisitors", row.uniqueVisitors);
  const visitsLast7Days = check.count("visitsLast7Days", row.visitsLast7Days);
  const visitsLast30Days = check.count("visitsLast30Days", row.visitsLast30Days);
  if (!check.good) return;
  stageStats(stage, { worldId: id, totalVisits, uniqueVisitors, visitsLast7Days, visitsLast30Days }, check);
}

function parsedInstance(stage: Stage, row: Row, check: RowChecker): void {
  check.uuid("id", row.id, id, 0);
  check.uuid("worldId", row.worldId, parent, 0);
  const isPublic = check.boolean("isPublic", row.isPublic);
  const isActive = check.boolean("isActive", row.isActive);
  const createdAt = check.time("createdAt", row.createdAt);
  if (!check.good || !stageInstance(stage, { id, worldId: parent, isPublic, isActive, createdAt }, check))
    return;
  stage.instances.texts.push(
    encodeInstance({
      id: servedId(row.id),
      worldId: servedId(row.worldId),
      createdAt: formatTime(createdAt),
    }),
  );
}

/** How a parsed row of each file is staged. */
export const PARSED: Readonly<Record<RowFile, (stage: Stage, row: Row, check: RowChecker) => void>> = {
  "users.ndjson": parsedUser,
  "worlds.ndjson": parsedWorld,
  "world-stats.ndjson": parsedStats,
  "instances.ndjson": parsedInstance,
};
