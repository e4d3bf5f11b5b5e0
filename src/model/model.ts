/**
 * The data model: what a row of each kind looks like to a client, and the
 * schemas that the encoder and the OpenAPI document are made from.
 *
 * Field order is the order on the wire.
 */

/** A permission that an API key can carry. */
export type Scope = "read:worlds" | "read:users" | "read:instances";

/** Every scope that grants something. */
export const SCOPES: readonly Scope[] = ["read:worlds", "read:users", "read:instances"];

/** A user's public profile. Times are ISO 8601 UTC with milliseconds. */
export interface User {
  id: string;
  displayName: string;
  userIconUrl: string;
  createdAt: string;
}

/** A public, active world. */
export interface World {
  id: string;
  name: string;
  description: string;
  ownerId: string;
  isPublic: boolean;
  createdAt: string;
  updatedAt: string;
}

/** Visit counts of one world; integers of at least 0. */
export interface WorldStats {
  worldId: string;
  totalVisits: number;
  uniqueVisitors: number;
  visitsLast7Days: number;
  visitsLast30Days: number;
}

/** A running, public instance of a visible world. */
export interface Instance {
  id: string;
  worldId: string;
  createdAt: string;
}

/** Counts over the whole platform. */
export interface PlatformStats {
  totalUsers: number;
  totalPublicWorlds: number;
  totalPublicInstances: number;
}

/** The part of JSON Schema that the model uses. */
export interface ObjectSchema {
  readonly title: string;
  readonly type: "object";
  readonly properties: Readonly<Record<string, { type: string; format?: string; description?: string }>>;
  readonly required: readonly string[];
}

const uuid = { type: "string", format: "uuid" };
const time = { type: "string", format: "date-time" };
const text = { type: "string" };
const count = { type: "integer" };

function object(title: string, properties: ObjectSchema["properties"]): ObjectSchema {
  return { title, type: "object", properties, required: Object.keys(properties) };
}

/** JSON Schemas of everything that a reply can carry under `data`. */
export const SCHEMAS = {
  user: object("User", { id: uuid, displayName: text, userIconUrl: text, createdAt: time }),
  world: object("World", {
    id: uuid,
    name: text,
    description: text,
    ownerId: uuid,
    isPublic: { type: "boolean" },
    createdAt: time,
    updatedAt: time,
  }),
  foundWorld: object("FoundWorld", { id: uuid, name: text, description: text }),
  worldStats: object("WorldStats", {
    worldId: uuid,
    totalVisits: count,
    uniqueVisitors: count,
    visitsLast7Days: count,
    visitsLast30Days: count,
  }),
  instance: object("Instance", { id: uuid, worldId: uuid, createdAt: time }),
  platformStats: object("PlatformStats", {
    totalUsers: count,
    totalPublicWorlds: count,
    totalPublicInstances: count,
  }),
} as const;

/** Name of a schema in {@link SCHEMAS}. */
export type SchemaName = keyof typeof SCHEMAS;

/** Periods of the popular ranking. */
export const PERIODS = ["all", "week", "month"] as const;

/** One of {@link PERIODS}. */
export type Period = (typeof PERIODS)[number];

/** Prefix of every path of the interface. */
export const BASE_PATH = "/api/public/v1";

/** Names of the snapshot's row files, without `.gz`, in the order in which they are read. */
export const ROW_FILES = ["users.ndjson", "worlds.ndjson", "world-stats.ndjson", "instances.ndjson"] as const;

/** One of {@link ROW_FILES}. */
export type RowFile = (typeof ROW_FILES)[number];
