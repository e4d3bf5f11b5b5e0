/** Replies of another server as rows of a snapshot: looked at field by field, since the server may be any: what would not load in the end is worth no more requests. */

import {
  type Instance,
  type ObjectSchema,
  type PlatformStats,
  SCHEMAS,
  type User,
  type World,
  type WorldStats,
} from "../../model/model.ts";
import { parseTime } from "../../model/time.ts";
import { parseUuid } from "../../model/uuid.ts";
import { isObject } from "../../util/json.ts";
import { SourceError } from "../../util/source-error.ts";

/** A page of a list. */
export interface Page<Row> {
  readonly rows: readonly Row[];
  readonly total: number;
  readonly limit: number;
}

/** Texts that a snapshot may lack. */
const OPTIONAL: ReadonlySet<string> = new Set(["description", "userIconUrl"]);

const TIMES: ReadonlySet<string> = new Set(["createdAt", "updatedAt"]);
const WORDS = new Uint32Array(4);

/** @param target of the reply, for messages */
function fail(target: string, what: string): never {
  throw new SourceError(`${target}: the reply is not what this API sends: ${what}`, { isLasting: true });
}

function fieldOf(target: string, name: string, type: string, value: unknown): unknown {
  if (type === "integer") {
    if (Number.isSafeInteger(value) && (value as number) >= 0) return value;
    return fail(target, `${name} must be a whole number from 0`);
  }
  if (type === "string" && OPTIONAL.has(name) && (value === null || value === undefined)) return "";
  if (typeof value !== type) return fail(target, `${name} must be a ${type}`);
  if (TIMES.has(name) && Number.isNaN(parseTime(value as string)))
    return fail(target, `${name} must be a time`);
  if (!/^(id|\w+Id)$/.test(name)) return value;
  if (!parseUuid(value as string, WORDS, 0)) return fail(target, `${name} must be a UUID`);
  // Ids that differ in case alone are the same; every server writes them in lower case.
  return (value as string).toLowerCase();
}

/** The fields of a row that a snapshot keeps, in their order. */
function rowOf<Row>(schema: ObjectSchema, target: string, value: unknown): Row {
  if (!isObject(value)) return fail(target, "a row must be an object");
  const row: Record<string, unknown> = {};
  for (const [name, { type }] of Object.entries(schema.properties)) {
    row[name] = fieldOf(target, name, type, value[name]);
  }
  return row as Row;
}

function pageOf<Row>(schema: ObjectSchema, target: string, body: unknown): Page<Row> {
  if (!isObject(body) || !Array.isArray(body.data) || !isObject(body.pagination)) {
    return fail(target, "it is not a list");
  }
  const total = fieldOf(target, "total", "integer", body.pagination.total) as number;
  const limit = fieldOf(target, "limit", "integer", body.pagination.limit) as number;
  if (limit === 0) return fail(target, "limit must be at least 1");
  if (body.data.length > limit)
    return fail(target, `there are ${body.data.length} rows in a page of ${limit}`);
  return { rows: body.data.map((row) => rowOf<Row>(schema, target, row)), total, limit };
}

function oneOf<Row>(schema: ObjectSchema, target: string, body: unknown): Row {
  return isObject(body) ? rowOf<Row>(schema, target, body.data) : fail(target, "it is not an object");
}

/** Reads a reply's body; throws a {@link SourceError} that names the target. */
export type Read<Value> = (target: string, body: unknown) => Value;

export const readWorlds: Read<Page<World>> = (target, body) => pageOf(SCHEMAS.world, target, body);
export const readInstances: Read<Page<Instance>> = (target, body) => pageOf(SCHEMAS.instance, target, body);
export const readUsers: Read<Page<User>> = (target, body) => pageOf(SCHEMAS.user, target, body);

/** Reads one user, who must be the one that was asked for. */
export function readUserOf(id: string): Read<User> {
  return (target, body) => {
    const user = oneOf<User>(SCHEMAS.user, target, body);
    return user.id === id ? user : fail(target, "it is of another user");
  };
}

/** Reads the counts of one world, which must be the one that was asked for. */
export function readWorldStatsOf(id: string): Read<WorldStats> {
  return (target, body) => {
    const stats = oneOf<WorldStats>(SCHEMAS.worldStats, target, body);
    return stats.worldId === id ? stats : fail(target, "it is of another world");
  };
}

export const readPlatformStats: Read<PlatformStats> = (target, body) =>
  oneOf(SCHEMAS.platformStats, target, body);
