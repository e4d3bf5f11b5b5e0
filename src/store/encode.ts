/**
 * Rows to JSON, once, while a snapshot loads. Nothing is validated: rows must
 * have been checked before.
 */

import type { Instance, PlatformStats, User, World, WorldStats } from "../model/model.ts";
import { ENCODERS } from "./encoders.ts";

export const encodeUser: (row: User) => string = ENCODERS.user;
export const encodeWorld: (row: World) => string = ENCODERS.world;
export const encodeWorldStats: (row: WorldStats) => string = ENCODERS.worldStats;
export const encodeInstance: (row: Instance) => string = ENCODERS.instance;
const encodePlatformStats: (row: PlatformStats) => string = ENCODERS.platformStats;

/** The platform statistics of tables of visible rows. */
export function platformStatsOf(tables: Record<"users" | "worlds" | "instances", { rows: number }>): string {
  return encodePlatformStats({
    totalUsers: tables.users.rows,
    totalPublicWorlds: tables.worlds.rows,
    totalPublicInstances: tables.instances.rows,
  });
}

const someId = "00000000-0000-0000-0000-000000000000";
const someTime = "2000-01-01T00:00:00.000Z";
const someWorld: World = {
  id: someId,
  name: "",
  description: "",
  ownerId: someId,
  isPublic: true,
  createdAt: someTime,
  updatedAt: someTime,
};
const encodeFoundWorld: (row: Pick<World, "id" | "name" | "description">) => string = ENCODERS.foundWorld;

/**
 * Bytes at the end of an encoded world that a search item lacks, its closing
 * brace included. A search item is a prefix of the world, and what follows the
 * description has the same length in every visible world.
 */
export const FOUND_WORLD_TAIL = encodeWorld(someWorld).length - (encodeFoundWorld(someWorld).length - 1);

/** Where the characters of a user's display name and of a world's name begin: ids all have the same length. */
export const DISPLAY_NAME_AT = encodeUser({
  id: someId,
  displayName: "",
  userIconUrl: "",
  createdAt: someTime,
}).indexOf('","userIconUrl"');
export const WORLD_NAME_AT = encodeWorld(someWorld).indexOf('","description"');

/** Bytes from the quote behind a world's name to the characters of its description. */
export const DESCRIPTION_AFTER_NAME = encodeWorld(someWorld).indexOf('","ownerId"') - WORLD_NAME_AT;
