/**
 * What a prepared snapshot holds: every array, number and text of a generation, by path.
 *
 * A change of this list, or of the meaning of an array, raises
 * {@link PREPARED_VERSION}: a file of another version is refused, not misread.
 */

import type { SearchIndex } from "../../search/search.ts";
import type { Store } from "../../store/generation.ts";

/** Version of the format, as the file tells it. */
export const PREPARED_VERSION = 2;

/** All that is kept of a generation. */
export interface PreparedContents {
  readonly store: Store;
  readonly index: SearchIndex;
  /** Ids of hidden worlds, four words each: for comparing snapshots, not for serving. */
  readonly hiddenWorlds: Uint32Array;
  /** The characters beyond ASCII that occur in what is searched, and a checksum over how they were folded. */
  readonly letters: Uint32Array;
  readonly folding: number;
}

/** The names of the types of everything in an object. */
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

/** Types by name; the compiler holds it to the types of the code. */
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

/** The array at the first path has so many items for each of what the third counts, and so many more. */
type Length = readonly [array: string, times: number, of: string, more: number];

const tableLengths = (table: string): readonly Length[] => [
  [`${table}.starts`, 1, `${table}.rows`, 1],
  [`${table}.ids.words`, 4, `${table}.rows`, 0],
];
const textsLengths = (texts: string): readonly Length[] => [[`${texts}.starts`, 1, `${texts}.count`, 1]];
const trigramLengths = (trigrams: string): readonly Length[] => [
  ...textsLengths(`${trigrams}.texts`),
  [`${trigrams}.thirds`, 1, `${trigrams}.pairs`, 0],
  [`${trigrams}.starts`, 1, `${trigrams}.pairs`, 1],
  [`${trigrams}.followers`, 1, `${trigrams}.postings`, 0],
  [`${trigrams}.chunkStarts`, 1, `${trigrams}.chunkTexts`, 0],
];
/** Lengths that follow from others. */
const LENGTHS: readonly Length[] = [
  ...tableLengths("store.users"),
  ...tableLengths("store.worlds"),
  ...tableLengths("store.instances"),
  ["store.worldStats.starts", 1, "store.worlds.rows", 1],
  ["store.worldStats.starts", 1, "store.worldStats.rows", 1],
  ["store.popular.all", 1, "store.worlds.rows", 0],
  ["store.popular.week", 1, "store.worlds.rows", 0],
  ["store.popular.month", 1, "store.worlds.rows", 0],
  ["store.worldsByOwner.starts", 1, "store.users.rows", 1],
  ["store.instancesByWorld.starts", 1, "store.worlds.rows", 1],
  ...trigramLengths("index.users.trigrams"),
  ["index.users.trigrams.texts.starts", 1, "store.users.rows", 1],
  ...trigramLengths("index.worlds.words.trigrams"),
  ["index.worlds.words.wordPostings.starts", 1, "index.worlds.words.trigrams.texts.count", 1],
  ["index.worlds.words.ngramDocuments.dense.sizes", 1, "index.worlds.words.ngramDocuments.dense.keys", 0],
  ["index.worlds.words.ngramDocuments.dense.named", 1, "index.worlds.words.ngramDocuments.dense.keys", 0],
  ["index.worlds.words.ngramDocuments.sparse.starts", 1, "index.worlds.words.ngramDocuments.sparse.keys", 1],
  ["index.worlds.words.byDocument.starts", 1, "store.worlds.rows", 1],
  ...textsLengths("index.worlds.nameOrder.names"),
  ["index.worlds.nameOrder.names.starts", 1, "store.worlds.rows", 1],
  ["index.worlds.nameOrder.byName", 1, "store.worlds.rows", 0],
  ["index.worlds.nameOrder.ranks", 1, "store.worlds.rows", 0],
  ["index.worlds.nameOrder.rows", 1, "store.worlds.rows", 0],
];

/** The number at a path, or how many items the array there has. */
export type SizeOf = (path: string) => number;

/** The array, if there is one, whose length does not fit the rest. */
export function misfit(sizeOf: SizeOf): string | undefined {
  return LENGTHS.find(([array, times, of, more]) => sizeOf(array) !== times * sizeOf(of) + more)?.[0];
}

/** An array that can be stored. */
export type StoredArray = Uint8Array | Uint16Array | Uint32Array | Float64Array;

/** The kinds of arrays that can be stored: the size of an item in bytes, and how one of so many items is made over memory. */
export const ARRAY_TYPES = {
  Buffer: { itemBytes: 1, over: (memory: SharedArrayBuffer, items: number) => Buffer.from(memory, 0, items) },
  Uint16Array: {
    itemBytes: 2,
    over: (memory: SharedArrayBuffer, items: number) => new Uint16Array(memory, 0, items),
  },
  Uint32Array: {
    itemBytes: 4,
    over: (memory: SharedArrayBuffer, items: number) => new Uint32Array(memory, 0, items),
  },
  Float64Array: {
    itemBytes: 8,
    over: (memory: SharedArrayBuffer, items: number) => new Float64Array(memory, 0, items),
  },
} as const;

/** Name of a kind of arrays. */
export type ArrayType = keyof typeof ARRAY_TYPES;

/** Whether it names a kind of arrays. */
export function isArrayType(type: unknown): type is ArrayType {
  return typeof type === "string" && Object.hasOwn(ARRAY_TYPES, type);
}

/** A whole in parts, by path (`store.users.starts`). */
interface Parts {
  readonly values: ReadonlyMap<string, number | string>;
  readonly arrays: ReadonlyMap<string, StoredArray>;
}

type Branch = { [name: string]: unknown };

/** Takes contents apart, in the order of the layout. */
export function takeApart(contents: PreparedContents): Parts {
  const values = new Map<string, number | string>();
  const arrays = new Map<string, StoredArray>();
  for (const [path, type] of LAYOUT) {
    const part = path.split(".").reduce((whole: unknown, name) => (whole as Branch)[name], contents);
    if (isArrayType(type)) arrays.set(path, part as StoredArray);
    else values.set(path, part as number | string);
  }
  return { values, arrays };
}

/** Puts together what was taken apart. Paths must be known to be good. */
export function putTogether({ values, arrays }: Parts): PreparedContents {
  const whole: Branch = {};
  for (const [path, part] of [...values, ...arrays]) {
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

/** The bytes of an array. */
export function bytesOf({ buffer, byteOffset, byteLength }: StoredArray): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}
