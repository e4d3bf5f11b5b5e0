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

/** A stream of random numbers a row, so that any row can be drawn again without those before it. */
export interface RowRandom extends Random {
  /** Begins the stream of a row, a whole number from 0. */
  readonly startRow: (row: number) => void;
}

const TWO_32 = 4_294_967_296;
/** Numbers thrown away at first: the first outputs still show the seed. */
const WARM_UP = 20;
/** The same for a row, whose state is hashed beforehand. */
const ROW_WARM_UP = 4;

/** Spreads every bit over all others (the finalizer of MurmurHash3). */
function mix(word: number): number {
  let mixed = Math.imul(word ^ (word >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return mixed ^ (mixed >>> 16);
}

/**
 * Makes the streams that belong to a seed and a name, one a row; see {@link createRandom}.
 *
 * @param seed any safe integer
 */
export function createRowRandom(seed: number, name: string): RowRandom {
  const low = seed >>> 0;
  const high = Math.floor(seed / TWO_32) >>> 0;
  let key = 0x9e3779b9;
  for (let at = 0; at < name.length; at++) key = Math.imul(key ^ name.charCodeAt(at), 0x01000193);
  let a = low;
  let b = high;
  let c = key;
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

  function startRow(row: number): void {
    a = mix(low ^ mix(row + 0x9e3779b9));
    b = mix(high ^ mix(Math.floor(row / TWO_32) + 0x7f4a7c15));
    c = mix(key + Math.imul(row, 0x85ebca77));
    counter = 1;
    for (let round = 0; round < ROW_WARM_UP; round++) word();
  }

  for (let round = 0; round < WARM_UP; round++) word();
  return {
    word,
    unit,
    below: (count) => Math.floor(unit() * count),
    chance: (chance) => unit() < chance,
    startRow,
  };
}

/**
 * Makes the stream (sfc32) that belongs to a seed and a name.
 *
 * Streams of different names are independent, so what one part of a snapshot
 * draws does not change another part.
 *
 * @param seed any safe integer
 */
export function createRandom(seed: number, name: string): Random {
  return createRowRandom(seed, name);
}

/** Writes a random version 4 UUID as four words to `words[at]` and on; see `src/model/uuid.ts`. */
export function drawUuid(random: Random, words: Uint32Array, at: number): void {
  words[at] = random.word();
  words[at + 1] = (random.word() & 0xffff0fff) | 0x4000;
  words[at + 2] = (random.word() & 0x3fffffff) | 0x80000000;
  words[at + 3] = random.word();
}
