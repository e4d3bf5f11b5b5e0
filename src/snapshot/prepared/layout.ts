/**
 * The contents of a prepared snapshot: every array, number and text of a generation, by path, and its fit with the others.
 *
 * A change of this list, or of the meaning of an array, must raise {@link PREPARED_VERSION}: a file of another version is
 * refused, not misread.
 */

import type { SearchIndex } from "../../search/search.ts";
import { BIGRAM, GRAM, NUMBER_SHIFT } from "../../search/trigrams.ts";
import { FOUND_WORLD_CUT } from "../../store/encode.ts";
import type { Store } from "../../store/generation.ts";
import { ascending, below, bitsBelow, filled, type ItemsCheck } from "./structure.ts";

export const PREPARED_VERSION = 4;

export interface PreparedContents {
  readonly store: Store;
  readonly index: SearchIndex;
  /** Ids of hidden worlds, four words each: for comparing snapshots, not for serving. */
  readonly hiddenWorlds: Uint32Array;
  /** The characters beyond ASCII in the searched tables, and a checksum over their folded forms. */
  readonly letters: Uint32Array;
  readonly folding: number;
}

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

export type ArrayType = keyof typeof ARRAY_TYPES;

/** The number at a path of a prepared snapshot, or the number of items of the array there. */
export type SizeOf = (path: string) => number;

/** Whether a number, or a number of items, fits the others. */
type Fits = (size: number, sizeOf: SizeOf) => boolean;

/** A number, a text or an array. */
interface Part<Type = ArrayType | "number" | "string"> {
  readonly type: Type;
  readonly fits?: Fits | undefined;
  readonly items?: ((sizeOf: SizeOf) => ItemsCheck) | undefined;
}

type LayoutOf<T> = T extends string
  ? Part<"string">
  : T extends number
    ? Part<"number">
    : T extends Buffer
      ? Part<"Buffer">
      : T extends Uint32Array
        ? Part<"Uint32Array">
        : T extends Uint16Array
          ? Part<"Uint16Array">
          : T extends Float64Array
            ? Part<"Float64Array">
            : { readonly [Name in keyof T]: LayoutOf<T[Name]> };

const TEXT: Part<"string"> = { type: "string" };
const BYTES: Part<"Buffer"> = { type: "Buffer" };
const UNITS: Part<"Uint16Array"> = { type: "Uint16Array" };
const KEYS: Part<"Float64Array"> = { type: "Float64Array" };
const count = (fits?: Fits): Part<"number"> => ({ type: "number", fits });
const array = (fits?: Fits, items?: Part["items"]): Part<"Uint32Array"> => {
  return { type: "Uint32Array", fits, items };
};

const each =
  (of: string, times = 1): Fits =>
  (size, sizeOf) =>
    size === sizeOf(of) * times;
const numbersOf =
  (of: string, times = 1): Part["items"] =>
  (sizeOf) =>
    below(sizeOf(of) * times);
const ofEach = (of: string): Part<"Uint32Array"> => array(each(of), numbersOf(of));
/** Starts: one per item, and the end of the last. */
const starts = (of: string, divided: string, least = 0): Part<"Uint32Array"> =>
  array(
    (size, sizeOf) => size === sizeOf(of) + 1,
    (sizeOf) => ascending(sizeOf(divided), least),
  );
/** A hash table: a power of two of slots, and at least one of them empty. */
const slots = (of: string): Part<"Uint32Array"> =>
  array(
    (size, sizeOf) => size > sizeOf(of) && (size & (size - 1)) === 0,
    (sizeOf) => filled(sizeOf(of)),
  );

/** A row has at least two braces, a quote and a comma. */
const LEAST_ROW = 4;
const block = (path: string, leastRow = LEAST_ROW, fits?: Fits) => ({
  rows: count(fits),
  bytes: BYTES,
  starts: starts(`${path}.rows`, `${path}.bytes`, leastRow),
});
const table = (path: string, leastRow?: number) => ({
  ...block(path, leastRow),
  ids: { words: array(each(`${path}.rows`, 4)), slots: slots(`${path}.rows`) },
});
const lists = (path: string, groups: string, of: string) => ({
  starts: starts(groups, `${path}.rows`),
  rows: array(undefined, numbersOf(of)),
});
const texts = (path: string, fits?: Fits) => ({
  count: count(fits),
  units: UNITS,
  starts: starts(`${path}.count`, `${path}.units`, 1),
});
const trigrams = (path: string, fits?: Fits) => ({
  texts: texts(`${path}.texts`, fits),
  gram: count((gram) => gram === GRAM || gram === BIGRAM),
  pairs: array(),
  thirds: array(each(`${path}.pairs`)),
  slots: slots(`${path}.pairs`),
  bits: array(),
  starts: starts(`${path}.pairs`, `${path}.postings`),
  postings: array(undefined, (sizeOf) =>
    below((sizeOf(`${path}.texts.count`) + sizeOf(`${path}.chunkTexts`)) * 2 ** NUMBER_SHIFT),
  ),
  followers: array(each(`${path}.postings`)),
  chunkTexts: array(undefined, numbersOf(`${path}.texts.count`)),
  chunkStarts: array(each(`${path}.chunkTexts`), numbersOf(`${path}.texts.units`)),
});

const USERS = "store.users.rows";
const WORLDS = "store.worlds.rows";
const WORDS = "index.worlds.words";
const DENSE = `${WORDS}.ngramDocuments.dense`;
const SPARSE = `${WORDS}.ngramDocuments.sparse`;
const NAMES = "index.worlds.nameOrder";
/** Numbers of documents, for each dense n-gram. */
const documents = (): Part<"Uint32Array"> =>
  array(each(`${DENSE}.keys`), (sizeOf) => below(sizeOf(WORLDS) + 1));
/** A bitset of documents for each dense n-gram. */
const bitsets = (): Part<"Uint32Array"> =>
  array(
    (size, sizeOf) => size === sizeOf(`${DENSE}.keys`) * sizeOf(`${DENSE}.words`),
    (sizeOf) => bitsBelow(sizeOf(`${DENSE}.words`), sizeOf(WORLDS)),
  );

/** The parts in the order of the file; the compiler compares them with the types of the code. */
const CONTENTS: LayoutOf<PreparedContents> = {
  store: {
    id: TEXT,
    contents: TEXT,
    users: table("store.users"),
    // A row must hold the part that a search leaves off, and bytes before it.
    worlds: table("store.worlds", FOUND_WORLD_CUT.tail + 2),
    instances: table("store.instances"),
    worldStats: block("store.worldStats", LEAST_ROW, each(WORLDS)),
    popular: { all: ofEach(WORLDS), week: ofEach(WORLDS), month: ofEach(WORLDS) },
    worldsByOwner: lists("store.worldsByOwner", USERS, WORLDS),
    instancesByWorld: lists("store.instancesByWorld", WORLDS, "store.instances.rows"),
    foundWorldTail: count((tail) => tail === FOUND_WORLD_CUT.tail),
    platformStats: TEXT,
  },
  index: {
    users: { trigrams: trigrams("index.users.trigrams", each(USERS)) },
    worlds: {
      words: {
        trigrams: trigrams(`${WORDS}.trigrams`),
        wordPostings: {
          documents: count(each(WORLDS)),
          starts: starts(`${WORDS}.trigrams.texts.count`, `${WORDS}.wordPostings.entries`),
          entries: array(undefined, numbersOf(WORLDS, 2)),
        },
        ngramDocuments: {
          dense: {
            keys: KEYS,
            sizes: documents(),
            named: documents(),
            words: count((words, sizeOf) => words === Math.ceil(sizeOf(WORLDS) / 32)),
            any: bitsets(),
            inName: bitsets(),
          },
          sparse: {
            keys: KEYS,
            starts: starts(`${SPARSE}.keys`, `${SPARSE}.entries`),
            entries: array(undefined, numbersOf(WORLDS, 2)),
          },
        },
        byDocument: {
          starts: starts(WORLDS, `${WORDS}.byDocument.words`),
          words: array(undefined, numbersOf(`${WORDS}.trigrams.texts.count`, 2)),
        },
      },
      nameOrder: {
        names: texts(`${NAMES}.names`, each(WORLDS)),
        byName: ofEach(WORLDS),
        ranks: ofEach(WORLDS),
        rows: ofEach(WORLDS),
      },
    },
  },
  hiddenWorlds: array(),
  letters: array(),
  folding: count(),
};

/** An array that is stored as another one, which has the same items. */
export const SHARED = { path: `${NAMES}.rows`, as: "store.popular.all" } as const;

type Layout = { readonly [name: string]: Part | Layout };

function isPart(part: Part | Layout): part is Part {
  return typeof part.type === "string";
}

function flatten(layout: Layout, path = ""): [string, Part][] {
  return Object.entries(layout).flatMap(([name, part]) =>
    isPart(part) ? [[path + name, part] as [string, Part]] : flatten(part, `${path}${name}.`),
  );
}

/** Every part, by its path (`store.users.starts`). */
export const LAYOUT: ReadonlyMap<string, Part> = new Map(flatten(CONTENTS));

type Branch = { readonly [name: string]: unknown };

function isArrayType(type: string): type is ArrayType {
  return Object.hasOwn(ARRAY_TYPES, type);
}

/** The arrays in the order of the file. */
export const ARRAYS = Array.from(LAYOUT, ([path, part]) => ({ path, ...part })).filter(
  (part): part is { path: string } & Part<ArrayType> => isArrayType(part.type),
);

interface Parts {
  readonly values: Readonly<Record<string, number | string>>;
  readonly arrays: ReadonlyMap<string, StoredArray>;
}

/** Takes contents apart, in the order of the layout. */
export function takeApart(contents: PreparedContents): Parts {
  const values: Record<string, number | string> = {};
  const arrays = new Map<string, StoredArray>();
  for (const [path, { type }] of LAYOUT) {
    const part = path.split(".").reduce((whole: unknown, name) => (whole as Branch)[name], contents);
    if (isArrayType(type)) arrays.set(path, part as StoredArray);
    else values[path] = part as number | string;
  }
  return { values, arrays };
}

/** Reverses {@link takeApart}; all parts must be there. */
export function putTogether({ values, arrays }: Parts): PreparedContents {
  const fill = (layout: Layout, path: string): Branch =>
    Object.fromEntries(
      Object.entries(layout).map(([name, part]) => {
        const whole = path + name;
        return [name, isPart(part) ? (values[whole] ?? arrays.get(whole)) : fill(part, `${whole}.`)];
      }),
    );
  return fill(CONTENTS, "") as unknown as PreparedContents;
}
