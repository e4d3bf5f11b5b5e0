/** Found worlds as matches, ranked: name is the term, begins with it, contains it, and only the description contains it. */

import { bitsOf } from "./bits.ts";
import { type BitSet, type DocumentSet, uniteFew } from "./documents.ts";
import { BitMatches, ListedMatches, type Matches, PickedMatches } from "./matches.ts";
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
  if (entries.length === 0) return NO_MATCHES;
  const picked = pickFromList(entries, ranking, term);
  // The entries may be a part of the index, or not.
  const listBytes = entries.byteLength * 2;
  return new PickedMatches(
    entries.length,
    picked,
    listBytes,
    () => listAll(entries, ranking, term),
    ranking.rows,
  );
}

const NO_MATCHES = new ListedMatches(new Uint32Array(0));

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
  if (entries <= FEW) return rankList(uniteFew(postings, words, sorter).entries, ranking, term);
  const total = counter.count(postings, words);
  const picked = pickFromCounter(counter, total, ranking, term);
  counter.clear();
  return new PickedMatches(
    total,
    picked,
    total * Uint32Array.BYTES_PER_ELEMENT + words.byteLength,
    () => listAll(uniteFew(postings, words, sorter).entries, ranking, term),
    ranking.rows,
  );
}

/** Lists all documents of some entries. */
function listAll(entries: Uint32Array, ranking: Ranking, term: string): Matches {
  const { rows, places } = ranking;
  const { from, equalEnd, end } = findNameRange(ranking, term);
  const ranked = new Uint32Array(entries.length);
  let toEqual = 0;
  let toFirst = equalEnd - from;
  let toNamed = end - from;
  for (let at = 0; at < entries.length; at++) {
    if ((entries[at]! & 1) === 0) continue;
    const document = entries[at]! >>> 1;
    const place = places[document]!;
    const row = rows[document]!;
    if (place < from || place >= end) ranked[toNamed++] = row;
    else if (place < equalEnd) ranked[toEqual++] = row;
    else ranked[toFirst++] = row;
  }
  for (let at = 0; at < entries.length; at++) {
    if ((entries[at]! & 1) === 0) ranked[toNamed++] = rows[entries[at]! >>> 1]!;
  }
  return new ListedMatches(ranked);
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
