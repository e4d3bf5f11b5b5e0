/** Found worlds as matches, ranked: name is the term, begins with it, contains it, and only the description contains it. */

import type { PageOf, Rows } from "../store/generation.ts";
import { bitsOf } from "./bits.ts";
import { type BitSet, type DocumentSet, uniteFew } from "./documents.ts";
import { BitMatches, type Matches, NO_MATCHES, ownBytes, PickedMatches, toRows } from "./matches.ts";
import { pickFromCounter, pickFromList } from "./picked.ts";
import { findNameRange, type Ranking } from "./ranking.ts";
import type { WordIndex } from "./words.ts";

/**
 * Orders documents by how they match. Among equals they stay in document order.
 *
 * @param found among them all whose names begin with the term
 * @param term the whole query
 */
export function rank(found: DocumentSet, ranking: Ranking, term: string): Matches {
  return found.kind === "bits" ? rankBits(found, ranking, term) : rankList(found.entries, ranking, term);
}

function rankList(entries: Uint32Array, ranking: Ranking, term: string): Matches {
  return entries.length === 0 ? NO_MATCHES : new EntryMatches(entries, ranking, term);
}

/** Worlds in a list, of which each page is picked. */
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

function rankBits({ any, inName, size, named }: BitSet, ranking: Ranking, term: string): Matches {
  const { byName, rows } = ranking;
  const { from, equalEnd, end } = findNameRange(ranking, term);
  const equal = byName.subarray(from, equalEnd);
  const beginning = bitsOf(byName.subarray(from, end), any.length);
  const classes = [
    {
      count: end - equalEnd,
      bits: beginning,
      butNot: equal.length > 0 ? bitsOf(equal, any.length) : undefined,
    },
    { count: named - (end - from), bits: inName, butNot: beginning },
    { count: size - named, bits: any, butNot: inName },
  ];
  return new BitMatches(equal, classes, rows);
}
