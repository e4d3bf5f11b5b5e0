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
  /** Whether clients get it. */
  readonly served: boolean;
  /** The value of null or an absent field; without it, a row must have the field. */
  readonly absent?: string | number | boolean;
  /** The table of the row with this id. `needs`: a row that refers to an invisible row is hidden, too. */
  readonly refersTo?: { readonly table: "users" | "worlds"; readonly needs: boolean };
  /** The only value of a visible row, and the reason for hiding a row with any other. */
  readonly shows?: { readonly only: string | true; readonly otherwise: string };
}

const ID = { type: "id", served: true } as const;
const TEXT = { type: "text", served: true } as const;
const COUNT = { type: "count", served: true } as const;
const TIME = { type: "time", served: true } as const;
const FLAG = { type: "boolean", served: true } as const;

/** The tables of a snapshot in the order in which they are read. The first field of a row is its key. */
export const ROWS = {
  users: {
    id: ID,
    displayName: TEXT,
    userIconUrl: { ...TEXT, absent: "" },
    createdAt: TIME,
  },
  worlds: {
    id: ID,
    name: TEXT,
    description: { ...TEXT, absent: "" },
    ownerId: { ...ID, refersTo: { table: "users", needs: false } },
    isPublic: { ...FLAG, shows: { only: true, otherwise: "not public" } },
    status: { ...TEXT, served: false, shows: { only: "ACTIVE", otherwise: "status is not ACTIVE" } },
    createdAt: TIME,
    updatedAt: TIME,
  },
  "world-stats": {
    worldId: { ...ID, refersTo: { table: "worlds", needs: true } },
    totalVisits: COUNT,
    uniqueVisitors: COUNT,
    visitsLast7Days: COUNT,
    visitsLast30Days: COUNT,
  },
  instances: {
    id: ID,
    worldId: { ...ID, refersTo: { table: "worlds", needs: true } },
    isPublic: { ...FLAG, served: false, shows: { only: true, otherwise: "not public" } },
    isActive: { ...FLAG, served: false, shows: { only: true, otherwise: "not active" } },
    createdAt: TIME,
  },
} as const satisfies Readonly<Record<string, Readonly<Record<string, Field>>>>;

/** Counts over the whole platform. */
export const PLATFORM_STATS = {
  totalUsers: COUNT,
  totalPublicWorlds: COUNT,
  totalPublicInstances: COUNT,
} as const;

export type TableName = keyof typeof ROWS;

/** The fields of a row that clients get. */
export type Served<Fields extends Readonly<Record<string, Field>>> = {
  -readonly [Name in keyof Fields as Fields[Name]["served"] extends true
    ? Name
    : never]: Values[Fields[Name]["type"]];
};

export type NamedField = { readonly name: string } & { readonly [Key in keyof Required<Field>]: Field[Key] };

function listed(fields: Readonly<Record<string, Field>>): readonly NamedField[] {
  // All objects have the same shape: readers of rows look at them for each value, which is faster so.
  return Object.entries(fields).map(([name, { type, served, absent, refersTo, shows }]) => {
    return { name, type, served, absent, refersTo, shows };
  });
}

/** Every table, in the order in which a load reads them. */
export const TABLES = Object.keys(ROWS) as readonly TableName[];

/** An object with a value for each table. */
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

/** The resource of one row of each table. */
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
