/**
 * The results of a search: a total, and pages of rows in order.
 *
 * Rows are listed, or known for some pages only, or made when a page needs them. Large rank classes are bitsets, which
 * are read only as far as a page needs: listing a hundred thousand takes longer than counting them.
 */

import type { Found, PageOf, Rows } from "../store/generation.ts";
import { type BitsetLoan, countWord, lowestBit } from "./bitset.ts";

export interface ResultSet {
  readonly total: number;
  readonly bytes: number;
  /** Whether all rows of a page are known. */
  has(page: PageOf): boolean;
  /** Rows of a page that is known, in order. */
  page(page: PageOf): Rows;
}

/** Most results that are retained of many, the best ones; later pages are rare. */
export const RETAINED = 1024;

/** Fewest results that are retained of many, for any page. */
const LEAST_RETAINED = 64;

/**
 * Retains the first of many results, so that their bitsets can be reused; all when a later page is requested.
 * @param loan of these bitsets
 */
export function retainPage(
  results: ResultSet,
  { limit: asked, offset }: PageOf,
  loan: BitsetLoan,
): ResultSet {
  const end = offset + asked;
  if (end > RETAINED && offset < results.total) {
    loan.keepAll();
    return results;
  }
  // Twice as many, so that a client that turns pages causes only few more searches.
  const limit = Math.min(Math.max(end * 2, LEAST_RETAINED), RETAINED);
  return new PartialResults({ total: results.total, rows: results.page({ limit, offset: 0 }) }, 0);
}

export function pageOf(results: ResultSet, page: PageOf): Found {
  return { total: results.total, rows: results.page(page) };
}

/** Results of which one range is known: another thread sent it, or no more was requested. */
export class PartialResults implements ResultSet {
  readonly #from: number;
  readonly #rows: Rows;
  readonly total: number;

  /** @param from number of results before the known ones */
  constructor({ total, rows }: Found, from: number) {
    this.total = total;
    this.#from = from;
    this.#rows = rows;
  }

  get bytes(): number {
    return bytesOf(this.#rows);
  }

  has({ limit, offset }: PageOf): boolean {
    const end = Math.min(offset + limit, this.total);
    return offset >= this.total || (offset >= this.#from && end <= this.#from + this.#rows.length);
  }

  page({ limit, offset }: PageOf): Rows {
    const from = Math.min(offset - this.#from, this.#rows.length);
    return partOf(this.#rows, from, Math.min(from + limit, this.#rows.length));
  }
}

export class ListedResults extends PartialResults {
  constructor(rows: Uint32Array) {
    super({ total: rows.length, rows }, 0);
  }
}

export const NO_RESULTS = new ListedResults(new Uint32Array(0));

/**
 * Results with a known top-k. A later page makes a list of all, which must be few: there is no pause.
 * @param top numbers of the best, in order
 * @param listBytes memory of the list, which counts from the beginning, and of its sources
 * @param rowOf the row of each number; without it, numbers are rows
 */
export function topResults(
  total: number,
  top: number[],
  listBytes: number,
  list: () => ResultSet,
  rowOf?: Uint32Array,
): ResultSet {
  const { length } = top;
  let listed: ResultSet | undefined;
  return {
    total,
    bytes: bytesOf(top) + listBytes,
    has: () => true,
    page(page) {
      const end = page.offset + page.limit;
      if (end <= length || length === total) return toRows(top.slice(page.offset, end), rowOf);
      listed ??= list();
      return listed.page(page);
    },
  };
}

export interface CountedBits {
  readonly bits: Uint32Array;
  readonly count: number;
}

/**
 * Results in bitsets, the best first: the numbers of the first, then the numbers that each further one adds, ascending.
 * @param nested each holds all of the one before
 * @param rowOf as for {@link topResults}
 */
export function bitsetResults(nested: readonly CountedBits[], rowOf?: Uint32Array): ResultSet {
  const total = nested.at(-1)!.count;
  return {
    total,
    bytes: nested.reduce((sum, { bits }) => sum + ownBytes(bits), 0),
    has: () => true,
    page({ limit, offset }) {
      const from = Math.min(offset, total);
      const rows = new Uint32Array(Math.min(limit, total - from));
      let index = 0;
      let before: CountedBits | undefined;
      for (const one of nested) {
        // The results of the bitset before are skipped, or taken already.
        const skip = Math.max(from - (before?.count ?? 0), 0);
        if (from < one.count) index = takeBits(one.bits, before?.bits, skip, rows.subarray(index)) + index;
        before = one;
      }
      return toRows(rows, rowOf);
    },
  };
}

/** Memory of numbers; 0 for a part of an index, which is in shared memory. */
export function ownBytes({ buffer, byteLength }: Uint32Array): number {
  return buffer instanceof SharedArrayBuffer ? 0 : byteLength;
}

/** Bytes of a number in a plain array. */
const ELEMENT_BYTES = 8;

function bytesOf(rows: Rows): number {
  return rows instanceof Uint32Array ? ownBytes(rows) : rows.length * ELEMENT_BYTES;
}

function partOf(rows: Rows, from: number, to: number): Rows {
  return rows instanceof Uint32Array ? rows.subarray(from, to) : rows.slice(from, to);
}

/** Replaces numbers by rows: on one page only, since the rows are scattered in memory. */
export function toRows<Numbers extends Rows>(numbers: Numbers, rowOf: Uint32Array | undefined): Numbers {
  if (rowOf !== undefined) for (let at = 0; at < numbers.length; at++) numbers[at] = rowOf[numbers[at]!]!;
  return numbers;
}

/** Writes numbers that are in `bits` but not in `butNot`, until they or the target end. @returns their number */
function takeBits(
  bits: Uint32Array,
  butNot: Uint32Array | undefined,
  skip: number,
  target: Uint32Array,
): number {
  let left = skip;
  let to = 0;
  for (let at = 0; at < bits.length && to < target.length; at++) {
    let word = bits[at]!;
    if (butNot !== undefined) word &= ~butNot[at]!;
    if (word === 0) continue;
    if (left > 0) {
      const count = countWord(word);
      if (count <= left) {
        left -= count;
        continue;
      }
      for (; left > 0; left--) word &= word - 1;
    }
    for (; word !== 0 && to < target.length; word &= word - 1) target[to++] = at * 32 + lowestBit(word);
  }
  return to;
}

/** A small integer of the engine: a larger limit would slow down every comparison. */
const ABOVE_ALL = 2 ** 30;

/**
 * Keeps the k smallest of many numbers, by insertion into a short sorted array: one comparison rules a number out.
 * Numbers must be distinct, and below 2^30.
 */
export class TopK {
  readonly #k: number;
  /** In order. A plain array: a typed one of this size takes ten times as long to make. */
  readonly numbers: number[] = [];
  limit: number;

  constructor(k: number) {
    this.#k = k;
    this.limit = k === 0 ? 0 : ABOVE_ALL;
  }

  /** Takes a number that is below the limit. */
  add(number: number): void {
    const { numbers } = this;
    if (numbers.length < this.#k) numbers.push(number);
    let to = numbers.length - 1;
    for (; to > 0 && numbers[to - 1]! > number; to--) numbers[to] = numbers[to - 1]!;
    numbers[to] = number;
    if (numbers.length === this.#k) this.limit = numbers[numbers.length - 1]!;
  }
}
