/**
 * Rows to JSON, once, while a snapshot loads. The only importer of
 * fast-json-stringify.
 *
 * fast-json-stringify does not validate: rows must have been checked before.
 */

import build from "fast-json-stringify";
import {
  type Instance,
  type PlatformStats,
  SCHEMAS,
  type SchemaName,
  type User,
  type World,
  type WorldStats,
} from "../model.ts";

/** Ids and times were checked, or made by us, so there is nothing to escape in them: a fifth less time a row. */
function encoderSchema({ type, format }: { type: string; format?: string }): object {
  return format === undefined ? { type } : { type, format: "unsafe" };
}

function encoderOf<Row>(name: SchemaName): (row: Row) => string {
  const { properties, required } = SCHEMAS[name];
  const plain = Object.fromEntries(
    Object.entries(properties).map(([key, value]) => [key, encoderSchema(value)]),
  );
  return build({ type: "object", properties: plain, required: [...required] } as Parameters<typeof build>[0]);
}

export const encodeUser: (row: User) => string = encoderOf("user");
export const encodeWorld: (row: World) => string = encoderOf("world");
export const encodeWorldStats: (row: WorldStats) => string = encoderOf("worldStats");
export const encodeInstance: (row: Instance) => string = encoderOf("instance");
export const encodePlatformStats: (row: PlatformStats) => string = encoderOf("platformStats");

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
const encodeFoundWorld: (row: Pick<World, "id" | "name" | "description">) => string = encoderOf("foundWorld");

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
