/**
 * Grams to words: which words hold a given run of three UTF-16 units.
 *
 * The lists are built with typed arrays and then handed to FlexSearch as a
 * ready-made map, the way its own `import` restores an exported index. Adding
 * the words one by one gives the same map, but took ten times as long and
 * several times the memory: FlexSearch keeps a set of strings a word, and each
 * gram was hashed four times.
 */

import { Index } from "flexsearch";
import { Uint32Column } from "../store/bytes.ts";
import { countUp, sortByKey } from "../store/order.ts";

/** Units of a gram. */
export const GRAM = 3;
/** A lone surrogate: no folded text contains it, so no query can ask for it. */
export const PAD = 0xdc00;

/** A finished index over words; a word is known by its number. */
export interface GramIndex {
  /** All grams, in order of their units. */
  readonly grams: readonly string[];
  readonly flex: Index;
  readonly words: number;
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
    const mixed = Math.imul(Math.imul(pair, 0x9e3779b1) ^ third, 0x85ebca6b);
    let slot = (mixed ^ (mixed >>> 15)) & mask;
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

/** What was found out about words while their grams were indexed. */
export interface GramsOfWords {
  /** Numbers of every different gram of every word, in turn. */
  readonly grams: Uint32Array;
  /** How many there are a word. */
  readonly counts: Uint32Array;
  /** Gram numbers in order of their units, and the grams in that order. */
  readonly order: Uint32Array;
  readonly texts: readonly string[];
}

function collectGrams(
  words: readonly string[],
): Pick<GramsOfWords, "grams" | "counts"> & { numbers: GramNumbers } {
  const numbers = new GramNumbers();
  const grams = new Uint32Column();
  const counts = new Uint32Array(words.length);
  /** By gram: the word it was last seen in, plus one. */
  let lastWord = new Uint32Array(1 << 16);
  for (let word = 0; word < words.length; word++) {
    const text = words[word]!;
    const { length } = text;
    let first = text.charCodeAt(0);
    let second = length > 1 ? text.charCodeAt(1) : PAD;
    const before = grams.length;
    for (let at = 2; at < length + 2; at++) {
      const third = at < length ? text.charCodeAt(at) : PAD;
      const gram = numbers.numberOf(first, second, third);
      if (gram >= lastWord.length) {
        const larger = new Uint32Array(lastWord.length * 2);
        larger.set(lastWord);
        lastWord = larger;
      }
      if (lastWord[gram] !== word + 1) {
        lastWord[gram] = word + 1;
        grams.push(gram);
      }
      first = second;
      second = third;
    }
    counts[word] = grams.length - before;
  }
  return { numbers, grams: grams.values.subarray(0, grams.length), counts };
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

/**
 * Indexes words.
 *
 * @param words none of them empty
 */
export function indexGrams(words: readonly string[]): { index: GramIndex; found: GramsOfWords } {
  const { numbers, grams, counts } = collectGrams(words);
  const order = sortGrams(numbers);
  const lengths = new Uint32Array(order.length);
  for (let at = 0; at < grams.length; at++) lengths[grams[at]!]!++;
  const next = new Uint32Array(order.length);
  let place = 0;
  for (const gram of order) {
    next[gram] = place;
    place += lengths[gram]!;
  }
  const lists = new Uint32Array(grams.length);
  for (let word = 0, at = 0; word < words.length; word++) {
    for (const end = at + counts[word]!; at < end; at++) lists[next[grams[at]!]!++] = word;
  }

  const texts: string[] = [];
  const map: [gram: string, slots: [Uint32Array]][] = [];
  for (const gram of order) {
    const pair = numbers.pairs.values[gram]!;
    const text = String.fromCharCode(pair >>> 16, pair & 0xffff, numbers.thirds.values[gram]!);
    texts.push(text);
    map.push([text, [lists.subarray(next[gram]! - lengths[gram]!, next[gram]!)]]);
  }
  // Queries are single grams, so the encoder leaves them whole; resolution 1 is one list a gram.
  const flex = new Index({ tokenize: "strict", resolution: 1, encode: (gram: string) => [gram] });
  // The types know `import` of JSON text only, but the parsed map is taken as well.
  (flex.import as (key: string, data: unknown) => void).call(flex, "map", map);
  return { index: { grams: texts, flex, words: words.length }, found: { grams, counts, order, texts } };
}

/** The words that hold a gram, ascending; the index's own array, not to be changed. */
export function wordsWithGram({ flex, words }: GramIndex, gram: string): Uint32Array {
  // Without a limit FlexSearch stops at 100; below it, it returns the stored list itself, or an empty array.
  return flex.search(gram, { limit: Math.max(words, 1) }) as unknown as Uint32Array;
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
