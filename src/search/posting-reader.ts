/**
 * Reads the postings of a term block by block, so that a search needs no list of them, however many there are.
 *
 * Candidates of a longer term are verified. Few are, by their texts. For many the term is covered by parts as long as
 * lists are in order, so that the postings of each part are in order of the texts: the term is where a posting of the
 * located part has one of every other part at the right distance. A positional merge of these lists tells that in a
 * part of the time of reading each text.
 */

import { gallopWhere } from "../util/sorted.ts";
import { type Located, postingsIn, postingsOfPart, sizeOfRange } from "./locate.ts";
import { compare, PAD_TEXT } from "./texts.ts";
import {
  CHUNK,
  isSameChunk,
  makePosting,
  NUMBER_SHIFT,
  positionOf,
  type Range,
  REPEATED,
  shiftOf,
  type TrigramIndex,
  textOf,
} from "./trigrams.ts";
import { STEP, type Work } from "./work.ts";

/** So many postings are read at a time. */
const BLOCK = 4096;
/** To compare so many code units of a term with a text takes about as long as a step of a merge. */
const UNITS_A_STEP = 8;
/** To compare with a text takes about as long as so many steps of a merge. */
const TEXT_WORK = 8;

/**
 * Reads the postings of a term in order of their list; see `listPostings` for their meaning. Where a text has
 * a longer term at very many positions some are left out, never its beginning.
 */
export class PostingReader {
  readonly #trigrams: TrigramIndex;
  readonly #term: string;
  readonly #located: Located;
  /** Undefined when candidates are verified by their texts, or need not be. */
  readonly #parts: readonly Part[] | undefined;
  readonly #block: Uint32Array;
  #at: number;

  constructor(trigrams: TrigramIndex, located: Located, term: string) {
    this.#trigrams = trigrams;
    this.#term = term;
    this.#located = located;
    this.#at = located.range[0];
    this.#parts = located.isExact ? undefined : partsOf(trigrams, located, term);
    this.#block = new Uint32Array(located.isExact ? 0 : BLOCK);
  }

  /** Reads some postings, maybe none, which the next call may overwrite; undefined after the last. Needs no pause. */
  next(): Uint32Array | undefined {
    const { range, isExact } = this.#located;
    const from = this.#at;
    if (from === range[1]) return undefined;
    const most = isExact ? STEP : this.#parts === undefined ? mostVerified(this.#term) : BLOCK;
    this.#at = Math.min(from + most, range[1]);
    const read = postingsIn(this.#trigrams, [from, this.#at]);
    if (isExact) return read;
    const found = this.#verify(read);
    if (found.length > 0) this.#passText(found[found.length - 1]!, read[read.length - 1]!);
    return found;
  }

  /**
   * Passes over many postings whose texts, and all between these, contain the term; the texts must be in
   * order.
   * @returns the range of texts; undefined when {@link next} is to read on
   */
  nextShared(): Range | undefined {
    const from = this.#at;
    const end = endOfSharedPrefix(this.#trigrams, this.#located, this.#term, from);
    if (end === from) return undefined;
    this.#at = end;
    const { postings } = this.#trigrams;
    return [textOf(this.#trigrams, postings[from]!), textOf(this.#trigrams, postings[end - 1]!) + 1];
  }

  /** Goes on to the next text, if the term was found in the one in which reading ended. More than a block of candidates are in order of texts. */
  #passText(found: number, read: number): void {
    const trigrams = this.#trigrams;
    const text = textOf(trigrams, found);
    if (textOf(trigrams, read) !== text) return;
    this.#at = gallopTo(trigrams, this.#at, this.#located.range[1], trigrams.texts.starts[text + 1]!);
  }

  /** The candidates that are followed by all of the term, moved back to its beginning. */
  #verify(read: Uint32Array): Uint32Array {
    const { offset } = this.#located;
    const block = this.#block;
    let count = read.length;
    block.set(read);
    for (const part of this.#parts ?? []) count = keepByPart(this.#trigrams, part, offset, block, count);
    // Half of a surrogate pair looks like the end of a text.
    if (this.#parts === undefined || this.#term.includes(PAD_TEXT)) {
      count = keepByText(this.#trigrams, this.#term, offset, block, count);
    }
    moveBack(this.#trigrams, offset, block, count);
    return block.subarray(0, count);
  }
}

/**
 * All postings of a term, in any order; a text may contain it several times, but its beginning comes only
 * once. Not to be changed: mostly a range of the index. A posting outside of the index that is no beginning
 * tells only the text and whether it is repeated.
 * @param located so few postings that they can be listed
 */
export function* listPostings(trigrams: TrigramIndex, located: Located, term: string): Work<Uint32Array> {
  const { range, offset, isExact } = located;
  const postings = postingsIn(trigrams, range);
  if (isExact) return postings;
  const found = postings.slice();
  const most = mostVerified(term);
  let count = 0;
  for (let at = 0; at < found.length; at += most) {
    if (at > 0) yield;
    const block = found.subarray(at, at + most);
    const kept = keepByText(trigrams, term, offset, block, block.length);
    found.copyWithin(count, at, at + kept);
    count += kept;
  }
  moveBack(trigrams, offset, found, count);
  // A copy, since results may be kept for long.
  return found.slice(0, count);
}

/** So many candidates are compared with their texts without a pause. */
function mostVerified(term: string): number {
  return Math.ceil(BLOCK / (TEXT_WORK + Math.ceil(term.length / UNITS_A_STEP)));
}

/** Moves postings back by some code units, within their texts. */
function moveBack(trigrams: TrigramIndex, by: number, block: Uint32Array, many: number): void {
  if (by === 0) return;
  const shift = shiftOf(-by);
  for (let at = 0; at < many; at++) {
    const posting = block[at]!;
    if (isSameChunk(posting, posting + shift)) block[at] = posting + shift;
    else {
      const text = textOf(trigrams, posting);
      const position = positionOf(trigrams, posting) - by - trigrams.texts.starts[text]!;
      block[at] = makePosting(text, Math.min(position, CHUNK - 1)) | (posting & REPEATED);
    }
  }
}

/** With fewer candidates texts are read. */
const MOST_BY_TEXT = 4096;

/** The postings of another part of the term. */
interface Part {
  /** The index of its next posting, and where its postings end. */
  at: number;
  readonly to: number;
  readonly offset: number;
}

/** The other parts, which together with the one that was located cover a term; undefined when to read the texts takes less. */
function partsOf(trigrams: TrigramIndex, { range, offset }: Located, term: string): Part[] | undefined {
  const { depth } = trigrams;
  if (term.length < depth || sizeOfRange(range) <= MOST_BY_TEXT) return undefined;
  const parts: Part[] = [];
  let steps = 0;
  for (let at = 0; at < term.length; at += depth) {
    // Parts after the one that was located begin where it ends.
    if (at === offset || (at > offset && at < offset + depth)) at = offset + depth;
    if (at >= term.length) break;
    const from = Math.min(at, term.length - depth);
    const [first, to] = postingsOfPart(trigrams, term, from);
    parts.push({ at: first, to, offset: from });
    steps += to - first;
  }
  // The rarest comes first.
  parts.sort((a, b) => a.to - a.at - (b.to - b.at));
  return steps / TEXT_WORK > sizeOfRange(range) ? undefined : parts;
}

/**
 * Keeps the candidates whose text has the term so many code units before; in a row of one text the first, and
 * its beginning: in a text of one letter a term is at every position.
 * @returns how many are left
 */
function keepByText(
  trigrams: TrigramIndex,
  term: string,
  offset: number,
  block: Uint32Array,
  many: number,
): number {
  const { units, starts } = trigrams.texts;
  let count = 0;
  let latest = -1;
  for (let at = 0; at < many; at++) {
    const posting = block[at]!;
    const text = textOf(trigrams, posting);
    const position = positionOf(trigrams, posting) - offset;
    if (text === latest && position !== starts[text]) continue;
    if (position < starts[text]! || position + term.length >= starts[text + 1]!) continue;
    if (compare(units, position, term, 0, term.length) !== 0) continue;
    latest = text;
    block[count++] = posting;
  }
  return count;
}

/** Keeps the candidates that have a posting of another part at the right distance. @returns how many are left */
function keepByPart(
  trigrams: TrigramIndex,
  part: Part,
  offset: number,
  block: Uint32Array,
  many: number,
): number {
  const shift = shiftOf(part.offset - offset);
  const firstEnd = makePosting(trigrams.texts.count, 0);
  let count = 0;
  for (let at = 0; at < many; at++) {
    const posting = block[at]!;
    const wanted = posting + shift;
    const near = isSameChunk(posting, wanted) ? stepTo(trigrams.postings, part, wanted, firstEnd) : undefined;
    if (near ?? jumpTo(trigrams, part, positionOf(trigrams, posting) - offset + part.offset)) {
      block[count++] = posting;
      part.at++;
    }
  }
  return count;
}

/** So many postings are passed over one by one before galloping. */
const LINEAR_STEPS = 8;

/**
 * Goes on to a posting by a few steps. Mostly both are in first chunks of texts, or both in further ones:
 * numbers tell their order, without reading where texts begin.
 * @param firstEnd above the postings of first chunks
 * @returns whether it is there; undefined when that is not known
 */
function stepTo(postings: Uint32Array, part: Part, wanted: number, firstEnd: number): boolean | undefined {
  const least = wanted < firstEnd ? 0 : firstEnd;
  const end = Math.min(part.at + LINEAR_STEPS, part.to);
  let next = part.at;
  while (next < end && postings[next]! >= least && postings[next]! >>> 1 < wanted >>> 1) next++;
  part.at = next;
  if (next === part.to) return false;
  const posting = postings[next]!;
  if (posting >>> 1 === wanted >>> 1) return true;
  return posting > wanted && (least > 0 || posting < firstEnd) ? false : undefined;
}

/** Goes on to a position by galloping. @returns whether a posting is there */
function jumpTo(trigrams: TrigramIndex, part: Part, position: number): boolean {
  part.at = gallopTo(trigrams, part.at, part.to, position);
  return part.at < part.to && positionOf(trigrams, trigrams.postings[part.at]!) === position;
}

/** The index of the first posting, from one on, that is not before a position. */
function gallopTo(trigrams: TrigramIndex, from: number, to: number, position: number): number {
  const { postings } = trigrams;
  return gallopWhere(from, to, (at) => positionOf(trigrams, postings[at]!) < position);
}

/*
 * Postings of a term in texts that share a prefix, such as addresses of one site. Where texts are in order,
 * these are neighbours. If the first and the last of some have the term in the prefix that they share, all
 * between have it, too.
 */

const LEAST = 256;

/**
 * The index after the last posting whose text, and all texts from that of `from` on, contain the term; `from`
 * if there are few.
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
 * How many code units texts have to share with that of a posting in a first chunk: the term, and the depth of
 * the list, after which it is in order of texts; 0 when the term is not there.
 * @param offset from the term to the posting
 */
function lengthToShare(trigrams: TrigramIndex, number: number, offset: number, term: string): number {
  const { texts, postings, depth } = trigrams;
  const posting = postings[number]!;
  const text = posting >>> NUMBER_SHIFT;
  const unit = positionOf(trigrams, posting);
  const first = unit - offset;
  const end = first + term.length;
  if (first < texts.starts[text]! || end >= texts.starts[text + 1]!) return 0;
  if (compare(texts.units, first, term, 0, term.length) !== 0) return 0;
  return Math.max(end, unit + depth) - texts.starts[text]!;
}

/**
 * Whether two postings are in first chunks, as far from the beginnings of their texts, with no more texts than
 * postings between them, so that each of these contains the term. Mostly not, and texts need not be read.
 */
function areClose({ texts, postings }: TrigramIndex, one: number, other: number): boolean {
  const a = postings[one]!;
  const b = postings[other]!;
  if (((a ^ b) & (makePosting(1, 0) - 2)) !== 0 || Math.max(a, b) >= makePosting(texts.count, 0))
    return false;
  return (b >>> NUMBER_SHIFT) - (a >>> NUMBER_SHIFT) <= other - one;
}

/** Whether the texts of two postings, of which the first is in a first chunk, share so many code units from their beginnings on. */
function sharePrefix(trigrams: TrigramIndex, one: number, other: number, shared: number): boolean {
  if (!areClose(trigrams, one, other)) return false;
  const { units, starts } = trigrams.texts;
  const startA = starts[trigrams.postings[one]! >>> NUMBER_SHIFT]!;
  const startB = starts[trigrams.postings[other]! >>> NUMBER_SHIFT]!;
  // No two texts are equal, so these differ before either ends, or share the prefix.
  for (let at = 0; at < shared; at++) if (units[startA + at] !== units[startB + at]) return false;
  return true;
}
