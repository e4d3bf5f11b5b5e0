/**
 * Reads the postings of a term block by block, so that a search needs no list of
 * them, however many there are. Candidates of a longer term are verified, each
 * block by the postings of the term's other parts or by the texts.
 */

import { CHUNK, isSameChunk, makePosting, shiftOf } from "../shared/posting.ts";
import { PAD_TEXT } from "../shared/texts.ts";
import { positionOf, type Range, type TrigramIndex, textOf } from "../shared/trigrams.ts";
import { STEP } from "../shared/work.ts";
import type { Located } from "./locate.ts";
import { endOfSharedPrefix } from "./shared-prefix.ts";
import { postingsIn } from "./trigram-postings.ts";
import { gallopTo, keepByPart, keepByText, type Part, partsOf, TEXT_WORK } from "./verify.ts";

/** So many postings are read at a time. */
const BLOCK = 4096;
/** To compare so many code units of a term with a text takes about as long as a step of a merge. */
const UNITS_A_STEP = 8;

/**
 * Reads the postings of a term; see `listPostings` for what they tell. They come in order of their list. Of a text that
 * has a longer term at very many positions some are left out, never its beginning.
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

  /**
   * Reads on; takes no longer than work should between two yields.
   *
   * @returns some postings, maybe none, which the next call may overwrite; undefined behind the last
   */
  next(): Uint32Array | undefined {
    const { range, isExact } = this.#located;
    const from = this.#at;
    if (from === range[1]) return undefined;
    const textWork = TEXT_WORK + Math.ceil(this.#term.length / UNITS_A_STEP);
    const most = isExact ? STEP : this.#parts === undefined ? Math.ceil(BLOCK / textWork) : BLOCK;
    this.#at = Math.min(from + most, range[1]);
    const read = postingsIn(this.#trigrams, [from, this.#at]);
    if (isExact) return read;
    const found = this.#verify(read);
    if (found.length > 0) this.#passText(found[found.length - 1]!, read[read.length - 1]!);
    return found;
  }

  /**
   * Passes over many postings whose texts, and all between these, contain the term,
   * if such come next; the texts must be in order of their code units.
   *
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
    if (this.#parts === undefined) count = keepByText(this.#trigrams, this.#term, offset, block, count);
    else {
      for (const part of this.#parts) count = keepByPart(this.#trigrams, part, offset, block, count);
      // Half of a surrogate pair looks like the end of a text.
      if (this.#term.includes(PAD_TEXT)) {
        count = keepByText(this.#trigrams, this.#term, offset, block, count);
      }
    }
    moveBack(this.#trigrams, offset, block, count);
    return block.subarray(0, count);
  }
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
      block[at] = makePosting(text, Math.min(position, CHUNK - 1));
    }
  }
}
