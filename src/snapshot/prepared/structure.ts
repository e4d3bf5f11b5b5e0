/**
 * Whether the numbers in a prepared snapshot can be followed: a file whose
 * checksums are right may still have been made by other code, or by a hand.
 *
 * Checked is what a search or a lookup relies on to end, and to stay within its
 * arrays: hash tables have empty slots, starts ascend up to the end of what they
 * divide, and numbers of rows, texts and documents are those of some. What is
 * found there is not: that would take a load of the rows.
 */

import { BIGRAM, GRAM, NUMBER_SHIFT } from "../../search/trigrams.ts";
import { FOUND_WORLD_CUT } from "../../store/encode.ts";
import type { SizeOf } from "./layout.ts";

/** Looks at all items of an array, in pieces, in order. */
export interface ItemsCheck {
  take(items: Uint32Array): void;
  /** Whether all of it was as it must be; to be asked at the end. */
  isGood(): boolean;
}

type Rule = readonly [path: string, make: (sizeOf: SizeOf) => ItemsCheck];

/**
 * Whether all items are below a limit of at most 2^31. The highest bit of an item, or of its distance to the limit,
 * tells; without a branch, and four at a time, it takes half as long.
 */
function areBelow({ buffer, byteOffset, length }: Uint32Array, limit: number): boolean {
  const items = new Int32Array(buffer, byteOffset, length);
  const last = (limit - 1) | 0;
  let bits = 0;
  let at = 0;
  for (; at + 4 <= length; at += 4) {
    const a = items[at]!;
    const b = items[at + 1]!;
    const c = items[at + 2]!;
    const d = items[at + 3]!;
    bits |= a | b | c | d | ((last - a) | 0) | ((last - b) | 0) | ((last - c) | 0) | ((last - d) | 0);
  }
  for (; at < length; at++) bits |= items[at]! | ((last - items[at]!) | 0);
  return bits >= 0;
}

/** Every item is below a limit. */
function below(limit: number): ItemsCheck {
  let good = true;
  return {
    take(items) {
      if (limit <= 2 ** 31) good &&= areBelow(items, limit);
      else good &&= items.every((item) => item < limit);
    },
    isGood: () => good,
  };
}

/** Items go from 0 to the end of what they divide, each at least so much above the one before. */
function ascending(end: number, least: number): ItemsCheck {
  let good = true;
  let previous = -1;
  return {
    take(items) {
      if (previous < 0) {
        good = items[0] === 0;
        previous = -least;
      }
      let before = previous;
      for (let at = 0; at < items.length; at++) {
        const item = items[at]!;
        if (item - before < least) good = false;
        before = item;
      }
      previous = before;
    },
    isGood: () => good && previous === end,
  };
}

/** A hash table of so many slots, a power of two, that holds the numbers from 1 to a count and has room left. */
function hashTable(slots: number, count: number): ItemsCheck {
  let good = slots > count && (slots & (slots - 1)) === 0;
  let filled = 0;
  return {
    take(items) {
      let full = 0;
      for (let at = 0; at < items.length; at++) {
        const item = items[at]!;
        if (item === 0) continue;
        full++;
        if (item > count) good = false;
      }
      filled += full;
    },
    isGood: () => good && filled === count,
  };
}

/** Bitsets of so many words each have no bits after the last of so many numbers. */
function bitsBelow(words: number, numbers: number): ItemsCheck {
  const left = numbers % 32;
  let good = true;
  /** To the last word of the next bitset. */
  let next = words - 1;
  return {
    take(items) {
      if (left === 0) return;
      for (; next < items.length; next += words) if (items[next]! >>> left !== 0) good = false;
      next -= items.length;
    },
    isGood: () => good,
  };
}

const numbersOf = (path: string, count: string, times = 1): Rule => [
  path,
  (sizeOf) => below(sizeOf(count) * times),
];
const startsOf = (path: string, divided: string, least = 0): Rule => [
  path,
  (sizeOf) => ascending(sizeOf(divided), least),
];

/** A row has at least two braces, a quote and a comma. */
const blockRules = (block: string): readonly Rule[] => [startsOf(`${block}.starts`, `${block}.bytes`, 4)];
const hashRule = (slots: string, count: string): Rule => [
  slots,
  (sizeOf) => hashTable(sizeOf(slots), sizeOf(count)),
];
const tableRules = (table: string): readonly Rule[] => [
  ...blockRules(table),
  hashRule(`${table}.ids.slots`, `${table}.rows`),
];
const listRules = (lists: string, table: string): readonly Rule[] => [
  startsOf(`${lists}.starts`, `${lists}.rows`),
  numbersOf(`${lists}.rows`, `${table}.rows`),
];
const textRules = (texts: string): readonly Rule[] => [startsOf(`${texts}.starts`, `${texts}.units`, 1)];
const trigramRules = (trigrams: string): readonly Rule[] => [
  ...textRules(`${trigrams}.texts`),
  hashRule(`${trigrams}.slots`, `${trigrams}.pairs`),
  startsOf(`${trigrams}.starts`, `${trigrams}.postings`),
  [
    `${trigrams}.postings`,
    (sizeOf) =>
      below((sizeOf(`${trigrams}.texts.count`) + sizeOf(`${trigrams}.chunkTexts`)) * 2 ** NUMBER_SHIFT),
  ],
  numbersOf(`${trigrams}.chunkTexts`, `${trigrams}.texts.count`),
  numbersOf(`${trigrams}.chunkStarts`, `${trigrams}.texts.units`),
];

const WORLDS = "store.worlds.rows";
const WORDS = "index.worlds.words";
const DENSE = `${WORDS}.ngramDocuments.dense`;
const SPARSE = `${WORDS}.ngramDocuments.sparse`;
const NAMES = "index.worlds.nameOrder";

const RULES: readonly Rule[] = [
  ...tableRules("store.users"),
  hashRule("store.worlds.ids.slots", WORLDS),
  // What a search leaves off must be there, and something before it.
  ["store.worlds.starts", (sizeOf) => ascending(sizeOf("store.worlds.bytes"), FOUND_WORLD_CUT.tail + 2)],
  ...tableRules("store.instances"),
  ...blockRules("store.worldStats"),
  numbersOf("store.popular.all", WORLDS),
  numbersOf("store.popular.week", WORLDS),
  numbersOf("store.popular.month", WORLDS),
  ...listRules("store.worldsByOwner", "store.worlds"),
  ...listRules("store.instancesByWorld", "store.instances"),
  ...trigramRules("index.users.trigrams"),
  ...trigramRules(`${WORDS}.trigrams`),
  startsOf(`${WORDS}.wordPostings.starts`, `${WORDS}.wordPostings.entries`),
  numbersOf(`${WORDS}.wordPostings.entries`, WORLDS, 2),
  [`${DENSE}.sizes`, (sizeOf) => below(sizeOf(WORLDS) + 1)],
  [`${DENSE}.named`, (sizeOf) => below(sizeOf(WORLDS) + 1)],
  [`${DENSE}.any`, (sizeOf) => bitsBelow(sizeOf(`${DENSE}.words`), sizeOf(WORLDS))],
  [`${DENSE}.inName`, (sizeOf) => bitsBelow(sizeOf(`${DENSE}.words`), sizeOf(WORLDS))],
  startsOf(`${SPARSE}.starts`, `${SPARSE}.entries`),
  numbersOf(`${SPARSE}.entries`, WORLDS, 2),
  startsOf(`${WORDS}.byDocument.starts`, `${WORDS}.byDocument.words`),
  numbersOf(`${WORDS}.byDocument.words`, `${WORDS}.trigrams.texts.count`, 2),
  ...textRules(`${NAMES}.names`),
  numbersOf(`${NAMES}.byName`, WORLDS),
  numbersOf(`${NAMES}.ranks`, WORLDS),
  numbersOf(`${NAMES}.rows`, WORLDS),
];

/** What the arrays at some paths must be like, by path. */
export function createItemsChecks(sizeOf: SizeOf): readonly (readonly [path: string, check: ItemsCheck])[] {
  return RULES.map(([path, make]) => [path, make(sizeOf)]);
}

/** The first number that fits no index, by its path; undefined where all do. */
export function misfitNumber(sizeOf: SizeOf): string | undefined {
  if (sizeOf("store.foundWorldTail") !== FOUND_WORLD_CUT.tail) return "store.foundWorldTail";
  for (const trigrams of ["index.users.trigrams", `${WORDS}.trigrams`]) {
    const gram = sizeOf(`${trigrams}.gram`);
    if (gram !== GRAM && gram !== BIGRAM) return `${trigrams}.gram`;
    const depth = sizeOf(`${trigrams}.depth`);
    if (depth !== gram * 2 && depth !== gram * 3) return `${trigrams}.depth`;
  }
  const documents = sizeOf(WORLDS);
  if (sizeOf(`${WORDS}.wordPostings.documents`) !== documents) return `${WORDS}.wordPostings.documents`;
  if (sizeOf(`${DENSE}.words`) !== Math.ceil(documents / 32)) return `${DENSE}.words`;
  for (const bits of [`${DENSE}.any`, `${DENSE}.inName`])
    if (sizeOf(bits) !== sizeOf(`${DENSE}.keys`) * sizeOf(`${DENSE}.words`)) return bits;
  return undefined;
}
