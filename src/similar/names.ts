/**
 * The distinct names of a table and the documents that bear each.
 *
 * Names are not kept: they are read back from the rows and folded again, a few
 * hundred a search. While building, a table of hashes tells whether a name was
 * there before (open addressing, linear probing).
 */

import type { Work } from "../search/work.ts";
import { Candidates } from "./candidates.ts";

/** Longer names, in UTF-16 units, are not found; the distance to one takes time in its length. */
export const LONGEST_NAME = 256;

/** Names between two yields: FlexSearch takes some 20 µs for each. */
const AT_ONCE = 64;

/** Distinct names by number, in order of the first document of each. */
export interface SimilarNames {
  readonly candidates: Candidates;
  readonly count: number;
  /** By name: where its documents begin in `documents`; one more at the end. */
  readonly starts: Uint32Array;
  /** Ascending for each name. */
  readonly documents: Uint32Array;
  /** The folded name of a document. */
  readonly nameOf: (document: number) => string;
}

/** A document without a name that could be found. */
const NO_NAME = 0xffffffff;

/**
 * Indexes names.
 *
 * @param documents how many there are
 * @param nameOf the folded name of each
 * @throws {RangeError} when there are more names or n-grams than an index can hold
 */
export function* indexSimilarNames(
  documents: number,
  nameOf: (document: number) => string,
): Work<SimilarNames> {
  const candidates = new Candidates();
  const numbers = new NameNumbers(documents, nameOf);
  const numberOf = new Uint32Array(documents);
  for (let document = 0; document < documents; document++) {
    const name = nameOf(document);
    if (name === "" || name.length > LONGEST_NAME) numberOf[document] = NO_NAME;
    else {
      const before = numbers.count;
      const number = numbers.of(name, document);
      if (number === before) candidates.add(number, name);
      numberOf[document] = number;
    }
    if (document % AT_ONCE === AT_ONCE - 1) yield;
  }
  const { count } = numbers;
  return { candidates, count, nameOf, ...groupByName(numberOf, count) };
}

/** The documents of each name: a counting sort. */
function groupByName(numberOf: Uint32Array, count: number): Pick<SimilarNames, "starts" | "documents"> {
  const ends = new Uint32Array(count + 1);
  for (const number of numberOf) if (number !== NO_NAME) ends[number]!++;
  let total = 0;
  for (let number = 0; number <= count; number++) {
    const size = ends[number]!;
    ends[number] = total;
    total += size;
  }
  const documents = new Uint32Array(total);
  const starts = ends.slice();
  for (let document = 0; document < numberOf.length; document++) {
    const number = numberOf[document]!;
    if (number !== NO_NAME) documents[ends[number]!++] = document;
  }
  return { starts, documents };
}

/** Numbers names in the order in which they come. */
class NameNumbers {
  /** Number of the name and 1; 0 where a slot is free. */
  readonly #slots: Uint32Array;
  /** By number: hash, and the first document. */
  readonly #hashes: Uint32Array;
  readonly #firsts: Uint32Array;
  readonly #nameOf: (document: number) => string;
  count = 0;

  constructor(most: number, nameOf: (document: number) => string) {
    this.#slots = new Uint32Array(2 ** Math.ceil(Math.log2(Math.max(most, 1) * 2)));
    this.#hashes = new Uint32Array(most);
    this.#firsts = new Uint32Array(most);
    this.#nameOf = nameOf;
  }

  of(name: string, document: number): number {
    const hash = hashOf(name);
    const mask = this.#slots.length - 1;
    let slot = hash & mask;
    for (; this.#slots[slot] !== 0; slot = (slot + 1) & mask) {
      const number = this.#slots[slot]! - 1;
      if (this.#hashes[number] === hash && this.#nameOf(this.#firsts[number]!) === name) return number;
    }
    const number = this.count++;
    this.#slots[slot] = number + 1;
    this.#hashes[number] = hash;
    this.#firsts[number] = document;
    return number;
  }
}

/** FNV-1a over code units, with its bits mixed once more, since the lower ones choose the slot. */
function hashOf(name: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < name.length; at++) hash = Math.imul(hash ^ name.charCodeAt(at), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
  return (hash ^ (hash >>> 13)) >>> 0;
}
