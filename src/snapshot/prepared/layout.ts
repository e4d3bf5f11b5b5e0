/**
 * The contents of a prepared snapshot: every array, number and text of a generation, by path. A change of this list, or of the
 * meaning of an array, must raise {@link PREPARED_VERSION}: a file of another version is refused, not misread.
 */

import type { SearchIndex } from "../../search/search.ts";
import type { Store } from "../../store/generation.ts";

export const PREPARED_VERSION = 4;

export interface PreparedContents {
  /** Without the copies of rows, which each load makes again. */
  readonly store: Omit<Store, "mostPopular">;
  readonly index: SearchIndex;
  /** Ids of hidden worlds, four words each: for comparing snapshots, not for serving. */
  readonly hiddenWorlds: Uint32Array;
  /** The characters beyond ASCII in the searched tables, and a checksum over their folded forms. */
  readonly letters: Uint32Array;
  readonly folding: number;
}

export type StoredArray = Uint8Array | Uint16Array | Uint32Array | Float64Array;

/** The types of arrays that can be stored, each with a function that makes one over memory. */
export const ARRAY_TYPES = {
  Buffer: (memory, bytes) => Buffer.from(memory, 0, bytes),
  Uint16Array: (memory, bytes) => new Uint16Array(memory, 0, bytes / 2),
  Uint32Array: (memory, bytes) => new Uint32Array(memory, 0, bytes / 4),
  Float64Array: (memory, bytes) => new Float64Array(memory, 0, bytes / 8),
} as const satisfies Record<string, (memory: SharedArrayBuffer, bytes: number) => StoredArray>;

export type ArrayType = keyof typeof ARRAY_TYPES;

type PartType = ArrayType | "number" | "string";

type LayoutOf<T> = T extends string
  ? "string"
  : T extends number
    ? "number"
    : T extends Buffer
      ? "Buffer"
      : T extends Uint32Array
        ? "Uint32Array"
        : T extends Uint16Array
          ? "Uint16Array"
          : T extends Float64Array
            ? "Float64Array"
            : { readonly [Name in keyof T]: LayoutOf<T[Name]> };

const BLOCK = { rows: "number", bytes: "Buffer", starts: "Uint32Array" } as const;
const TABLE = { ...BLOCK, ids: { words: "Uint32Array", slots: "Uint32Array" } } as const;
const LISTS = { starts: "Uint32Array", rows: "Uint32Array" } as const;
const TEXTS = { units: "Uint16Array", starts: "Uint32Array", ends: "Uint32Array" } as const;
const GRAMS = {
  documents: "number",
  few: "number",
  keys: "Float64Array",
  slots: "Uint32Array",
  counts: "Uint32Array",
  places: "Uint32Array",
  lists: "Uint32Array",
} as const;

/** The parts in the order of the file; the compiler compares them with the types of the code. */
const CONTENTS: LayoutOf<PreparedContents> = {
  store: {
    id: "string",
    contents: "string",
    users: TABLE,
    worlds: TABLE,
    instances: TABLE,
    worldStats: BLOCK,
    popular: { all: "Uint32Array", week: "Uint32Array", month: "Uint32Array" },
    worldsByOwner: LISTS,
    instancesByWorld: LISTS,
    platformStats: "string",
  },
  index: {
    users: { texts: TEXTS, grams: GRAMS },
    worlds: { texts: TEXTS, nameEnds: "Uint32Array", names: GRAMS, grams: GRAMS },
    places: "Uint32Array",
  },
  hiddenWorlds: "Uint32Array",
  letters: "Uint32Array",
  folding: "number",
};

type Layout = { readonly [name: string]: PartType | Layout };

function flatten(layout: Layout, path = ""): [string, PartType][] {
  return Object.entries(layout).flatMap(([name, part]) =>
    typeof part === "string" ? [[path + name, part] as [string, PartType]] : flatten(part, `${path}${name}.`),
  );
}

/** The type of every part, by its path (`store.users.starts`). */
export const LAYOUT: ReadonlyMap<string, PartType> = new Map(flatten(CONTENTS));

type Branch = Record<string, unknown>;

function isArrayType(type: string): type is ArrayType {
  return Object.hasOwn(ARRAY_TYPES, type);
}

interface Parts {
  readonly values: Readonly<Record<string, number | string>>;
  readonly arrays: ReadonlyMap<string, StoredArray>;
}

/** Takes contents apart, in the order of the layout. */
export function takeApart(contents: PreparedContents): Parts {
  const values: Record<string, number | string> = {};
  const arrays = new Map<string, StoredArray>();
  for (const [path, type] of LAYOUT) {
    const part = path.split(".").reduce((whole: unknown, name) => (whole as Branch)[name], contents);
    if (isArrayType(type)) arrays.set(path, part as StoredArray);
    else values[path] = part as number | string;
  }
  return { values, arrays };
}

/** Reverses {@link takeApart}; all parts must be there. */
export function putTogether({ values, arrays }: Parts): PreparedContents {
  const contents: Branch = {};
  for (const path of LAYOUT.keys()) {
    const names = path.split(".");
    const last = names.pop()!;
    let branch = contents;
    for (const name of names) {
      branch[name] ??= {};
      branch = branch[name] as Branch;
    }
    branch[last] = values[path] ?? arrays.get(path);
  }
  return contents as unknown as PreparedContents;
}
