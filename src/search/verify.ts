/**
 * Verifies candidates of a term that is longer than posting lists are in order.
 *
 * The term is covered by parts as long as lists are in order, so the postings of each part are in order of
 * the texts. The term is where a posting of its first part has one of every other part at the right distance.
 * A positional merge of all these lists tells that in a part of the time of reading each text.
 */

import { gallopWhere } from "../util/sorted.ts";
import { type Located, postingsOfPart, sizeOfRange } from "./locate.ts";
import { compare } from "./texts.ts";
import {
  isSameChunk,
  isSamePosition,
  makePosting,
  positionOf,
  shiftOf,
  type TrigramIndex,
  textOf,
} from "./trigrams.ts";

/** To compare with a text takes about as long as so many steps of a merge. */
export const TEXT_WORK = 8;
/** With fewer candidates texts are read. */
const MOST_BY_TEXT = 4096;

/** The postings of another part of the term. */
export interface Part {
  /** The index of its next posting, and where its postings end. */
  at: number;
  readonly to: number;
  readonly offset: number;
}

/** The other parts, which together with the one that was located cover a term; undefined when to read the texts takes less. */
export function partsOf(
  trigrams: TrigramIndex,
  { range, offset }: Located,
  term: string,
): Part[] | undefined {
  const { depth } = trigrams;
  if (term.length < depth || sizeOfRange(range) <= MOST_BY_TEXT) return undefined;
  const parts: Part[] = [];
  let steps = 0;
  for (let at = 0; at < term.length; at += depth) {
    // Those behind the one that was located begin where it ends.
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
export function keepByText(
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

/** So many postings are passed over one by one before galloping. */
const LINEAR_STEPS = 8;

/** Keeps the candidates that have a posting of another part at the right distance. @returns how many are left */
export function keepByPart(
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

/**
 * Goes on to a posting by a few steps. Mostly both are in first chunks of texts, or both in further ones:
 * numbers tell their order, without reading where texts begin.
 *
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
  if (isSamePosition(posting, wanted)) return true;
  return posting > wanted && (least > 0 || posting < firstEnd) ? false : undefined;
}

/** Goes on to a position by galloping. @returns whether a posting is there */
function jumpTo(trigrams: TrigramIndex, part: Part, position: number): boolean {
  part.at = gallopTo(trigrams, part.at, part.to, position);
  return part.at < part.to && positionOf(trigrams, trigrams.postings[part.at]!) === position;
}

/** The index of the first posting, from one on, that is not before a position, by galloping search. */
export function gallopTo(trigrams: TrigramIndex, from: number, to: number, position: number): number {
  const { postings } = trigrams;
  return gallopWhere(from, to, (at) => positionOf(trigrams, postings[at]!) < position);
}
