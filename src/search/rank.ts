/**
 * Ranks found worlds in four classes: the name equals the query, begins with it, contains it, or only the description
 * contains it; within a class by popularity.
 *
 * Nothing is sorted: documents are numbered by popularity, the first two classes are a range in the order of names, and
 * a flag tells the others apart. Pages of few documents come from a list, pages of many from bitsets.
 */

import type { Rows } from "../store/generation.ts";
import { type BitsetLoan, lowestBit } from "./bitset.ts";
import {
  addEntries,
  type BitPair,
  clearMarks,
  countNew,
  type DocumentSet,
  documentBitsetOf,
  takePair,
  uniteFew,
} from "./document-sets.ts";
import { findNameRange, type NameOrder, type NameRange } from "./name-order.ts";
import {
  bitsetResults,
  type CountedBits,
  NO_RESULTS,
  ownBytes,
  type ResultSet,
  TopK,
  topResults,
  toRows,
} from "./result-set.ts";
import type { OpenWordIndex } from "./word-index.ts";
import { STEP, type Work } from "./work.ts";

/** Ranks documents of a short list, each page on request; without a pause. */
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

/** Fewer postings take less time to sort than to count in a bitset, which must be read to its end. */
const FEW = 512;

/** The same for the documents of words with so few postings (`entries`) that no pause is needed. */
export function rankWords(
  index: OpenWordIndex,
  words: Uint32Array,
  entries: number,
  nameOrder: NameOrder,
  term: string,
): ResultSet {
  const { marks, wordPostings } = index;
  if (entries <= FEW) return rankList(uniteFew(index, words, entries).entries, nameOrder, term);
  const total = countNew(wordPostings, words, marks);
  let top: number[];
  try {
    top = topOfMarks(marks, Math.min(total, MOST_TOP), nameOrder, term);
  } finally {
    clearMarks(index);
  }
  const listBytes = total * Uint32Array.BYTES_PER_ELEMENT + words.byteLength;
  const list = (): ResultSet => rankList(uniteFew(index, words, entries).entries, nameOrder, term);
  return topResults(total, top, listBytes, list, nameOrder.rows);
}

/**
 * Ranks any set, with pauses.
 * @param found must contain all documents whose names begin with the term
 */
export function* rankSet(
  found: DocumentSet,
  nameOrder: NameOrder,
  term: string,
  loan: BitsetLoan,
): Work<ResultSet> {
  let set = found;
  if (set.kind === "list") {
    const pair = takePair(loan);
    yield* addEntries(set.entries, pair);
    set = documentBitsetOf(pair);
  }
  const { byName, rows } = nameOrder;
  const { from, equalEnd, end } = findNameRange(nameOrder, term);
  const classes: CountedBits[] = [];
  if (equalEnd > from) classes.push(yield* bitsOfRange(byName, from, equalEnd, loan));
  if (end > equalEnd) classes.push(yield* bitsOfRange(byName, from, end, loan));
  classes.push({ bits: set.inName, count: set.named }, { bits: set.any, count: set.size });
  return bitsetResults(classes, rows);
}

/** A range of documents in the order of names. */
function* bitsOfRange(byName: Uint32Array, from: number, end: number, loan: BitsetLoan): Work<CountedBits> {
  const bits = loan.take();
  for (let at = from; at < end; ) {
    const stop = Math.min(at + STEP, end);
    for (; at < stop; at++) bits[byName[at]! >>> 5]! |= 1 << byName[at]!;
    if (at < end) yield;
  }
  return { bits, count: end - from };
}

/*
 * The top-k of found worlds, for a first page: most searches need no other, and listing all worlds in order takes
 * longer than finding them.
 *
 * Class by class until there are k: names equal to the term come first in their range in the order of names; of longer
 * names that begin with it, the k smallest documents are kept; the rest is taken in document order.
 */

/** The largest k; the largest first page is smaller. */
const MOST_TOP = 64;

/** The top-k of a list, which must be short: there is no pause. @param k at most its length */
function topOfList(entries: Uint32Array, k: number, nameOrder: NameOrder, term: string): number[] {
  const top = new TopDocuments(k, nameOrder, term);
  for (let flag = 1; flag >= 0; flag--) {
    for (let at = 0; at < entries.length && top.room > 0; at++) {
      if ((entries[at]! & 1) === flag) top.add(entries[at]! >>> 1, flag === 1);
    }
  }
  return top.documents;
}

/** The top-k of marked documents. @param k at most their number */
function topOfMarks({ any, inName }: BitPair, k: number, nameOrder: NameOrder, term: string): number[] {
  const top = new TopDocuments(k, nameOrder, term);
  for (const isInName of [true, false]) {
    for (let at = 0; at < any.length && top.room > 0; at++) {
      let word = isInName ? inName[at]! : any[at]! & ~inName[at]!;
      for (; word !== 0 && top.room > 0; word &= word - 1) top.add(at * 32 + lowestBit(word), isInName);
    }
  }
  return top.documents;
}

/** Collects documents, the best first, until there are k; begins with documents whose names begin with the term. */
class TopDocuments {
  readonly documents: number[] = [];
  room: number;
  readonly #nameOrder: NameOrder;
  readonly #range: NameRange;

  constructor(k: number, nameOrder: NameOrder, term: string) {
    this.room = k;
    this.#nameOrder = nameOrder;
    this.#range = findNameRange(nameOrder, term);
    const { byName } = nameOrder;
    const { from, equalEnd, end } = this.#range;
    for (let at = from; at < equalEnd && this.room > 0; at++) this.#take(byName[at]!);
    if (equalEnd === end || this.room === 0) return;
    const longer = smallest(byName.subarray(equalEnd, end), this.room);
    for (let at = 0; at < longer.length; at++) this.#take(longer[at]!);
  }

  #take(document: number): void {
    this.documents.push(document);
    this.room--;
  }

  /** Adds a document, unless its name begins with the term. */
  add(document: number, isInName: boolean): void {
    const { from, end } = this.#range;
    // Most queries have no such name, and need no rank from a random place in memory.
    if (isInName && from < end) {
      const rank = this.#nameOrder.ranks[document]!;
      if (rank >= from && rank < end) return;
    }
    this.#take(document);
  }
}

/** The smallest of some numbers, in order. */
function smallest(numbers: Uint32Array, k: number): Rows {
  // Few: they are in a list.
  if (k > MOST_TOP) return numbers.slice().sort().subarray(0, k);
  const top = new TopK(k);
  for (let at = 0; at < numbers.length; at++) if (numbers[at]! < top.limit) top.add(numbers[at]!);
  return top.numbers;
}
