/**
 * The contents of a prepared snapshot: every array, number and text of a generation, by path.
 *
 * A change of this list, or of the meaning of an array, must raise {@link PREPARED_VERSION}: a file of another version is
 * refused, not misread.
 */

import type { SearchIndex } from "../../search/search.ts";
import type { Store } from "../../store/generation.ts";

/** Version of the format, as stored in the file. */
export const PREPARED_VERSION = 2;

/** The stored data of a generation. */
export interface PreparedContents {
  readonly store: Store;
  readonly index: SearchIndex;
  /** Ids of hidden worlds, four words each: for comparing snapshots, not for serving. */
  readonly hiddenWorlds: Uint32Array;
  /** The characters beyond ASCII in the searched tables, and a checksum over their folded forms. */
  readonly letters: Uint32Array;
  readonly folding: number;
}

/** The names of the types of all parts of an object. */
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
const TEXTS = { count: "number", units: "Uint16Array", starts: "Uint32Array" } as const;
const TRIGRAMS = {
  texts: TEXTS,
  gram: "number",
  pairs: "Uint32Array",
  thirds: "Uint32Array",
  slots: "Uint32Array",
  bits: "Uint32Array",
  starts: "Uint32Array",
  postings: "Uint32Array",
  followers: "Uint32Array",
  depth: "number",
  chunkTexts: "Uint32Array",
  chunkStarts: "Uint32Array",
} as const;

/** Types by name; the compiler compares them with the types of the code. */
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
    foundWorldTail: "number",
    platformStats: "string",
  },
  index: {
    users: { trigrams: TRIGRAMS },
    worlds: {
      words: {
        trigrams: TRIGRAMS,
        wordPostings: { documents: "number", starts: "Uint32Array", entries: "Uint32Array" },
        ngramDocuments: {
          dense: {
            keys: "Float64Array",
            sizes: "Uint32Array",
            named: "Uint32Array",
            words: "number",
            any: "Uint32Array",
            inName: "Uint32Array",
          },
          sparse: { keys: "Float64Array", starts: "Uint32Array", entries: "Uint32Array" },
        },
        byDocument: { starts: "Uint32Array", words: "Uint32Array" },
      },
      nameOrder: { names: TEXTS, byName: "Uint32Array", ranks: "Uint32Array", rows: "Uint32Array" },
    },
  },
  hiddenWorlds: "Uint32Array",
  letters: "Uint32Array",
  folding: "number",
};

type Layout = { readonly [name: string]: string | Layout };

function flatten(layout: Layout, path = ""): [string, string][] {
  return Object.entries(layout).flatMap(([name, type]) =>
    typeof type === "string" ? [[path + name, type] as [string, string]] : flatten(type, `${path}${name}.`),
  );
}

/** The type of every part, by its path: `number`, `string`, or that of an array. */
export const LAYOUT: ReadonlyMap<string, string> = new Map(flatten(CONTENTS));

/** An array that can be stored. */
export type StoredArray = Uint8Array | Uint16Array | Uint32Array | Float64Array;

/** The types of arrays that can be stored: the size of an item in bytes, and a function that makes one over memory. */
export const ARRAY_TYPES = {
  Buffer: arrayType(1, (memory, items) => Buffer.from(memory, 0, items)),
  Uint16Array: arrayType(2, (memory, items) => new Uint16Array(memory, 0, items)),
  Uint32Array: arrayType(4, (memory, items) => new Uint32Array(memory, 0, items)),
  Float64Array: arrayType(8, (memory, items) => new Float64Array(memory, 0, items)),
} as const;

function arrayType(itemBytes: number, over: (memory: SharedArrayBuffer, items: number) => StoredArray) {
  return { itemBytes, over };
}

/** Name of a type of arrays. */
export type ArrayType = keyof typeof ARRAY_TYPES;

/** Whether a value names a type of arrays. */
export function isArrayType(type: unknown): type is ArrayType {
  return typeof type === "string" && Object.hasOwn(ARRAY_TYPES, type);
}

/** The parts of contents, by path (`store.users.starts`). */
interface Parts {
  readonly values: Readonly<Record<string, number | string>>;
  readonly arrays: ReadonlyMap<string, StoredArray>;
}

type Branch = { [name: string]: unknown };

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

/** Reverses {@link takeApart}. The paths must be in the layout. */
export function putTogether({ values, arrays }: Parts): PreparedContents {
  const whole: Branch = {};
  for (const [path, part] of [...Object.entries(values), ...arrays]) {
    const names = path.split(".");
    const last = names.pop()!;
    let branch = whole;
    for (const name of names) {
      branch[name] ??= {};
      branch = branch[name] as Branch;
    }
    branch[last] = part;
  }
  return whole as unknown as PreparedContents;
}

export function bytesOf({ buffer, byteOffset, byteLength }: StoredArray): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}
