/**
 * Builds a trigram index: numbers the gram at each position, then renumbers grams in order of their code units. Postings
 * are sorted by their gram and the two that follow. A gram is a trigram; where there would be too many, a bigram.
 */

import { sharedCopy, sharedUint32, Uint32Column } from "../store/bytes.ts";
import { checkLimit, MOST_TEXTS } from "../store/limits.ts";
import { countsToOffsets, countUp, sortByKey } from "../store/order.ts";
import { PAD, ranksIn, type Texts } from "./texts.ts";
import {
  BIGRAM,
  CHUNK,
  GRAM,
  hashOfTrigram,
  makePosting,
  pairOf,
  REPEATED,
  type TrigramIndex,
  trigramSlotOf,
} from "./trigrams.ts";

type Chunks = Pick<TrigramIndex, "chunkTexts" | "chunkStarts">;

/** Finds the further chunks of long texts. */
function cutChunks({ count, starts }: Texts): Chunks {
  const texts = new Uint32Column();
  const firsts = new Uint32Column();
  for (let text = 0; text < count; text++) {
    for (let at = starts[text]! + CHUNK; at < starts[text + 1]! - 1; at += CHUNK) {
      texts.push(text);
      firsts.push(at);
    }
  }
  return { chunkTexts: sharedCopy(texts), chunkStarts: sharedCopy(firsts) };
}

/** Bits of the Bloom filter for each trigram: enough to rule out most trigrams that no text contains. */
const SPARSENESS = 16;

function filterOf(pairs: Uint32Array, thirds: Uint32Array): Uint32Array {
  let size = 32;
  while (size < pairs.length * SPARSENESS) size *= 2;
  const bits = sharedUint32(size / 32);
  for (let trigram = 0; trigram < pairs.length; trigram++) {
    const bit = hashOfTrigram(pairs[trigram]!, thirds[trigram]!) & (size - 1);
    bits[bit >>> 5]! |= 1 << bit;
  }
  return bits;
}

/** Most distinct trigrams: a base, and more for each text; one takes some forty bytes. */
const MOST_TRIGRAMS = 2 ** 22;
const MOST_TRIGRAMS_A_TEXT = 2;

/** A hash table of the numbers of trigrams, at most half full. @param least slots */
function makeSlots(pairs: Uint32Array, thirds: Uint32Array, count: number, least = 2): Uint32Array {
  let size = least;
  while (size < count * 2) size *= 2;
  const slots = sharedUint32(size);
  for (let number = 0; number < count; number++) {
    slots[trigramSlotOf(slots, pairs, thirds, pairs[number]!, thirds[number]!)] = number + 1;
  }
  return slots;
}

/**
 * Indexes texts by their trigrams, or by their bigrams where there are more distinct trigrams.
 * @throws {LimitError} when there are too many texts
 */
export function indexTrigrams(
  texts: Texts,
  mostTrigrams = MOST_TRIGRAMS + texts.count * MOST_TRIGRAMS_A_TEXT,
  mostTexts = MOST_TEXTS,
): TrigramIndex {
  const chunks = cutChunks(texts);
  const count = texts.count + chunks.chunkTexts.length;
  checkLimit(count, mostTexts, "names, or distinct words (a long one counts once for each 64 characters)");
  const { gram, numbers, grams } =
    numberGrams(texts, GRAM, mostTrigrams) ?? numberGrams(texts, BIGRAM, Number.POSITIVE_INFINITY)!;
  const sorted = sortGrams(numbers);
  const ranks = ranksIn(sorted);
  const pairs = sharedUint32(sorted.length);
  const thirds = sharedUint32(sorted.length);
  for (let rank = 0; rank < sorted.length; rank++) {
    const number = sorted[rank]!;
    pairs[rank] = numbers.pairs.values[number]!;
    thirds[rank] = numbers.thirds.values[number]!;
  }
  for (let at = 0; at < grams.length; at++) grams[at] = ranks[grams[at]!]!;
  const slots = makeSlots(pairs, thirds, pairs.length);
  const bits = filterOf(pairs, thirds);
  // The gram of pads alone was numbered first.
  const lists = sortPostings({ texts, gram, grams, distinct: pairs.length, padded: ranks[0]! });
  return { texts, gram, pairs, thirds, slots, bits, ...lists, ...chunks };
}

class GramNumbers {
  readonly pairs = new Uint32Column();
  readonly thirds = new Uint32Column();
  #slots: Uint32Array = new Uint32Array(1 << 16);

  numberOf(first: number, second: number, third: number): number {
    const { pairs, thirds } = this;
    const pair = pairOf(first, second);
    const slot = trigramSlotOf(this.#slots, pairs.values, thirds.values, pair, third);
    if (this.#slots[slot] !== 0) return this.#slots[slot]! - 1;
    pairs.push(pair);
    thirds.push(third);
    this.#slots[slot] = pairs.length;
    if (pairs.length * 2 > this.#slots.length)
      this.#slots = makeSlots(pairs.values, thirds.values, pairs.length, this.#slots.length * 2);
    return pairs.length - 1;
  }
}

/**
 * Numbers the gram at each position; at a pad, the first number, of the gram of pads alone. Undefined when there are too
 * many.
 */
function numberGrams(
  { count, units, starts }: Texts,
  gram: TrigramIndex["gram"],
  most: number,
): { gram: TrigramIndex["gram"]; numbers: GramNumbers; grams: Uint32Array } | undefined {
  const numbers = new GramNumbers();
  const isTrigram = gram === GRAM;
  const padded = numbers.numberOf(PAD, PAD, isTrigram ? PAD : 0);
  const grams = new Uint32Array(units.length);
  for (let text = 0; text < count; text++) {
    const end = starts[text + 1]! - 1;
    for (let at = starts[text]!; at < end; at++) {
      let third = 0;
      if (isTrigram) third = at + 1 < end ? units[at + 2]! : PAD;
      grams[at] = numbers.numberOf(units[at]!, units[at + 1]!, third);
    }
    grams[end] = padded;
    if (numbers.pairs.length > most) return undefined;
  }
  return { gram, numbers, grams };
}

function sortGrams({ pairs, thirds }: GramNumbers): Uint32Array {
  const keys = new Float64Array(pairs.length);
  for (let number = 0; number < keys.length; number++)
    keys[number] = pairs.values[number]! * 65_536 + thirds.values[number]!;
  const order = countUp(keys.length);
  sortByKey(order, keys);
  return order;
}

/*
 * Sorts all postings by their gram and the two grams that follow it, which makes the posting lists.
 *
 * A radix sort whose digits are numbers of grams, the least significant first: the gram two grams on, the next one, the
 * posting's own. Each pass is a stable counting sort. A posting carries the numbers that later passes need: looking them
 * up would be a random access to memory for each.
 */

interface NumberedTexts {
  readonly texts: Texts;
  readonly gram: TrigramIndex["gram"];
  /** The number of the gram at each position; overwritten. */
  readonly grams: Uint32Array;
  readonly distinct: number;
  /** The gram of pads alone. */
  readonly padded: number;
}

/** By gram: the number of postings with it at one of three distances; then the place of the next such posting. */
interface Offsets {
  readonly own: Uint32Array;
  readonly next: Uint32Array;
  readonly second: Uint32Array;
}

function sortPostings(numbered: NumberedTexts): Pick<TrigramIndex, "starts" | "postings" | "followers"> {
  const { texts, grams, distinct } = numbered;
  const length = texts.units.length - texts.count;
  const offsets = countOffsets(numbered);
  const starts = sharedUint32(distinct + 1);
  starts.set(offsets.own);
  starts[distinct] = length;
  const postings = sharedUint32(length);
  const followers = sharedUint32(length);
  const own = new Uint32Array(length);
  sortBySecond(numbered, offsets.second, { postings, followers, own });
  // Reuses the memory of the grams.
  const byNext = { postings: grams, own: new Uint32Array(length) };
  for (let at = 0; at < length; at++) {
    const to = offsets.next[followers[at]!]!++;
    byNext.postings[to] = postings[at]!;
    byNext.own[to] = own[at]!;
  }
  for (let follower = 0, at = 0; follower < distinct; follower++) {
    // Each offset has moved on to the end of its range.
    for (const end = offsets.next[follower]!; at < end; at++) {
      const to = offsets.own[byNext.own[at]!]!++;
      postings[to] = byNext.postings[at]!;
      followers[to] = follower;
    }
  }
  return { starts, postings, followers };
}

/** Counts grams by their distance from a posting, and gives each its range. */
function countOffsets({ texts, gram, grams, distinct, padded }: NumberedTexts): Offsets {
  const { count, starts } = texts;
  const own = new Uint32Array(distinct);
  const next = new Uint32Array(distinct);
  const second = new Uint32Array(distinct);
  for (let text = 0; text < count; text++) {
    const start = starts[text]!;
    const end = starts[text + 1]! - 1;
    for (let at = start; at < end; at++) own[grams[at]!]!++;
    // The first grams of a text follow none, and pads follow the last.
    for (let at = start; at < end && at < start + gram; at++) next[grams[at]!]!--;
    for (let at = start; at < end && at < start + gram * 2; at++) second[grams[at]!]!--;
    next[padded]! += Math.min(end - start, gram);
    second[padded]! += Math.min(end - start, gram * 2);
  }
  for (let number = 0; number < distinct; number++) {
    next[number]! += own[number]!;
    second[number]! += own[number]!;
  }
  for (const counts of [own, next, second]) countsToOffsets(counts);
  return { own, next, second };
}

/** The first pass: makes the postings, and marks grams that a text contains more than once. */
function sortBySecond(
  { texts, gram, grams, padded }: NumberedTexts,
  second: Uint32Array,
  { postings, followers, own }: Record<"postings" | "followers" | "own", Uint32Array>,
): void {
  const { count, starts } = texts;
  /** By gram: the last text that contains it, plus one, and the place of its posting there. */
  const latest = new Uint32Array(second.length);
  const latestAt = new Uint32Array(second.length);
  const gramAt = (at: number, end: number): number => (at < end ? grams[at]! : padded);
  let chunk = count;
  for (let text = 0; text < count; text++) {
    const start = starts[text]!;
    const end = starts[text + 1]! - 1;
    for (let at = start; at < end; at++) {
      const current = grams[at]!;
      const position = (at - start) % CHUNK;
      if (position === 0 && at > start) chunk++;
      const to = second[gramAt(at + gram * 2, end)]!++;
      let posting = makePosting(at - start < CHUNK ? text : chunk - 1, position);
      if (latest[current] === text + 1) {
        posting |= REPEATED;
        postings[latestAt[current]!]! |= REPEATED;
      }
      latest[current] = text + 1;
      latestAt[current] = to;
      postings[to] = posting;
      followers[to] = gramAt(at + gram, end);
      own[to] = current;
    }
  }
}
