/** Texts as plain numbers: their UTF-16 code units one behind the other, in shared memory. */

import { enlarge, sharedUint16, sharedUint32, Uint32Column } from "../../store/bytes.ts";
import { checkLimit, MOST_CODE_UNITS } from "../../store/limits.ts";

/**
 * Stands behind the end of a text. The half of a surrogate pair: in texts and
 * queries it comes behind the other half alone, and no text ends with that.
 */
export const PAD = 0xdc00;
/** The same as text. */
export const PAD_TEXT = String.fromCharCode(PAD);

/** Texts that are known by their numbers, from 0. */
export interface Texts {
  readonly count: number;
  /** Each text is followed by a {@link PAD}. */
  readonly units: Uint16Array;
  /** Text n begins at `starts[n]`; there is one more, behind the last pad. */
  readonly starts: Uint32Array;
}

/** Code units of a text. */
export function lengthOf({ starts }: Texts, number: number): number {
  return starts[number + 1]! - starts[number]! - 1;
}

/** A text as a string; it must be short. */
export function textAt({ units, starts }: Texts, number: number): string {
  return String.fromCharCode(...units.subarray(starts[number]!, starts[number + 1]! - 1));
}

/** Takes texts one by one. */
export class TextsBuilder {
  readonly #starts = new Uint32Column();
  readonly #most: number;
  #units = new Uint16Array(1024);
  #length = 0;

  /** @param most code units, with one more for each text */
  constructor(most = MOST_CODE_UNITS) {
    this.#most = most;
  }

  /** Adds a text; it gets the next number. @throws {LimitError} when there are too many code units */
  add(text: string): void {
    this.#starts.push(this.#length);
    checkLimit(this.#length + text.length + 1, this.#most, "characters of names");
    while (this.#length + text.length >= this.#units.length) this.#units = enlarge(this.#units, this.#most);
    for (let at = 0; at < text.length; at++) this.#units[this.#length++] = text.charCodeAt(at);
    this.#units[this.#length++] = PAD;
  }

  /** Makes the texts; the builder is of no more use. */
  finish(): Texts {
    const count = this.#starts.length;
    const starts = sharedUint32(count + 1);
    starts.set(this.#starts.values.subarray(0, count));
    starts[count] = this.#length;
    const units = sharedUint16(this.#length);
    units.set(this.#units.subarray(0, this.#length));
    return { count, units, starts };
  }
}
