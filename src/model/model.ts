/** The data model: each kind of row as a client sees it, and its JSON Schema. */

import {
  type FieldType,
  type PLATFORM_STATS,
  RESOURCE_NAMES,
  RESOURCES,
  type ResourceName,
  type ROWS,
  type Served,
  TABLES,
  type TableName,
} from "./schema.ts";

/** A permission that an API key can carry. */
export type Scope = "read:worlds" | "read:users" | "read:instances";

/** Every scope that grants something. */
export const SCOPES: readonly Scope[] = ["read:worlds", "read:users", "read:instances"];

/** A user's public profile. */
export interface User extends Served<(typeof ROWS)["users"]> {}

/** A public, active world. */
export interface World extends Served<(typeof ROWS)["worlds"]> {}

/** Visit counts of one world. */
export interface WorldStats extends Served<(typeof ROWS)["world-stats"]> {}

/** A running, public instance of a visible world. */
export interface Instance extends Served<(typeof ROWS)["instances"]> {}

/** Counts over the whole platform. */
export interface PlatformStats extends Served<typeof PLATFORM_STATS> {}

/** The part of JSON Schema that the model uses. */
export interface ObjectSchema {
  readonly title: string;
  readonly type: "object";
  readonly properties: Readonly<
    Record<
      string,
      { readonly type: string | readonly string[]; readonly format?: string; readonly description?: string }
    >
  >;
  readonly required: readonly string[];
}

const TYPES: Readonly<Record<FieldType, { readonly type: string; readonly format?: string }>> = {
  id: { type: "string", format: "uuid" },
  text: { type: "string" },
  boolean: { type: "boolean" },
  count: { type: "integer" },
  time: { type: "string", format: "date-time" },
};

function schemaOf(resource: ResourceName): ObjectSchema {
  const { title, fields } = RESOURCES[resource];
  const properties = Object.fromEntries(
    fields.map(({ name, type, absent, meaning }) => {
      const one = TYPES[type];
      return [name, { ...one, type: absent === null ? [one.type, "null"] : one.type, description: meaning }];
    }),
  );
  return { title, type: "object", properties, required: Object.keys(properties) };
}

/** JSON Schemas of all data that a reply can carry under `data`. */
export const SCHEMAS = Object.fromEntries(RESOURCE_NAMES.map((name) => [name, schemaOf(name)])) as Readonly<
  Record<ResourceName, ObjectSchema>
>;

export const PERIODS = ["all", "week", "month"] as const;

export type Period = (typeof PERIODS)[number];

/** The most items of a page. */
export const MOST_ON_PAGE = 50;

/** Prefix of every path of the interface. */
export const BASE_PATH = "/api/public/v1";

/** Name of the row file of a table, without `.gz`. */
export type RowFile = `${TableName}.ndjson`;

/** Names of the snapshot's row files, in the order in which they are read. */
export const ROW_FILES: readonly RowFile[] = TABLES.map((table) => `${table}.ndjson` as const);

export function tableOf(file: RowFile): TableName {
  return file.slice(0, -".ndjson".length) as TableName;
}
