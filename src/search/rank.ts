/**
 * Ranks found worlds in four classes: the name equals the query, begins with it, contains it, or only the description
 * contains it; within a class by popularity.
 *
 * Nothing is sorted: documents are numbered by popularity, the first two classes are a range in the order of names, and
 * a flag tells the others apart. Pages of few documents come from a list, pages of many from bitsets.
 */

import type { PageOf, Rows } from "../store/generation.ts";
import { type BitsetLoan, lowestBit } from "./bitset.ts";
import {
  AT_ONCE,
  addEntries,
  type DocumentBitset,
  type DocumentCounter,
  type DocumentSet,
  documentBitsetOf,
  takePair,
  uniteFew,
} from "./document-sets.ts";
import { findNameRange, type NameOrder, type NameRange } from "./name-order.ts";
import {
  bitsetResults,
  NO_RESULTS,
  ownBytes,
  type RankClass,
  type ResultSet,
  retainPage,
  TopK,
  topResults,
  toRows,
} from "./result-set.ts";
import type { OpenWordIndex } from "./word-index.ts";
import { STEP, type Work } from "./work.ts";

export interface Asked {
  readonly term: string;
  readonly page: PageOf;
}

/**
 * Ranks documents; within a class they stay in document order.
 * @param found must contain all documents whose names begin with the term
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
  const { counter } = index;
  if (entries <= FEW) return rankList(uniteFew(index, words, entries).entries, nameOrder, term);
  const total = counter.count(index.wordPostings, words);
  let top: Rows;
  try {
    top = topOfCounter(counter, total, nameOrder, term);
  } finally {
    counter.clear();
  }
  const listBytes = total * Uint32Array.BYTES_PER_ELEMENT + words.byteLength;
  const list = (): ResultSet => rankList(uniteFew(index, words, entries).entries, nameOrder, term);
  return topResults(total, top, listBytes, list, nameOrder.rows);
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
function topOfList(entries: Uint32Array, k: number, nameOrder: NameOrder, term: string): Rows {
  const top = new TopDocuments(k, nameOrder, term);
  top.takeBeginning();
  top.takeEntries(entries, true);
  top.takeEntries(entries, false);
  return top.documents;
}

/** The top-k of counted documents. @param total their number */
function topOfCounter(
  { any, flagged }: DocumentCounter,
  total: number,
  nameOrder: NameOrder,
  term: string,
): Rows {
  const top = new TopDocuments(Math.min(total, MOST_TOP), nameOrder, term);
  top.takeBeginning();
  for (let at = 0; at < any.length && top.room > 0; at++) {
    for (let word = flagged[at]!; word !== 0 && top.room > 0; word &= word - 1) {
      const document = at * 32 + lowestBit(word);
      if (!top.begins(document)) top.take(document);
    }
  }
  for (let at = 0; at < any.length && top.room > 0; at++) {
    for (let word = any[at]! & ~flagged[at]!; word !== 0 && top.room > 0; word &= word - 1) {
      top.take(at * 32 + lowestBit(word));
    }
  }
  return top.documents;
}

/** Collects documents, the best first, until there are k; begins with documents whose names equal the term. */
class TopDocuments {
  /** A plain array for few documents. */
  readonly documents: Rows;
  readonly range: NameRange;
  room: number;
  readonly #nameOrder: NameOrder;
  readonly #k: number;

  constructor(k: number, nameOrder: NameOrder, term: string) {
    this.documents = k > MOST_TOP ? new Uint32Array(k) : [];
    this.range = findNameRange(nameOrder, term);
    this.room = k;
    this.#nameOrder = nameOrder;
    this.#k = k;
    const { from, equalEnd } = this.range;
    for (let at = from; at < equalEnd && this.room > 0; at++) this.take(nameOrder.byName[at]!);
  }

  take(document: number): void {
    this.documents[this.#k - this.room--] = document;
  }

  /** Takes the first documents whose names begin with the term and are longer. */
  takeBeginning(): void {
    const { equalEnd, end } = this.range;
    if (this.room === 0 || equalEnd === end) return;
    const { byName } = this.#nameOrder;
    if (this.room > MOST_TOP) {
      // Few: they are in a list.
      const sorted = byName.slice(equalEnd, end).sort();
      for (let at = 0; at < sorted.length && this.room > 0; at++) this.take(sorted[at]!);
      return;
    }
    const smallest = new TopK(this.room);
    for (let at = equalEnd; at < end; at++) {
      if (byName[at]! < smallest.limit) smallest.add(byName[at]!);
    }
    for (const document of smallest.numbers) this.take(document);
  }

  /** Takes entries whose names do not begin with the term. @param isInName whether their names, or only descriptions, contain it */
  takeEntries(entries: Uint32Array, isInName: boolean): void {
    const flag = isInName ? 1 : 0;
    for (let at = 0; at < entries.length && this.room > 0; at++) {
      if ((entries[at]! & 1) !== flag) continue;
      const document = entries[at]! >>> 1;
      if (!isInName || !this.begins(document)) this.take(document);
    }
  }

  /** Whether the name of a document begins with the term. */
  begins(document: number): boolean {
    const { from, end } = this.range;
    // Most queries have no such name, and need no rank from a random place in memory.
    if (from === end) return false;
    const rank = this.#nameOrder.ranks[document]!;
    return rank >= from && rank < end;
  }
}
