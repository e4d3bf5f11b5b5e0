/**
 * Random numbers that are the same on every machine.
 *
 * Only integer arithmetic, the four basic operations and square roots are used
 * here and by the callers: IEEE 754 fixes their results, while those of
 * `Math.log` or `Math.pow` may differ between engines.
 */

/** A stream of random numbers. */
export interface Random {
  /** A whole number from 0 to 2^32 - 1. */
  readonly word: () => number;
  /** A number from 0 up to, not including, 1. */
  readonly unit: () => number;
  /** A whole number from 0 to `count - 1`; 0 when count is 0. */
  readonly below: (count: number) => number;
  /** True with the given chance, from 0 to 1. */
  readonly chance: (chance: number) => boolean;
}

const TWO_32 = 4_294_967_296;

/**
 * Makes the stream (sfc32) that belongs to a seed and a name.
 *
 * Streams of different names are independent, so what one part of a snapshot
 * draws does not change another part.
 *
 * @param seed any safe integer
 */
export function createRandom(seed: number, name: string): Random {
  let a = seed >>> 0;
  let b = Math.floor(seed / TWO_32) >>> 0;
  let c = 0x9e3779b9;
  for (let at = 0; at < name.length; at++) c = Math.imul(c ^ name.charCodeAt(at), 0x01000193);
  let counter = 1;

  function word(): number {
    const sum = (((a + b) | 0) + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (c << 21) | (c >>> 11);
    c = (c + sum) | 0;
    return sum >>> 0;
  }
  const unit = (): number => word() / TWO_32;

  // The first outputs still show the seed.
  for (let round = 0; round < 20; round++) word();
  return {
    word,
    unit,
    below: (count) => Math.floor(unit() * count),
    chance: (chance) => unit() < chance,
  };
}

/** Writes a random version 4 UUID as four words to `words[at]` and on; see `src/uuid.ts`. */
export function drawUuid(random: Random, words: Uint32Array, at: number): void {
  words[at] = random.word();
  words[at + 1] = (random.word() & 0xffff0fff) | 0x4000;
  words[at + 2] = (random.word() & 0x3fffffff) | 0x80000000;
  words[at + 3] = random.word();
}
