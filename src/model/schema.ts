/** The fields of the rows, a line a field, in the order on the wire. CONTRIBUTING.md lists the other steps for a new field. */

/** Types of fields, as clients get them: ids are in lower case, times are ISO 8601 UTC with milliseconds, counts integers from 0. */
interface Values {
  readonly id: string;
  readonly text: string;
  readonly boolean: boolean;
  readonly count: number;
  readonly time: string;
}

export type FieldType = keyof Values;

export interface Field {
  readonly type: FieldType;
  /** A sentence for the documents and the OpenAPI document. */
  readonly meaning: string;
  readonly served: boolean;
  /** The value of null or an absent field; without it, a row must have the field. Null: a count or boolean that may be unknown. */
  readonly absent?: string | number | boolean | null;
  /** The table of the row with this id. `needs`: a row that refers to an invisible row is hidden, too. */
  readonly refersTo?: { readonly table: "users" | "worlds"; readonly needs: boolean };
  /** The only value of a visible row, and the reason for hiding a row with any other. */
  readonly shows?: { readonly only: string | true; readonly otherwise: string };
}

const ID = { type: "id", served: true } as const;
const TEXT = { type: "text", served: true } as const;
const COUNT = { type: "count", served: true } as const;
const TIME = { type: "time", served: true } as const;
const PUBLIC = { type: "boolean", served: true, shows: { only: true, otherwise: "not public" } } as const;
const WORLD = { ...ID, refersTo: { table: "worlds", needs: true } } as const;

/** The tables of a snapshot in the order in which they are read. The first field of a row is its key. */
export const ROWS = {
  users: {
    id: { ...ID, meaning: "The id of the user." },
    displayName: { ...TEXT, meaning: "The name that others see; users may have the same." },
    userIconUrl: { ...TEXT, absent: "", meaning: "The address of the user's picture; empty without one." },
    createdAt: { ...TIME, meaning: "The time at which the user joined." },
  },
  worlds: {
    id: { ...ID, meaning: "The id of the world." },
    name: { ...TEXT, meaning: "The name of the world." },
    description: { ...TEXT, absent: "", meaning: "A text about the world; empty without one." },
    ownerId: {
      ...ID,
      refersTo: { table: "users", needs: false },
      meaning: "The id of the owner, a user who may no longer exist.",
    },
    isPublic: { ...PUBLIC, meaning: "Always true: other worlds are not served." },
    status: {
      ...TEXT,
      served: false,
      shows: { only: "ACTIVE", otherwise: "status is not ACTIVE" },
      meaning: "The state of the world.",
    },
    createdAt: { ...TIME, meaning: "The time at which the world was made." },
    updatedAt: { ...TIME, meaning: "The time of the last change of the world." },
  },
  "world-stats": {
    worldId: { ...WORLD, meaning: "The id of the world." },
    totalVisits: { ...COUNT, meaning: "All visits." },
    uniqueVisitors: { ...COUNT, meaning: "The users behind these visits, each counted once." },
    visitsLast7Days: { ...COUNT, meaning: "Visits in the last 7 days." },
    visitsLast30Days: { ...COUNT, meaning: "Visits in the last 30 days." },
  },
  instances: {
    id: { ...ID, meaning: "The id of the instance." },
    worldId: { ...WORLD, meaning: "The id of the world that runs in it." },
    isPublic: { ...PUBLIC, served: false, meaning: "Whether everybody may join." },
    isActive: {
      type: "boolean",
      served: false,
      shows: { only: true, otherwise: "not active" },
      meaning: "Whether it is running.",
    },
    createdAt: { ...TIME, meaning: "The time at which the instance was started." },
  },
} as const satisfies Readonly<Record<string, Readonly<Record<string, Field>>>>;

export const PLATFORM_STATS = {
  totalUsers: { ...COUNT, meaning: "The number of users." },
  totalPublicWorlds: { ...COUNT, meaning: "The number of worlds that are served." },
  totalPublicInstances: { ...COUNT, meaning: "The number of instances that are served." },
} as const;

export type TableName = keyof typeof ROWS;

/** The fields of a row that clients get. */
export type Served<Fields extends Readonly<Record<string, Field>>> = {
  -readonly [Name in keyof Fields as Fields[Name]["served"] extends true ? Name : never]:
    | Values[Fields[Name]["type"]]
    | (Fields[Name] extends { readonly absent: null } ? null : never);
};

/** A row as a program gives it: times may be dates, fields with a value for their absence may be missing. */
export type GivenRow<Fields extends Readonly<Record<string, Field>>> = {
  readonly [Name in keyof Fields as "absent" extends keyof Fields[Name] ? never : Name]: GivenValue<
    Fields[Name]
  >;
} & {
  readonly [Name in keyof Fields as "absent" extends keyof Fields[Name] ? Name : never]?:
    | GivenValue<Fields[Name]>
    | null
    | undefined;
};

type GivenValue<Of extends Field> = Of["type"] extends "time" ? string | Date : Values[Of["type"]];

export type NamedField = { readonly name: string } & { readonly [Key in keyof Required<Field>]: Field[Key] };

function listed(fields: Readonly<Record<string, Field>>): readonly NamedField[] {
  // All objects have the same shape: readers of rows look at them for each value, which is faster so.
  return Object.entries(fields).map(([name, { type, meaning, served, absent, refersTo, shows }]) => {
    return { name, type, meaning, served, absent, refersTo, shows };
  });
}

/** Every table, in the order in which a load reads them. */
export const TABLES = Object.keys(ROWS) as readonly TableName[];

export function byTable<Value>(make: (table: TableName) => Value): Readonly<Record<TableName, Value>> {
  const made = TABLES.map((table) => [table, make(table)]);
  return Object.fromEntries(made) as Record<TableName, Value>;
}

export const FIELDS = byTable((table) => listed(ROWS[table]));

const served = byTable((table) => FIELDS[table].filter((field) => field.served));

/** All data that a reply can carry under `data`, and their tables. A found world has the first fields of a world. */
export const RESOURCES = {
  user: { title: "User", table: "users", fields: served.users },
  world: { title: "World", table: "worlds", fields: served.worlds },
  foundWorld: { title: "FoundWorld", table: "worlds", fields: served.worlds.slice(0, 3) },
  worldStats: { title: "WorldStats", table: "world-stats", fields: served["world-stats"] },
  instance: { title: "Instance", table: "instances", fields: served.instances },
  platformStats: { title: "PlatformStats", table: undefined, fields: listed(PLATFORM_STATS) },
} as const;

export type ResourceName = keyof typeof RESOURCES;

export const RESOURCE_NAMES = Object.keys(RESOURCES) as readonly ResourceName[];

export const RESOURCE_OF = byTable(
  (table) => RESOURCE_NAMES.find((name) => RESOURCES[name].table === table)!,
);

/** Whether the values of a type are JSON strings. */
export function isString(type: FieldType): boolean {
  return type !== "count" && type !== "boolean";
}

/** Bytes of a served value, without quotes, for types of fixed length. */
export const VALUE_BYTES: Partial<Readonly<Record<FieldType, number>>> = { id: 36, time: 24 };

/** Bytes that are the same in all served rows of a table, and the field that follows them. */
export interface ServedPart {
  readonly before: string;
  readonly field: NamedField;
  /** Whether `before` only ends one value and names the next. */
  readonly isName: boolean;
}

/** The JSON layout of the served ones of these fields: parts, then the end. A field that decides visibility has its one visible value in all rows. */
export function servedLayout(fields: readonly NamedField[]) {
  const parts: ServedPart[] = [];
  let before = "{";
  let isName = true;
  for (const field of fields.filter((one) => one.served)) {
    const { name, type, shows } = field;
    before += `"${name}":`;
    if (shows === undefined) {
      const quote = isString(type) ? '"' : "";
      parts.push({ before: before + quote, field, isName });
      before = quote;
    } else before += JSON.stringify(shows.only);
    isName = shows === undefined;
    before += ",";
  }
  return { parts, end: `${before.slice(0, -1)}}` };
}
