/** Making {@link Grams}. */

import { sharedCopy, sharedUint32, Uint32Column } from "../../store/bytes.ts";
import { countUp, sortByKey } from "../../store/order.ts";
import { PAD, type Texts } from "../shared/texts.ts";
import {
  GRAM,
  type Grams,
  hashOf,
  NUMBER_SHIFT,
  PIECE,
  pairOf,
  placeOf,
  REPEATED,
  slotOf,
} from "../shared/trigrams.ts";

/** Numbers grams as they come. */
class GramNumbers {
  readonly pairs = new Uint32Column();
  readonly thirds = new Uint32Column();
  #slots = new Uint32Array(1 << 16);

  /** The number of a gram; a new one when it is seen for the first time. */
  numberOf(first: number, second: number, third: number): number {
    if (this.pairs.length * 2 > this.#slots.length) this.#grow();
    const pair = pairOf(first, second);
    const slot = slotOf(this.#slots, this.pairs.values, this.thirds.values, pair, third);
    const known = this.#slots[slot]!;
    if (known !== 0) return known - 1;
    this.pairs.push(pair);
    this.thirds.push(third);
    this.#slots[slot] = this.pairs.length;
    return this.pairs.length - 1;
  }

  #grow(): void {
    this.#slots = new Uint32Array(this.#slots.length * 2);
    fillSlots(this.#slots, this.pairs.values, this.thirds.values, this.pairs.length);
  }
}

function fillSlots(slots: Uint32Array, pairs: Uint32Array, thirds: Uint32Array, count: number): void {
  for (let number = 0; number < count; number++) {
    slots[slotOf(slots, pairs, thirds, pairs[number]!, thirds[number]!)] = number + 1;
  }
}

/** The gram that begins at each unit; at a pad the gram of pads alone. */
function numberGrams({ count, units, starts }: Texts, numbers: GramNumbers): Uint32Array {
  const padded = numbers.numberOf(PAD, PAD, PAD);
  const grams = new Uint32Array(units.length);
  for (let text = 0; text < count; text++) {
    const end = starts[text + 1]! - 1;
    for (let at = starts[text]!; at < end; at++) {
      const third = at + 1 < end ? units[at + 2]! : PAD;
      grams[at] = numbers.numberOf(units[at]!, units[at + 1]!, third);
    }
    grams[end] = padded;
  }
  return grams;
}

/** Grams by their units: number before, by number after. */
function sortGrams({ pairs, thirds }: GramNumbers): Uint32Array {
  const keys = new Float64Array(pairs.length);
  for (let gram = 0; gram < keys.length; gram++)
    keys[gram] = pairs.values[gram]! * 65_536 + thirds.values[gram]!;
  const order = countUp(keys.length);
  sortByKey(order, keys);
  return order;
}

type Pieces = Pick<Grams, "pieceTexts" | "pieceStarts">;

/** Where the further pieces of long texts are. */
function cutPieces({ count, starts }: Texts): Pieces {
  const texts = new Uint32Column();
  const firsts = new Uint32Column();
  for (let text = 0; text < count; text++) {
    for (let at = starts[text]! + PIECE; at < starts[text + 1]! - 1; at += PIECE) {
      texts.push(text);
      firsts.push(at);
    }
  }
  return { pieceTexts: sharedCopy(texts), pieceStarts: sharedCopy(firsts) };
}

/** Lists of places that are not in their order yet, but in that of texts. */
interface Unsorted extends Pick<Grams, "starts" | "places"> {
  /** By number of `places`: what they are to be ordered by, the numbers of the next gram and of the one after it. */
  readonly keys: Float64Array;
  /** A key is the number of the next gram times this, and more. */
  readonly keyShare: number;
}

/**
 * Lists places, and what follows at each: here that is next to it in memory,
 * while a list's places are all over the texts.
 *
 * @param grams the gram at each unit, by its number in order
 * @param padded the gram of pads alone
 */
function listPlaces(
  { count, starts: firsts, units }: Texts,
  grams: Uint32Array,
  distinct: number,
  padded: number,
): Unsorted {
  const starts = sharedUint32(distinct + 1);
  for (let text = 0; text < count; text++) {
    for (let at = firsts[text]!; at < firsts[text + 1]! - 1; at++) starts[grams[at]! + 1]!++;
  }
  for (let gram = 0; gram < distinct; gram++) starts[gram + 1]! += starts[gram]!;
  const next = starts.slice();
  /** By gram: the text that was the last to hold it, plus one. */
  const latest = new Uint32Array(distinct);
  const places = sharedUint32(units.length - count);
  const keys = new Float64Array(places.length);
  const keyShare = 2 ** bitsFor(distinct);
  let piece = count;
  for (let text = 0; text < count; text++) {
    const start = firsts[text]!;
    const end = firsts[text + 1]! - 1;
    for (let at = start; at < end; at++) {
      const gram = grams[at]!;
      const to = next[gram]!++;
      const unit = (at - start) % PIECE;
      if (unit === 0 && at > start) piece++;
      places[to] = placeOf(at - start < PIECE ? text : piece - 1, unit);
      if (latest[gram] === text + 1) {
        // Still in order of texts: the other place is the one before.
        places[to]! |= REPEATED;
        places[to - 1]! |= REPEATED;
      }
      latest[gram] = text + 1;
      const follower = at + GRAM < end ? grams[at + GRAM]! : padded;
      keys[to] = follower * keyShare + (at + GRAM * 2 < end ? grams[at + GRAM * 2]! : padded);
    }
  }
  return { starts, places, keys, keyShare };
}

/** Lists that are no longer are sorted by insertion. */
const SHORT = 12;
/** Which half of a 64-bit number comes first in memory. */
const [LOW, HIGH] = new Uint8Array(Uint32Array.of(1).buffer)[0] === 1 ? [0, 1] : [1, 0];

/** Bits of a number from 0 to below a count. */
function bitsFor(count: number): number {
  return 32 - Math.clz32(Math.max(count - 1, 1));
}

/**
 * Sorts every list by the grams that follow; places where the same follows stay
 * in order.
 *
 * A place's key and its own number in the list together take 64 bits, which the
 * engine sorts without calling back. Where they take more, one gram has to do.
 */
function sortLists(
  { starts, places, keys, keyShare }: Unsorted,
  bits: number,
): Pick<Grams, "depth" | "followers"> {
  let longest = 0;
  for (let gram = 0; gram + 1 < starts.length; gram++) {
    longest = Math.max(longest, starts[gram + 1]! - starts[gram]!);
  }
  const goesDeep = keyShare ** 2 <= 2 ** Math.min(52, bits - bitsFor(longest));
  if (!goesDeep) for (let at = 0; at < keys.length; at++) keys[at] = Math.floor(keys[at]! / keyShare);
  const words = new Uint32Array(longest * 2);
  const copy = new Uint32Array(longest);
  for (let gram = 0; gram + 1 < starts.length; gram++) {
    const [from, to] = [starts[gram]!, starts[gram + 1]!];
    let isSorted = true;
    for (let at = from + 1; at < to && isSorted; at++) isSorted = keys[at]! >= keys[at - 1]!;
    if (isSorted) continue;
    if (to - from <= SHORT) sortShort(places, keys, from, to);
    else sortLong(places.subarray(from, to), keys.subarray(from, to), words, copy);
  }
  const followers = sharedUint32(places.length);
  const share = goesDeep ? keyShare : 1;
  for (let at = 0; at < keys.length; at++) followers[at] = keys[at]! / share;
  return { depth: goesDeep ? 9 : 6, followers };
}

function sortShort(places: Uint32Array, keys: Float64Array, from: number, end: number): void {
  for (let at = from + 1; at < end; at++) {
    const place = places[at]!;
    const key = keys[at]!;
    let to = at;
    for (; to > from && keys[to - 1]! > key; to--) {
      keys[to] = keys[to - 1]!;
      places[to] = places[to - 1]!;
    }
    keys[to] = key;
    places[to] = place;
  }
}

function sortLong(list: Uint32Array, keys: Float64Array, words: Uint32Array, copy: Uint32Array): void {
  const { length } = list;
  const width = 2 ** bitsFor(length);
  const share = 2 ** 32 / width;
  for (let at = 0; at < length; at++) {
    const high = Math.floor(keys[at]! / share);
    words[at * 2 + HIGH] = high;
    words[at * 2 + LOW] = (keys[at]! - high * share) * width + at;
  }
  new BigUint64Array(words.buffer, 0, length).sort();
  copy.set(list);
  for (let at = 0; at < length; at++) {
    const low = words[at * 2 + LOW]!;
    // Whole numbers below 2^53, so nothing is lost.
    keys[at] = words[at * 2 + HIGH]! * share + Math.floor(low / width);
    list[at] = copy[low % width]!;
  }
}

/** A bit at most every so many is set, so that a gram that is not there is mostly seen to be so. */
const SPARSENESS = 16;

function gramBits(pairs: Uint32Array, thirds: Uint32Array): Uint32Array {
  let size = 32;
  while (size < pairs.length * SPARSENESS) size *= 2;
  const bits = sharedUint32(size / 32);
  for (let gram = 0; gram < pairs.length; gram++) {
    const bit = hashOf(pairs[gram]!, thirds[gram]!) & (size - 1);
    bits[bit >>> 5]! |= 1 << bit;
  }
  return bits;
}

/** There is more to index than an index can hold, however much memory there is. */
export class IndexLimitError extends RangeError {
  override name = "IndexLimitError";
}

/** Most texts, further pieces of long ones included. */
const MOST_NUMBERS = 2 ** (32 - NUMBER_SHIFT);

/**
 * Indexes texts by their grams.
 *
 * @param sortBits bits of the numbers by which lists are sorted; with fewer than 64 they are in order of fewer units
 * @throws {IndexLimitError} when there are more texts than places can tell apart
 */
export function indexGrams(texts: Texts, sortBits = 64): Grams {
  const pieces = cutPieces(texts);
  const count = texts.count + pieces.pieceTexts.length;
  if (count > MOST_NUMBERS) {
    throw new IndexLimitError(`${count} names, or distinct words, where ${MOST_NUMBERS} are the most`);
  }
  const numbers = new GramNumbers();
  const grams = numberGrams(texts, numbers);
  const sorted = sortGrams(numbers);
  const ranks = new Uint32Array(sorted.length);
  const pairs = sharedUint32(sorted.length);
  const thirds = sharedUint32(sorted.length);
  for (let rank = 0; rank < sorted.length; rank++) {
    const gram = sorted[rank]!;
    ranks[gram] = rank;
    pairs[rank] = numbers.pairs.values[gram]!;
    thirds[rank] = numbers.thirds.values[gram]!;
  }
  for (let at = 0; at < grams.length; at++) grams[at] = ranks[grams[at]!]!;
  let size = 2;
  while (size < pairs.length * 2) size *= 2;
  const slots = sharedUint32(size);
  fillSlots(slots, pairs, thirds, pairs.length);
  // The gram of pads alone was the first.
  const lists = listPlaces(texts, grams, pairs.length, ranks[0]!);
  const order = sortLists(lists, sortBits);
  const bits = gramBits(pairs, thirds);
  const { starts, places } = lists;
  return { texts, pairs, thirds, slots, bits, starts, places, ...order, ...pieces };
}
