/** Found worlds as matches, ranked: name is the term, begins with it, contains it, and only the description contains it. */

import type { PageOf, Rows } from "../../store/generation.ts";
import type { WordIndex } from "../index/word-index.ts";
import type { BitLoan } from "../shared/bits.ts";
import {
  AT_ONCE,
  addEntries,
  type BitSet,
  bitSetOf,
  type DocumentSet,
  takePair,
  uniteFew,
} from "../shared/document-set.ts";
import { findNameRange, type Ranking } from "../shared/name-order.ts";
import { STEP, type Work } from "../shared/work.ts";
import {
  BitMatches,
  holdPage,
  type MatchClass,
  type Matches,
  NO_MATCHES,
  ownBytes,
  PickedMatches,
  SomeMatches,
  toRows,
} from "./result-set.ts";
import { PICKED, pickFromCounter, pickFromList, pickFromLongList } from "./top-documents.ts";

/** What is asked of a search. */
export interface Asked {
  /** The whole query. */
  readonly term: string;
  /** Without it everything is ranked. */
  readonly page: PageOf | undefined;
}

/**
 * Orders documents by how they match. Among equals they stay in document order.
 *
 * @param found among them all whose names begin with the term
 * @param loan what sets of bits are taken from, and what those of `found` may be of
 */
export function* rank(found: DocumentSet, ranking: Ranking, asked: Asked, loan: BitLoan): Work<Matches> {
  if (found.kind === "bits") return yield* rankBits(found, ranking, asked, loan);
  const { entries } = found;
  return entries.length > AT_ONCE
    ? yield* rankLongList(entries, ranking, asked, loan)
    : rankList(entries, ranking, asked.term);
}

/** Orders documents of a short list; without a pause. */
export function rankList(entries: Uint32Array, ranking: Ranking, term: string): Matches {
  return entries.length === 0 ? NO_MATCHES : new EntryMatches(entries, ranking, term);
}

function* rankLongList(entries: Uint32Array, ranking: Ranking, asked: Asked, loan: BitLoan): Work<Matches> {
  const { term, page } = asked;
  if (page !== undefined && page.offset + page.limit <= PICKED) {
    const picked = yield* pickFromLongList(entries, PICKED, ranking, term);
    return new SomeMatches({ total: entries.length, rows: toRows(picked, ranking.rows) }, 0);
  }
  const pair = takePair(loan);
  yield* addEntries(entries, pair);
  return yield* rankBits(bitSetOf(pair), ranking, asked, loan);
}

/** Worlds in a list, of which each page is picked, without a pause. */
class EntryMatches implements Matches {
  readonly #entries: Uint32Array;
  readonly #ranking: Ranking;
  readonly #term: string;

  constructor(entries: Uint32Array, ranking: Ranking, term: string) {
    this.#entries = entries;
    this.#ranking = ranking;
    this.#term = term;
  }

  get total(): number {
    return this.#entries.length;
  }

  get bytes(): number {
    return ownBytes(this.#entries);
  }

  has(): boolean {
    return true;
  }

  page({ limit, offset }: PageOf): Rows {
    const end = Math.min(offset + limit, this.total);
    if (offset >= end) return [];
    const picked = pickFromList(this.#entries, end, this.#ranking, this.#term);
    return toRows(offset === 0 ? picked : picked.slice(offset), this.#ranking.rows);
  }
}

/** Fewer entries take less time to sort than to count in bits, which are all walked over. */
const FEW = 512;

/**
 * Orders the documents of words as {@link rank} does.
 *
 * @param words so few, and with so few entries, that there is no need to pause
 * @param entries how many
 */
export function rankWords(
  index: WordIndex,
  words: Uint32Array,
  entries: number,
  ranking: Ranking,
  term: string,
): Matches {
  const { counter, postings, sorter } = index;
  if (entries <= FEW) return rankList(uniteFew(postings, words, entries, sorter).entries, ranking, term);
  const total = counter.count(postings, words);
  let picked: number[];
  try {
    picked = pickFromCounter(counter, total, ranking, term);
  } finally {
    counter.clear();
  }
  return new PickedMatches(
    total,
    picked,
    total * Uint32Array.BYTES_PER_ELEMENT + words.byteLength,
    () => rankList(uniteFew(postings, words, entries, sorter).entries, ranking, term),
    ranking.rows,
  );
}

function* rankBits(
  { any, inName, size, named }: BitSet,
  ranking: Ranking,
  { term, page }: Asked,
  loan: BitLoan,
): Work<Matches> {
  const { byName, rows } = ranking;
  const { from, equalEnd, end } = findNameRange(ranking, term);
  const classes: MatchClass[] = [];
  let beginning: Uint32Array | undefined;
  if (end > equalEnd) {
    beginning = yield* bitsOfRange(byName, from, end, loan);
    const equal = equalEnd > from ? yield* bitsOfRange(byName, from, equalEnd, loan) : undefined;
    classes.push({ count: end - equalEnd, bits: beginning, butNot: equal });
  } else if (end > from) beginning = yield* bitsOfRange(byName, from, end, loan);
  classes.push({ count: named - (end - from), bits: inName, butNot: beginning });
  classes.push({ count: size - named, bits: any, butNot: inName });
  const matches = new BitMatches(byName.subarray(from, equalEnd), classes, rows);
  return holdPage(matches, page, () => loan.keepAll());
}

/** Documents that are neighbours in the order of names, as bits. */
function* bitsOfRange(byName: Uint32Array, from: number, end: number, loan: BitLoan): Work<Uint32Array> {
  const bits = loan.take();
  for (let at = from; at < end; ) {
    const stop = Math.min(at + STEP, end);
    for (; at < stop; at++) bits[byName[at]! >>> 5]! |= 1 << byName[at]!;
    if (at < end) yield;
  }
  return bits;
}
