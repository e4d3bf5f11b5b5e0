/**
 * Reads the postings of a term block by block, so that a search needs no list of them, however many there are.
 * Candidates of a longer term are verified by their texts.
 */

import { gallopWhere } from "../util/sorted.ts";
import { type Located, postingsIn } from "./locate.ts";
import { compare } from "./texts.ts";
import {
  CHUNK,
  depthOf,
  makePosting,
  NUMBER_SHIFT,
  positionOf,
  type Range,
  REPEATED,
  type TrigramIndex,
  textOf,
} from "./trigrams.ts";
import { STEP, type Work } from "./work.ts";

/**
 * Reads the postings of a term in order of their list; see `listPostings` for their meaning. Where a text has a longer
 * term at very many positions, some of these are left out, never the beginning of the text.
 */
export class PostingReader {
  readonly #trigrams: TrigramIndex;
  readonly #term: string;
  readonly #located: Located;
  #at: number;

  constructor(trigrams: TrigramIndex, located: Located, term: string) {
    this.#trigrams = trigrams;
    this.#term = term;
    this.#located = located;
    this.#at = located.range[0];
  }

  /** Reads some postings, maybe none, which the next call may overwrite; undefined after the last. Needs no pause. */
  next(): Uint32Array | undefined {
    const { range, offset, isExact } = this.#located;
    const from = this.#at;
    if (from === range[1]) return undefined;
    this.#at = Math.min(from + (isExact ? STEP : mostVerified(this.#term)), range[1]);
    const read = postingsIn(this.#trigrams, [from, this.#at]);
    if (isExact) return read;
    const found = keepByText(this.#trigrams, this.#term, offset, read);
    if (found.length > 0) this.#passText(found.at(-1)!, read.at(-1)!);
    return found;
  }

  /**
   * Skips many postings whose texts, and all texts between them, contain the term; the texts must be in order.
   * @returns the range of texts; undefined when the caller must go on with {@link next}
   */
  nextShared(): Range | undefined {
    const from = this.#at;
    const end = endOfSharedPrefix(this.#trigrams, this.#located, this.#term, from);
    if (end === from) return undefined;
    this.#at = end;
    const { postings } = this.#trigrams;
    return [textOf(this.#trigrams, postings[from]!), textOf(this.#trigrams, postings[end - 1]!) + 1];
  }

  /** Skips to the next text, if the text in which the block ended has the term: more than a block of candidates are in order of texts. */
  #passText(found: number, read: number): void {
    const trigrams = this.#trigrams;
    const text = textOf(trigrams, found);
    if (textOf(trigrams, read) !== text) return;
    const end = trigrams.texts.starts[text + 1]!;
    this.#at = gallopWhere(
      this.#at,
      this.#located.range[1],
      (at) => positionOf(trigrams, trigrams.postings[at]!) < end,
    );
  }
}

/**
 * All postings of a term, in any order; a text may come several times, but its beginning only once. Read-only: mostly a
 * range of the index. A posting that is outside of the index and no beginning tells only the text and whether it is
 * repeated.
 * @param located with few enough postings to list
 */
export function* listPostings(trigrams: TrigramIndex, located: Located, term: string): Work<Uint32Array> {
  const postings = postingsIn(trigrams, located.range);
  if (located.isExact) return postings;
  const found = new Uint32Array(postings.length);
  const reader = new PostingReader(trigrams, located, term);
  let count = 0;
  for (let block = reader.next(); block !== undefined; block = reader.next()) {
    if (count > 0) yield;
    found.set(block, count);
    count += block.length;
  }
  // A shorter copy, since results may be kept for long.
  return found.slice(0, count);
}

/** Candidates that are compared with their texts between two pauses. */
function mostVerified(term: string): number {
  return Math.ceil(STEP / (16 + term.length / 4));
}

/**
 * Keeps the candidates whose text has the term `offset` code units before, and moves them back by so much. From a run of
 * candidates in one text, it keeps the first, and the beginning of the text: in a text of one letter a term is at every
 * position.
 */
function keepByText(
  trigrams: TrigramIndex,
  term: string,
  offset: number,
  candidates: Uint32Array,
): Uint32Array {
  const { units, starts } = trigrams.texts;
  const kept = new Uint32Array(candidates.length);
  let count = 0;
  let latest = -1;
  for (let at = 0; at < candidates.length; at++) {
    const posting = candidates[at]!;
    const text = textOf(trigrams, posting);
    const position = positionOf(trigrams, posting) - offset;
    if (text === latest && position !== starts[text]) continue;
    if (position < starts[text]! || position + term.length >= starts[text + 1]!) continue;
    if (compare(units, position, term, 0, term.length) !== 0) continue;
    latest = text;
    // For a later position the text alone counts.
    const inChunk = Math.min(position - starts[text]!, CHUNK - 1);
    kept[count++] = makePosting(text, inChunk) | (posting & REPEATED);
  }
  return kept.subarray(0, count);
}

/*
 * Postings of a term in texts that share a prefix, such as addresses of one site. Where texts are in order, these are
 * neighbours. If the first and the last of them share a prefix with the term in it, all between have the term, too.
 */

const LEAST = 256;

/**
 * The index after the last posting whose text, and all texts from that of `from` on, contain the term; `from` if there
 * are few.
 * @param trigrams of texts in order of their code units
 */
function endOfSharedPrefix(
  trigrams: TrigramIndex,
  { range, offset }: Located,
  term: string,
  from: number,
): number {
  const last = from + LEAST;
  const end = range[1];
  if (last >= end || !areClose(trigrams, from, last)) return from;
  const shared = lengthToShare(trigrams, from, offset, term);
  if (shared === 0 || !sharePrefix(trigrams, from, last, shared)) return from;
  return gallopWhere(last + 1, end, (at) => sharePrefix(trigrams, from, at, shared), LEAST);
}

/**
 * Length of the prefix that texts must share with the text of a posting in a first chunk: it covers the term and the
 * depth of the list, beyond which the list is in order of texts; 0 when the term is not there.
 * @param offset from the term to the posting
 */
function lengthToShare(trigrams: TrigramIndex, number: number, offset: number, term: string): number {
  const { texts, postings } = trigrams;
  const posting = postings[number]!;
  const text = posting >>> NUMBER_SHIFT;
  const unit = positionOf(trigrams, posting);
  const first = unit - offset;
  const end = first + term.length;
  if (first < texts.starts[text]! || end >= texts.starts[text + 1]!) return 0;
  if (compare(texts.units, first, term, 0, term.length) !== 0) return 0;
  return Math.max(end, unit + depthOf(trigrams)) - texts.starts[text]!;
}

/**
 * Whether two postings are in first chunks, at the same position in their texts, with no more texts than postings
 * between them, so that each of these texts contains the term. Mostly they are not, and texts need not be read.
 */
function areClose({ texts, postings }: TrigramIndex, one: number, other: number): boolean {
  const a = postings[one]!;
  const b = postings[other]!;
  if (((a ^ b) & (makePosting(1, 0) - 2)) !== 0 || Math.max(a, b) >= makePosting(texts.count, 0))
    return false;
  return (b >>> NUMBER_SHIFT) - (a >>> NUMBER_SHIFT) <= other - one;
}

/** Whether the texts of two postings, the first one in a first chunk, share their first `shared` code units. */
function sharePrefix(trigrams: TrigramIndex, one: number, other: number, shared: number): boolean {
  if (!areClose(trigrams, one, other)) return false;
  const { units, starts } = trigrams.texts;
  const startA = starts[trigrams.postings[one]! >>> NUMBER_SHIFT]!;
  const startB = starts[trigrams.postings[other]! >>> NUMBER_SHIFT]!;
  // No two texts are equal, so these differ before either ends, or share the prefix.
  for (let at = 0; at < shared; at++) if (units[startA + at] !== units[startB + at]) return false;
  return true;
}
