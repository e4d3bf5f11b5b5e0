/**
 * Maps ids to row numbers: open addressing over typed arrays. A UUID is four 32-bit words. Slots hold row + 1, 0 is empty; the table
 * is at most half full, and a miss ends at the first empty slot.
 */

import { parseUuid } from "../model/uuid.ts";
import { sharedUint32 } from "./bytes.ts";
import { checkLimit, MOST_ROWS } from "./limits.ts";

/** A finished map. `words` holds four words per row, in row order. */
export interface IdMap {
  readonly words: Uint32Array;
  /** Length is a power of two. */
  readonly slots: Uint32Array;
}

/** Mixes all four words: version and variant bits of a UUID are constant, and sequential ids differ in few bits. */
function hash(words: Uint32Array, at: number): number {
  let h = Math.imul(words[at]!, 0x9e3779b1);
  h = Math.imul(h ^ (h >>> 15) ^ words[at + 1]!, 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13) ^ words[at + 2]!, 0xc2b2ae35);
  h = Math.imul(h ^ (h >>> 16) ^ words[at + 3]!, 0x27d4eb2f);
  return h ^ (h >>> 15);
}

function same(a: Uint32Array, i: number, b: Uint32Array, j: number): boolean {
  return a[i] === b[j] && a[i + 1] === b[j + 1] && a[i + 2] === b[j + 2] && a[i + 3] === b[j + 3];
}

export function copyWords(from: Uint32Array, at: number, to: Uint32Array, offset: number): void {
  to[offset] = from[at]!;
  to[offset + 1] = from[at + 1]!;
  to[offset + 2] = from[at + 2]!;
  to[offset + 3] = from[at + 3]!;
}

/** Compares two ids of four words each, as for `sort`. */
export function compareWords(words: Uint32Array, a: number, b: number): number {
  for (let word = 0; word < 4; word++) {
    const difference = words[a + word]! - words[b + word]!;
    if (difference !== 0) return difference;
  }
  return 0;
}

/** The slot that holds the id at `probe[at]`, or the empty slot where it would go. */
function slotFor(map: IdMap, probe: Uint32Array, at: number): number {
  const { words, slots } = map;
  const mask = slots.length - 1;
  for (let slot = hash(probe, at) & mask; ; slot = (slot + 1) & mask) {
    const row = slots[slot]!;
    if (row === 0 || same(words, (row - 1) * 4, probe, at)) return slot;
  }
}

function slotCount(rows: number): number {
  let count = 16;
  while (count < rows * 2) count *= 2;
  return count;
}

/** Makes the map of `words.length / 4` rows with distinct ids. */
export function createIdMap(words: Uint32Array): IdMap {
  const rows = words.length / 4;
  const map = { words, slots: sharedUint32(slotCount(rows)) };
  for (let row = 0; row < rows; row++) map.slots[slotFor(map, words, row * 4)] = row + 1;
  return map;
}

/** The row of the id at `probe[at]`, or -1 when it is unknown. */
export function findWords(map: IdMap, probe: Uint32Array, at: number): number {
  return map.slots[slotFor(map, probe, at)]! - 1;
}

const scratch = new Uint32Array(4);

/** The row of an id in text form, or -1 when it is unknown or no UUID at all. */
export function findId(map: IdMap, text: string): number {
  return parseUuid(text, scratch, 0) ? findWords(map, scratch, 0) : -1;
}

/** Ids that arrive while a snapshot loads: numbered in order of arrival, and checked for duplicates. */
export class ArrivingIds {
  #map = { words: new Uint32Array(4096), slots: new Uint32Array(slotCount(1024)) };
  length = 0;
  readonly #most: number;

  constructor(most = MOST_ROWS) {
    this.#most = most;
  }

  /** Four words per id, in order of arrival, then unused room. */
  get words(): Uint32Array {
    return this.#map.words;
  }

  /**
   * Adds the id at `probe[at]`, unless it is a duplicate. @returns -1, or the number of the same id, which arrived before
   * @throws {LimitError} when the ids are too many
   */
  add(probe: Uint32Array, at: number): number {
    if (this.length * 4 === this.#map.words.length) this.#grow();
    const map = this.#map;
    const slot = slotFor(map, probe, at);
    if (map.slots[slot] !== 0) return map.slots[slot]! - 1;
    checkLimit(this.length + 1, this.#most, "rows");
    copyWords(probe, at, map.words, this.length * 4);
    map.slots[slot] = ++this.length;
    return -1;
  }

  /** Grows by a factor of four, since all ids are hashed again and untouched memory costs nothing. */
  #grow(): void {
    checkLimit(this.length + 1, this.#most, "rows");
    const words = new Uint32Array(this.#map.words.length * 4);
    words.set(this.#map.words);
    this.#map = { words, slots: new Uint32Array(slotCount(words.length / 4)) };
    for (let row = 0; row < this.length; row++) this.#map.slots[slotFor(this.#map, words, row * 4)] = row + 1;
  }
}
