/** Converts replies of another server to snapshot rows. Checks each field, so that a bad row stops further requests. */

import type { Instance, PlatformStats, User, World, WorldStats } from "../../model/model.ts";
import { type NamedField, RESOURCES, type ResourceName } from "../../model/schema.ts";
import { parseTime } from "../../model/time.ts";
import { parseUuid } from "../../model/uuid.ts";
import { isCount, isObject } from "../../util/json.ts";
import { SourceError } from "../../util/source-error.ts";

export interface RowPage<Row> {
  readonly rows: readonly Row[];
  readonly total: number;
  readonly limit: number;
}

const WORDS = new Uint32Array(4);

/** @param target request target of the reply, for messages */
function fail(target: string, what: string): never {
  throw new SourceError(`${target}: the reply is not what this API sends: ${what}`, { isLasting: true });
}

function countOf(target: string, name: string, value: unknown): number {
  return isCount(value) ? value : fail(target, `${name} must be a whole number from 0`);
}

function fieldOf(target: string, { name, type, absent }: NamedField, value: unknown): unknown {
  if (absent !== undefined && (value === null || value === undefined)) return absent;
  if (type === "count") return countOf(target, name, value);
  const wanted = type === "boolean" ? type : "string";
  if (typeof value !== wanted) return fail(target, `${name} must be a ${wanted}`);
  if (type === "time" && Number.isNaN(parseTime(value as string)))
    return fail(target, `${name} must be a time`);
  if (type !== "id") return value;
  if (!parseUuid(value as string, WORDS, 0)) return fail(target, `${name} must be a UUID`);
  // Ids that differ in case alone are the same; every server writes them in lower case.
  return (value as string).toLowerCase();
}

/** A row with only the fields that a snapshot keeps, in their order. */
function rowOf<Row>(resource: ResourceName, target: string, value: unknown): Row {
  if (!isObject(value)) return fail(target, "a row must be an object");
  const { fields } = RESOURCES[resource];
  return Object.fromEntries(
    fields.map((field) => [field.name, fieldOf(target, field, value[field.name])]),
  ) as Row;
}

function pageOf<Row>(resource: ResourceName, target: string, body: unknown): RowPage<Row> {
  if (!isObject(body) || !Array.isArray(body.data) || !isObject(body.pagination)) {
    return fail(target, "it is not a list");
  }
  const total = countOf(target, "total", body.pagination.total);
  const limit = countOf(target, "limit", body.pagination.limit);
  if (limit === 0) return fail(target, "limit must be at least 1");
  if (body.data.length > limit)
    return fail(target, `there are ${body.data.length} rows in a page of ${limit}`);
  return { rows: body.data.map((row) => rowOf<Row>(resource, target, row)), total, limit };
}

function oneOf<Row>(resource: ResourceName, target: string, body: unknown): Row {
  return isObject(body) ? rowOf<Row>(resource, target, body.data) : fail(target, "it is not an object");
}

/** Reads a reply's body; throws a {@link SourceError} that names the target. */
export type Read<Value> = (target: string, body: unknown) => Value;

export const readWorlds: Read<RowPage<World>> = (target, body) => pageOf("world", target, body);
export const readInstances: Read<RowPage<Instance>> = (target, body) => pageOf("instance", target, body);
export const readUsers: Read<RowPage<User>> = (target, body) => pageOf("user", target, body);

/** Reads one row, which must begin with the requested id. @param owner has the id */
function readRowOf<Row extends object>(resource: ResourceName, owner: string, id: string): Read<Row> {
  return (target, body) => {
    const row = oneOf<Row>(resource, target, body);
    return Object.values(row)[0] === id ? row : fail(target, `it is of another ${owner}`);
  };
}

export const readUserOf = (id: string): Read<User> => readRowOf("user", "user", id);
export const readWorldStatsOf = (id: string): Read<WorldStats> => readRowOf("worldStats", "world", id);

export const readPlatformStats: Read<PlatformStats> = (target, body) => oneOf("platformStats", target, body);
