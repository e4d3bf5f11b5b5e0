/**
 * Checks that numbers in a prepared snapshot are valid indexes: a file with right checksums may still be forged.
 *
 * A search or a lookup ends and stays within its arrays if hash tables have empty slots, starts ascend up to the end of the
 * array that they divide, and rows, texts and documents exist. Whether a lookup finds the right ones is not checked.
 */

import { BIGRAM, GRAM, NUMBER_SHIFT } from "../../search/trigrams.ts";
import { FOUND_WORLD_CUT } from "../../store/encode.ts";

/** The number at a path of a prepared snapshot, or the number of items of the array there. */
export type SizeOf = (path: string) => number;

export interface ItemsCheck {
  take(items: Uint32Array): void;
  /** To be called after the last items. */
  isGood(): boolean;
}

/** Whether all items are below a limit of at most 2^31, by their sign bits: four at a time without a branch take half as long. */
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

/** Checks that every item is below a limit. */
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

/** Checks that items ascend from 0 to the end of the array that they divide, by at least `least` each. */
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

/** Checks a hash table: a power of two of slots, `count` of them filled with numbers from 1 to `count`, and others empty. */
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

/** Checks that bitsets of `words` words each have no bits after the last of `numbers` numbers. */
function bitsBelow(words: number, numbers: number): ItemsCheck {
  const left = numbers % 32;
  let good = true;
  /** Index of the last word of the next bitset. */
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

/** Number of items of an array: `times` the size at the path `of`, plus `more`. */
type Length = readonly [times: number, of: string, more: number];

/** Requirements on an array that follow from others: its length, and a check of its items. */
type Rule = readonly [path: string, length: Length | undefined, check?: (sizeOf: SizeOf) => ItemsCheck];

const each = (of: string, times = 1): Length => [times, of, 0];
/** Starts: one per item, and the end of the last. */
const startOfEach = (of: string): Length => [1, of, 1];
const numbersOf =
  (count: string, times = 1) =>
  (sizeOf: SizeOf) =>
    below(sizeOf(count) * times);
const dividing =
  (divided: string, least = 0) =>
  (sizeOf: SizeOf) =>
    ascending(sizeOf(divided), least);
const hashRule = (slots: string, count: string): Rule => [
  slots,
  undefined,
  (sizeOf) => hashTable(sizeOf(slots), sizeOf(count)),
];

/** A row has at least two braces, a quote and a comma. */
const LEAST_ROW = 4;
const tableRules = (table: string, leastRow = LEAST_ROW): readonly Rule[] => [
  [`${table}.starts`, startOfEach(`${table}.rows`), dividing(`${table}.bytes`, leastRow)],
  [`${table}.ids.words`, each(`${table}.rows`, 4)],
  hashRule(`${table}.ids.slots`, `${table}.rows`),
];
const listRules = (lists: string, groups: string, table: string): readonly Rule[] => [
  [`${lists}.starts`, startOfEach(`${groups}.rows`), dividing(`${lists}.rows`)],
  [`${lists}.rows`, undefined, numbersOf(`${table}.rows`)],
];
const textsRule = (texts: string): Rule => [
  `${texts}.starts`,
  startOfEach(`${texts}.count`),
  dividing(`${texts}.units`, 1),
];
const trigramRules = (trigrams: string): readonly Rule[] => [
  textsRule(`${trigrams}.texts`),
  [`${trigrams}.thirds`, each(`${trigrams}.pairs`)],
  hashRule(`${trigrams}.slots`, `${trigrams}.pairs`),
  [`${trigrams}.starts`, startOfEach(`${trigrams}.pairs`), dividing(`${trigrams}.postings`)],
  [
    `${trigrams}.postings`,
    undefined,
    (sizeOf) =>
      below((sizeOf(`${trigrams}.texts.count`) + sizeOf(`${trigrams}.chunkTexts`)) * 2 ** NUMBER_SHIFT),
  ],
  [`${trigrams}.followers`, each(`${trigrams}.postings`)],
  [`${trigrams}.chunkTexts`, undefined, numbersOf(`${trigrams}.texts.count`)],
  [`${trigrams}.chunkStarts`, each(`${trigrams}.chunkTexts`), numbersOf(`${trigrams}.texts.units`)],
];

const WORLDS = "store.worlds.rows";
const WORDS = "index.worlds.words";
const DENSE = `${WORDS}.ngramDocuments.dense`;
const SPARSE = `${WORDS}.ngramDocuments.sparse`;
const NAMES = "index.worlds.nameOrder";
const ofEachWorld = (path: string): Rule => [path, each(WORLDS), numbersOf(WORLDS)];

const RULES: readonly Rule[] = [
  ...tableRules("store.users"),
  // A row must hold the part that a search leaves off, and bytes before it.
  ...tableRules("store.worlds", FOUND_WORLD_CUT.tail + 2),
  ...tableRules("store.instances"),
  ["store.worldStats.starts", startOfEach(WORLDS), dividing("store.worldStats.bytes", LEAST_ROW)],
  ["store.worldStats.starts", startOfEach("store.worldStats.rows")],
  ...["all", "week", "month"].map((period) => ofEachWorld(`store.popular.${period}`)),
  ...listRules("store.worldsByOwner", "store.users", "store.worlds"),
  ...listRules("store.instancesByWorld", "store.worlds", "store.instances"),
  ...trigramRules("index.users.trigrams"),
  ["index.users.trigrams.texts.starts", startOfEach("store.users.rows")],
  ...trigramRules(`${WORDS}.trigrams`),
  [
    `${WORDS}.wordPostings.starts`,
    startOfEach(`${WORDS}.trigrams.texts.count`),
    dividing(`${WORDS}.wordPostings.entries`),
  ],
  [`${WORDS}.wordPostings.entries`, undefined, numbersOf(WORLDS, 2)],
  [`${DENSE}.sizes`, each(`${DENSE}.keys`), (sizeOf) => below(sizeOf(WORLDS) + 1)],
  [`${DENSE}.named`, each(`${DENSE}.keys`), (sizeOf) => below(sizeOf(WORLDS) + 1)],
  [`${DENSE}.any`, undefined, (sizeOf) => bitsBelow(sizeOf(`${DENSE}.words`), sizeOf(WORLDS))],
  [`${DENSE}.inName`, undefined, (sizeOf) => bitsBelow(sizeOf(`${DENSE}.words`), sizeOf(WORLDS))],
  [`${SPARSE}.starts`, startOfEach(`${SPARSE}.keys`), dividing(`${SPARSE}.entries`)],
  [`${SPARSE}.entries`, undefined, numbersOf(WORLDS, 2)],
  [`${WORDS}.byDocument.starts`, startOfEach(WORLDS), dividing(`${WORDS}.byDocument.words`)],
  [`${WORDS}.byDocument.words`, undefined, numbersOf(`${WORDS}.trigrams.texts.count`, 2)],
  textsRule(`${NAMES}.names`),
  [`${NAMES}.names.starts`, startOfEach(WORLDS)],
  ...["byName", "ranks", "rows"].map((name) => ofEachWorld(`${NAMES}.${name}`)),
];

/** Checks of the items of arrays, by path. */
export function createItemsChecks(sizeOf: SizeOf): readonly (readonly [path: string, check: ItemsCheck])[] {
  return RULES.flatMap(([path, , make]) => (make ? [[path, make(sizeOf)] as const] : []));
}

/** The path of the first array with a length that does not fit the rest, if any. */
export function misfit(sizeOf: SizeOf): string | undefined {
  return RULES.find(([path, length]) => {
    return length !== undefined && sizeOf(path) !== length[0] * sizeOf(length[1]) + length[2];
  })?.[0];
}

/** The path of the first number that fits no index; undefined if all fit. */
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
