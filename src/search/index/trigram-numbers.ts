/** Numbers trigrams as they come, by open addressing, and then in order of their code units by a radix sort. */

import { Uint32Column } from "../../store/bytes.ts";
import { countUp, sortByKey } from "../../store/order.ts";
import { PAD, type Texts } from "../shared/texts.ts";
import { pairOf, slotOf } from "../shared/trigrams.ts";

/** Numbers trigrams as they come. */
export class TrigramNumbers {
  readonly pairs = new Uint32Column();
  readonly thirds = new Uint32Column();
  #slots = new Uint32Array(1 << 16);

  /** The number of a trigram; a new one when it is seen for the first time. */
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

/** Fills an empty hash table with the numbers of trigrams. */
export function fillSlots(slots: Uint32Array, pairs: Uint32Array, thirds: Uint32Array, count: number): void {
  for (let number = 0; number < count; number++) {
    slots[slotOf(slots, pairs, thirds, pairs[number]!, thirds[number]!)] = number + 1;
  }
}

/**
 * The number of the trigram that begins at each position; at a pad that of the trigram of pads alone, which is the first.
 *
 * @param most distinct trigrams
 * @returns undefined when there are more
 */
export function numberTrigrams(
  { count, units, starts }: Texts,
  numbers: TrigramNumbers,
  most: number,
): Uint32Array | undefined {
  const padded = numbers.numberOf(PAD, PAD, PAD);
  const trigrams = new Uint32Array(units.length);
  for (let text = 0; text < count; text++) {
    const end = starts[text + 1]! - 1;
    for (let at = starts[text]!; at < end; at++) {
      const third = at + 1 < end ? units[at + 2]! : PAD;
      trigrams[at] = numbers.numberOf(units[at]!, units[at + 1]!, third);
    }
    trigrams[end] = padded;
    if (numbers.pairs.length > most) return undefined;
  }
  return trigrams;
}

/** Numbers of trigrams in order of their code units. */
export function sortTrigrams({ pairs, thirds }: TrigramNumbers): Uint32Array {
  const keys = new Float64Array(pairs.length);
  for (let trigram = 0; trigram < keys.length; trigram++)
    keys[trigram] = pairs.values[trigram]! * 65_536 + thirds.values[trigram]!;
  const order = countUp(keys.length);
  sortByKey(order, keys);
  return order;
}
