/**
 * Ranks found worlds in four classes: their name is the query, begins with it, contains it, or only the
 * description does; within a class by popularity.
 *
 * Nothing is sorted: documents are numbered by popularity, the first two classes are a range in the order of
 * names, and a flag tells the others apart. Each page of few documents is taken from their list, of many from
 * bitsets.
 */

import type { PageOf, Rows } from "../store/generation.ts";
import type { BitsetLoan } from "./bitset.ts";
import {
  AT_ONCE,
  addEntries,
  type DocumentBitset,
  type DocumentSet,
  documentBitsetOf,
  takePair,
  uniteFew,
} from "./document-sets.ts";
import { findNameRange, type NameOrder } from "./name-order.ts";
import {
  bitsetResults,
  NO_RESULTS,
  ownBytes,
  type RankClass,
  type ResultSet,
  retainPage,
  topResults,
  toRows,
} from "./result-set.ts";
import { topOfCounter, topOfList } from "./top-documents.ts";
import type { OpenWordIndex } from "./word-index.ts";
import { STEP, type Work } from "./work.ts";

/** What is asked of a search. */
export interface Asked {
  /** The whole query. */
  readonly term: string;
  /** Without it everything is ranked. */
  readonly page: PageOf | undefined;
}

/**
 * Ranks documents; among equals they stay in document order.
 * @param found among them all whose names begin with the term
 */
export function* rank(
  found: DocumentSet,
  nameOrder: NameOrder,
  asked: Asked,
  loan: BitsetLoan,
): Work<ResultSet> {
  if (found.kind === "bits") return yield* rankBits(found, nameOrder, asked, loan);
  if (found.entries.length <= AT_ONCE) return rankList(found.entries, nameOrder, asked.term);
  const pair = takePair(loan);
  yield* addEntries(found.entries, pair);
  return yield* rankBits(documentBitsetOf(pair), nameOrder, asked, loan);
}

/** Ranks documents of a short list, each page when it is asked for; without a pause. */
export function rankList(entries: Uint32Array, nameOrder: NameOrder, term: string): ResultSet {
  const total = entries.length;
  if (total === 0) return NO_RESULTS;
  return {
    total,
    bytes: ownBytes(entries),
    has: () => true,
    page({ limit, offset }) {
      const end = Math.min(offset + limit, total);
      if (offset >= end) return [];
      const top = topOfList(entries, end, nameOrder, term);
      return toRows(offset === 0 ? top : top.slice(offset), nameOrder.rows);
    },
  };
}

/** Fewer postings take less time to sort than to count in a bitset, which is walked over whole. */
const FEW = 512;

/** The same for the documents of words with so few postings (`entries`) that there is no need to pause. */
export function rankWords(
  index: OpenWordIndex,
  words: Uint32Array,
  entries: number,
  nameOrder: NameOrder,
  term: string,
): ResultSet {
  const { counter, wordPostings, sorter } = index;
  if (entries <= FEW)
    return rankList(uniteFew(wordPostings, words, entries, sorter).entries, nameOrder, term);
  const total = counter.count(wordPostings, words);
  let top: Rows;
  try {
    top = topOfCounter(counter, total, nameOrder, term);
  } finally {
    counter.clear();
  }
  return topResults(
    total,
    top,
    total * Uint32Array.BYTES_PER_ELEMENT + words.byteLength,
    () => rankList(uniteFew(wordPostings, words, entries, sorter).entries, nameOrder, term),
    nameOrder.rows,
  );
}

function* rankBits(
  { any, inName, size, named }: DocumentBitset,
  nameOrder: NameOrder,
  { term, page }: Asked,
  loan: BitsetLoan,
): Work<ResultSet> {
  const { byName, rows } = nameOrder;
  const { from, equalEnd, end } = findNameRange(nameOrder, term);
  const classes: RankClass[] = [];
  let beginning: Uint32Array | undefined;
  if (end > equalEnd) {
    beginning = yield* bitsOfRange(byName, from, end, loan);
    const equal = equalEnd > from ? yield* bitsOfRange(byName, from, equalEnd, loan) : undefined;
    classes.push({ count: end - equalEnd, bits: beginning, butNot: equal });
  } else if (end > from) beginning = yield* bitsOfRange(byName, from, end, loan);
  classes.push({ count: named - (end - from), bits: inName, butNot: beginning });
  classes.push({ count: size - named, bits: any, butNot: inName });
  const results = bitsetResults(byName.subarray(from, equalEnd), classes, rows);
  return retainPage(results, page, () => loan.keepAll());
}

/** A range of documents in the order of names, as a bitset. */
function* bitsOfRange(byName: Uint32Array, from: number, end: number, loan: BitsetLoan): Work<Uint32Array> {
  const bits = loan.take();
  for (let at = from; at < end; ) {
    const stop = Math.min(at + STEP, end);
    for (; at < stop; at++) bits[byName[at]! >>> 5]! |= 1 << byName[at]!;
    if (at < end) yield;
  }
  return bits;
}
