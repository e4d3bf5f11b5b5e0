/**
 * Grams to texts: which texts hold a given run of three UTF-16 units.
 *
 * A text is padded at its end, so that it has as many grams as units, and each
 * of its units begins one. The lists are built with typed arrays and then
 * handed to FlexSearch as a ready-made map, the way its own `import` restores
 * an exported index. Adding the texts one by one gives the same map, but took
 * ten times as long and several times the memory: FlexSearch keeps a set of
 * strings a text, and each gram was hashed four times.
 *
 * Texts are words (`words.ts`) or whole names (`names.ts`).
 */

import { Index } from "flexsearch";
import { ByteColumn, enlarge, Uint32Column } from "../store/bytes.ts";
import { countUp, sortByKey } from "../store/order.ts";

/** Units of a gram. */
export const GRAM = 3;
/** Stands behind the end of a text. A lone surrogate: no folded text contains it, so no query can ask for it. */
export const PAD = 0xdc00;

/** A finished index over texts; a text is known by its number. */
export interface GramIndex {
  /** All grams, in order of their units. */
  readonly grams: readonly string[];
  readonly flex: Index;
  readonly texts: number;
  /** One bit a gram that is there, at its hash; a power of two of bits. */
  readonly bits: Uint32Array;
}

/** Hash of a gram. @param pair its first two units in one number */
function hashOf(pair: number, third: number): number {
  const mixed = Math.imul(Math.imul(pair, 0x9e3779b1) ^ third, 0x85ebca6b);
  return mixed ^ (mixed >>> 15);
}

/** Numbers grams as they come: open addressing over their units. */
class GramNumbers {
  /** First two units, and the third, of each gram by number. */
  readonly pairs = new Uint32Column();
  readonly thirds = new Uint32Column();
  #slots = new Uint32Array(1 << 16);

  /** The number of a gram; a new one when it is seen for the first time. */
  numberOf(first: number, second: number, third: number): number {
    if (this.pairs.length * 2 > this.#slots.length) this.#grow();
    const pair = ((first << 16) | second) >>> 0;
    const slot = this.#find(pair, third);
    const known = this.#slots[slot]!;
    if (known !== 0) return known - 1;
    this.pairs.push(pair);
    this.thirds.push(third);
    this.#slots[slot] = this.pairs.length;
    return this.pairs.length - 1;
  }

  #find(pair: number, third: number): number {
    const mask = this.#slots.length - 1;
    let slot = hashOf(pair, third) & mask;
    for (;;) {
      const number = this.#slots[slot]! - 1;
      if (number < 0 || (this.pairs.values[number] === pair && this.thirds.values[number] === third))
        return slot;
      slot = (slot + 1) & mask;
    }
  }

  #grow(): void {
    this.#slots = new Uint32Array(this.#slots.length * 2);
    for (let number = 0; number < this.pairs.length; number++) {
      const slot = this.#find(this.pairs.values[number]!, this.thirds.values[number]!);
      this.#slots[slot] = number + 1;
    }
  }
}

/** What was found out about texts while their grams were indexed. */
export interface GramsOfTexts {
  /** Numbers of every different gram of every text, in turn. */
  readonly grams: Uint32Array;
  /** How many there are a text. */
  readonly counts: Uint32Array;
  /** Gram numbers in order of their units, and the grams in that order. */
  readonly order: Uint32Array;
  readonly names: readonly string[];
}

/** Where a gram stands in a text: its place from 0 to 29, REPEATED_FIRST or ELSEWHERE. */
const LAST_PLACE = 29;
/** At the beginning and again. */
export const REPEATED_FIRST = 30;
/** At several places, none of them the beginning, or further back than {@link LAST_PLACE}. */
export const ELSEWHERE = 31;

interface CollectedGrams extends Pick<GramsOfTexts, "grams" | "counts"> {
  readonly numbers: GramNumbers;
  /** Place of each of `grams`. */
  readonly places: Uint8Array;
}

function collectGrams(texts: readonly string[]): CollectedGrams {
  const numbers = new GramNumbers();
  const grams = new Uint32Column();
  const places = new ByteColumn();
  const counts = new Uint32Array(texts.length);
  /** By gram: where it was last put in `grams`, plus one. */
  let latest = new Uint32Array(1 << 16);
  for (let number = 0; number < texts.length; number++) {
    const text = texts[number]!;
    const { length } = text;
    let first = text.charCodeAt(0);
    let second = length > 1 ? text.charCodeAt(1) : PAD;
    const before = grams.length;
    for (let place = 0; place < length; place++) {
      const third = place + 2 < length ? text.charCodeAt(place + 2) : PAD;
      const gram = numbers.numberOf(first, second, third);
      if (gram >= latest.length) latest = enlarge(latest);
      const known = latest[gram]! - 1;
      if (known < before) {
        grams.push(gram);
        places.push(place > LAST_PLACE ? ELSEWHERE : place);
        latest[gram] = grams.length;
      } else {
        const place = places.values[known]!;
        places.values[known] = place === 0 || place === REPEATED_FIRST ? REPEATED_FIRST : ELSEWHERE;
      }
      first = second;
      second = third;
    }
    counts[number] = grams.length - before;
  }
  return { numbers, grams: grams.values.subarray(0, grams.length), places: places.values, counts };
}

/** Gram numbers in order of their units. */
function sortGrams({ pairs, thirds }: GramNumbers): Uint32Array {
  const keys = new Float64Array(pairs.length);
  for (let gram = 0; gram < keys.length; gram++)
    keys[gram] = pairs.values[gram]! * 65_536 + thirds.values[gram]!;
  const order = countUp(keys.length);
  sortByKey(order, keys);
  return order;
}

/** Bits of an entry with places below the number of its text. */
export const PLACE_BITS = 6;

/** Entries with places: number of the text * 64 + place * 2 + whether the text is no longer than this gram. */
function placedEntry(number: number, place: number, units: number): number {
  return number * (1 << PLACE_BITS) + place * 2 + (units <= GRAM && place === 0 ? 1 : 0);
}

/**
 * Indexes texts.
 *
 * @param withPlaces lists hold entries as {@link PLACE_BITS} tells; otherwise numbers of texts
 */
export function indexGrams(
  texts: readonly string[],
  withPlaces: boolean,
): { index: GramIndex; found: GramsOfTexts } {
  if (withPlaces && texts.length > 2 ** (32 - PLACE_BITS)) {
    throw new RangeError("more rows than a search can tell apart");
  }
  const { numbers, grams, places, counts } = collectGrams(texts);
  const order = sortGrams(numbers);
  const lengths = new Uint32Array(order.length);
  for (const gram of grams) lengths[gram]!++;
  const next = new Uint32Array(order.length);
  let place = 0;
  for (const gram of order) {
    next[gram] = place;
    place += lengths[gram]!;
  }
  const lists = new Uint32Array(grams.length);
  for (let number = 0, at = 0; number < texts.length; number++) {
    for (const end = at + counts[number]!; at < end; at++) {
      lists[next[grams[at]!]!++] = withPlaces
        ? placedEntry(number, places[at]!, texts[number]!.length)
        : number;
    }
  }

  const names: string[] = [];
  const map: [gram: string, slots: [Uint32Array]][] = [];
  for (const gram of order) {
    const pair = numbers.pairs.values[gram]!;
    const name = String.fromCharCode(pair >>> 16, pair & 0xffff, numbers.thirds.values[gram]!);
    names.push(name);
    map.push([name, [lists.subarray(next[gram]! - lengths[gram]!, next[gram]!)]]);
  }
  // Queries are single grams, so the encoder leaves them whole; resolution 1 is one list a gram.
  const flex = new Index({ tokenize: "strict", resolution: 1, encode: (gram: string) => [gram] });
  // The types know `import` of JSON text only, but the parsed map is taken as well.
  (flex.import as (key: string, data: unknown) => void).call(flex, "map", map);
  return {
    index: { grams: names, flex, texts: texts.length, bits: gramBits(names) },
    found: { grams, counts, order, names },
  };
}

/** A bit at most every so many is set, so that a gram that is not there is mostly seen to be so. */
const SPARSENESS = 16;

function gramBits(grams: readonly string[]): Uint32Array {
  let bits = 32;
  while (bits < grams.length * SPARSENESS) bits *= 2;
  const set = new Uint32Array(bits / 32);
  for (const gram of grams) {
    const bit = bitOf(set, gram, 0);
    set[bit >>> 5]! |= 1 << bit;
  }
  return set;
}

/** Bit of the gram that begins at a place of a text. */
function bitOf(bits: Uint32Array, text: string, at: number): number {
  const pair = (text.charCodeAt(at) << 16) | text.charCodeAt(at + 1);
  return hashOf(pair, text.charCodeAt(at + 2)) & (bits.length * 32 - 1);
}

/**
 * Whether there can be a text that contains a term of a gram and more. Most
 * terms that are nowhere have a gram that is nowhere: to learn that takes a
 * tenth of asking FlexSearch.
 */
export function mayHold({ bits }: GramIndex, term: string): boolean {
  for (let at = 0; at + GRAM <= term.length; at++) {
    const bit = bitOf(bits, term, at);
    if ((bits[bit >>> 5]! & (1 << bit)) === 0) return false;
  }
  return true;
}

/** The list of a gram, ascending; the index's own array, not to be changed. */
export function listOfGram({ flex, texts }: GramIndex, gram: string): Uint32Array {
  // Without a limit FlexSearch stops at 100; below it, it returns the stored list itself, or an empty array.
  return flex.search(gram, { limit: Math.max(texts, 1) }) as unknown as Uint32Array;
}

/** Place of the first gram that is not below a text. */
function lowerBound(grams: readonly string[], text: string): number {
  let low = 0;
  let high = grams.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (grams[middle]! < text) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The grams that begin with a text shorter than a gram. */
export function gramsThatBegin({ grams }: GramIndex, text: string): readonly string[] {
  const from = lowerBound(grams, text);
  let to = from;
  while (to < grams.length && grams[to]!.startsWith(text)) to++;
  return grams.slice(from, to);
}
