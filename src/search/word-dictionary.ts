/**
 * The dictionary: numbers distinct words in order of arrival, with open addressing over typed arrays.
 *
 * A map of strings holds no more than 2^24 words, and many millions of them fill the engine's heap.
 */

import { Uint32Column } from "../store/bytes.ts";
import { checkLimit, MOST_CODE_UNITS, MOST_TEXTS } from "../store/limits.ts";
import { type Texts, TextsBuilder } from "./texts.ts";

/** Slots at first; a power of two. */
const FIRST_SLOTS = 1 << 12;

/** Words by number, from 0. The hash has a random seed, so that no data can be made to share slots. */
export class WordDictionary {
  readonly #seed = Math.floor(Math.random() * 2 ** 32) | 1;
  readonly #words: TextsBuilder;
  readonly #hashes = new Uint32Column();
  /** Number of a word plus one, or 0. */
  #slots = new Uint32Array(FIRST_SLOTS);

  readonly #mostWords: number;

  /** @param mostUnits code units of all words, with one more for each */
  constructor(mostWords = MOST_TEXTS, mostUnits = MOST_CODE_UNITS) {
    this.#mostWords = mostWords;
    this.#words = new TextsBuilder(mostUnits, "distinct words");
  }

  get count(): number {
    return this.#words.count;
  }

  /**
   * The number of a word, given as a part of a text; a new word gets the next number.
   * @throws {LimitError} when there are too many
   */
  numberOf(text: string, from: number, to: number): number {
    const hash = this.#hash(text, from, to);
    const mask = this.#slots.length - 1;
    let slot = hash & mask;
    for (;;) {
      const number = this.#slots[slot]! - 1;
      if (number < 0) break;
      if (this.#hashes.values[number] === hash && this.#words.isEqual(number, text, from, to)) return number;
      slot = (slot + 1) & mask;
    }
    checkLimit(this.count + 1, this.#mostWords, "distinct words");
    this.#words.add(text, from, to);
    this.#hashes.push(hash);
    this.#slots[slot] = this.count;
    if (this.count * 2 > this.#slots.length) this.#grow();
    return this.count - 1;
  }

  #hash(text: string, from: number, to: number): number {
    let hash = this.#seed;
    for (let at = from; at < to; at++) {
      hash = Math.imul(hash ^ text.charCodeAt(at), this.#seed);
      hash ^= hash >>> 15;
    }
    hash = Math.imul(hash ^ (to - from), 0x85ebca6b);
    return (hash ^ (hash >>> 13)) >>> 0;
  }

  #grow(): void {
    const slots = new Uint32Array(this.#slots.length * 4);
    const mask = slots.length - 1;
    for (let number = 0; number < this.count; number++) {
      let slot = this.#hashes.values[number]! & mask;
      while (slots[slot] !== 0) slot = (slot + 1) & mask;
      slots[slot] = number + 1;
    }
    this.#slots = slots;
  }

  /** The words by number. No word can be added afterwards. */
  finish(): Texts {
    this.#slots = new Uint32Array(0);
    return this.#words.finish();
  }
}
