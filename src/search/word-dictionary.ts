/**
 * The dictionary: numbers distinct words in order of arrival, with open addressing over typed arrays.
 *
 * A map of strings holds no more than 2^24 words, and many millions of them fill the engine's heap.
 */

import { enlarge, Uint32Column } from "../store/bytes.ts";
import { checkLimit, MOST_CODE_UNITS, MOST_TEXTS } from "../store/limits.ts";
import { PAD, type Texts } from "./texts.ts";

/** Slots at first; a power of two. */
const FIRST_SLOTS = 1 << 12;

/** Words by number, from 0. The hash has a random seed, so that no data can be made to share slots. */
export class WordDictionary {
  readonly #seed = Math.floor(Math.random() * 2 ** 32) | 1;
  #units = new Uint16Array(4096);
  /** Code units in use, pads included. */
  #length = 0;
  readonly #starts = new Uint32Column();
  readonly #hashes = new Uint32Column();
  /** Number of a word plus one, or 0. */
  #slots = new Uint32Array(FIRST_SLOTS);

  readonly #mostWords: number;
  readonly #mostUnits: number;

  /** @param mostUnits code units of all words, with one more for each */
  constructor(mostWords = MOST_TEXTS, mostUnits = MOST_CODE_UNITS) {
    this.#mostWords = mostWords;
    this.#mostUnits = mostUnits;
  }

  get count(): number {
    return this.#starts.length;
  }

  /**
   * The number of a word, given as a part of a text; a new word gets the next number.
   * @throws {LimitError} when there are too many
   */
  numberOf(text: string, from: number, to: number): number {
    const hash = this.#add(text, from, to);
    const mask = this.#slots.length - 1;
    let slot = hash & mask;
    for (;;) {
      const number = this.#slots[slot]! - 1;
      if (number < 0) return this.#keep(slot, hash, to - from);
      if (this.#hashes.values[number] === hash && this.#isLast(number, to - from)) return number;
      slot = (slot + 1) & mask;
    }
  }

  /** Writes a word after the kept ones. @returns its hash */
  #add(text: string, from: number, to: number): number {
    checkLimit(this.#length + to - from + 1, this.#mostUnits, "characters of distinct words");
    while (this.#length + to - from >= this.#units.length)
      this.#units = enlarge(this.#units, this.#mostUnits);
    const units = this.#units;
    let hash = this.#seed;
    for (let at = from, next = this.#length; at < to; at++, next++) {
      const unit = text.charCodeAt(at);
      units[next] = unit;
      hash = Math.imul(hash ^ unit, this.#seed);
      hash ^= hash >>> 15;
    }
    hash = Math.imul(hash ^ (to - from), 0x85ebca6b);
    return (hash ^ (hash >>> 13)) >>> 0;
  }

  /** Whether a kept word equals the last written one. */
  #isLast(number: number, length: number): boolean {
    const units = this.#units;
    const start = this.#starts.values[number]!;
    const end = number + 1 < this.count ? this.#starts.values[number + 1]! : this.#length;
    if (end - start - 1 !== length) return false;
    for (let at = 0; at < length; at++) if (units[start + at] !== units[this.#length + at]) return false;
    return true;
  }

  /** Keeps the last written word. */
  #keep(slot: number, hash: number, length: number): number {
    const number = this.count;
    checkLimit(number + 1, this.#mostWords, "distinct words");
    this.#starts.push(this.#length);
    this.#hashes.push(hash);
    this.#length += length;
    this.#units[this.#length++] = PAD;
    this.#slots[slot] = number + 1;
    if (this.count * 2 > this.#slots.length) this.#grow();
    return number;
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
    const { count } = this;
    this.#slots = new Uint32Array(0);
    this.#starts.push(this.#length);
    const starts = this.#starts.values.subarray(0, count + 1);
    const units = this.#units.subarray(0, this.#length);
    // Not kept here: the caller drops the words as soon as they are in order.
    this.#units = new Uint16Array(0);
    return { count, units, starts };
  }
}
