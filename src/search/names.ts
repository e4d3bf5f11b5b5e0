/**
 * Folded names: packed into one string, and an index of which of them contain
 * a term.
 *
 * FlexSearch holds, for each three-unit gram, the names that contain it and at
 * which place. A term of three units is such a gram. A longer one is there
 * where its grams stand side by side, which the lists tell by themselves: a
 * name's text lies somewhere in 20 MB, and to look at it costs a hundred times
 * as much as passing over an entry of a list. Texts are looked at where a list
 * does not tell the place, and where the names that are left are so few that
 * the next list would cost more. A shorter term is the beginning of a range of
 * grams.
 */

import { bitWords, countBits } from "./documents.ts";
import {
  ELSEWHERE,
  GRAM,
  type GramIndex,
  gramsThatBegin,
  indexGrams,
  listOfGram,
  mayHold,
  PAD,
  PLACE_BITS,
  REPEATED_FIRST,
} from "./grams.ts";
import { Ranks } from "./ranks.ts";
import { STEP, type Work } from "./slices.ts";

/** Names in one string, which costs far less memory than a string a name. */
export interface Names {
  readonly text: string;
  /** Name n is `text.slice(starts[n], starts[n + 1])`. */
  readonly starts: Uint32Array;
}

/** Packs names; the number of a name is its place. */
export function packNames(names: readonly string[]): Names {
  const starts = new Uint32Array(names.length + 1);
  for (let at = 0; at < names.length; at++) starts[at + 1] = starts[at]! + names[at]!.length;
  return { text: names.join(""), starts };
}

/** Names that can be searched. */
export interface NameIndex extends Names {
  readonly grams: GramIndex;
}

/** Indexes folded names; the number of a name is its place. */
export function indexNames(names: readonly string[]): NameIndex {
  return { ...packNames(names), grams: indexGrams(names, true).index };
}

/**
 * Finds every name that contains a term.
 *
 * @param term folded, not empty
 * @returns numbers of names: those equal to the term, those that begin with it, the rest, each ascending
 */
export function* findNames(index: NameIndex, term: string): Work<Uint32Array<ArrayBuffer>> {
  if (term.length < GRAM) return yield* findShort(index, term);
  if (term.length === GRAM) return rankGram(listOfGram(index.grams, term));
  return yield* findLong(index, term);
}

const PLACE_MASK = (1 << PLACE_BITS) - 2;

function placeOf(entry: number): number {
  return (entry & PLACE_MASK) >>> 1;
}

function isFirst(entry: number): boolean {
  const place = placeOf(entry);
  return place === 0 || place === REPEATED_FIRST;
}

/** Ranks the names of one gram, which is the whole term. */
function rankGram(list: Uint32Array): Uint32Array<ArrayBuffer> {
  const ranks = new Ranks(list.length);
  for (let at = 0; at < list.length; at++) {
    const entry = list[at]!;
    const number = entry >>> PLACE_BITS;
    if (entry & 1) ranks.equal(number);
    else if (isFirst(entry)) ranks.first(number);
    else ranks.rest(number);
  }
  return ranks.finish();
}

/** Finds a term shorter than a gram: gathers the names of all grams that begin with it, as bits. */
function* findShort({ grams, starts }: NameIndex, term: string): Work<Uint32Array<ArrayBuffer>> {
  const any = new Uint32Array(bitWords(starts.length - 1));
  const first = new Uint32Array(any.length);
  const equal = new Uint32Array(any.length);
  const whole = term.padEnd(GRAM, String.fromCharCode(PAD));
  let work = 0;
  for (const gram of gramsThatBegin(grams, term)) {
    const list = listOfGram(grams, gram);
    const isWhole = gram === whole;
    for (const entry of list) {
      const number = entry >>> PLACE_BITS;
      const bit = 1 << number;
      any[number >>> 5]! |= bit;
      if (!isFirst(entry)) continue;
      first[number >>> 5]! |= bit;
      if (isWhole) equal[number >>> 5]! |= bit;
    }
    work += list.length + GRAM_WORK;
    if (work > STEP) {
      work = 0;
      yield;
    }
  }
  return rankBits(any, first, equal);
}

/** What it takes to ask for a list. */
const GRAM_WORK = 100;

/** Numbers of the names that are equal, that begin with the term, and of all others. */
function rankBits(any: Uint32Array, first: Uint32Array, equal: Uint32Array): Uint32Array<ArrayBuffer> {
  const ranked = new Uint32Array(countBits(any));
  let place = 0;
  for (const [these, butNot] of [
    [equal, undefined],
    [first, equal],
    [any, first],
  ] as const) {
    for (let at = 0; at < any.length; at++) {
      for (let word = these[at]! & ~(butNot?.[at] ?? 0); word !== 0; word &= word - 1) {
        ranked[place++] = at * 32 + 31 - Math.clz32(word & -word);
      }
    }
  }
  return ranked;
}

/** One gram of a term: where it stands in it, and the names it is in. */
interface TermGram {
  readonly offset: number;
  /** It stands in the term more than once, so it must do so in a name. */
  repeats: boolean;
  readonly list: Uint32Array;
}

/** To look at a name takes about as long as to pass over so many entries. */
const LOOK_WORK = 200;

/**
 * Candidates are numbers of names * 64 + where the term must begin * 2 + 1 if
 * the lists leave it open whether it is there. ELSEWHERE is any place.
 */
function* findLong(index: NameIndex, term: string): Work<Uint32Array<ArrayBuffer>> {
  if (!mayHold(index.grams, term)) return new Uint32Array(0);
  const grams = gramsOfTerm(index.grams, term);
  const [rarest, ...others] = grams;
  if (rarest === undefined) return new Uint32Array(0);
  let candidates = candidatesOf(rarest);
  let isOpen = false;
  for (const gram of others) {
    yield;
    if (gram.list.length > candidates.length * LOOK_WORK) {
      isOpen = true;
      break;
    }
    candidates = narrow(candidates, gram);
  }
  return yield* lookAndRank(index, term, candidates, isOpen);
}

/** The different grams of a term, the rarest first; none when no name holds one of them. */
function gramsOfTerm(index: GramIndex, term: string): TermGram[] {
  const grams = new Map<string, TermGram>();
  for (let offset = 0; offset + GRAM <= term.length; offset++) {
    const gram = term.slice(offset, offset + GRAM);
    const known = grams.get(gram);
    if (known !== undefined) {
      known.repeats = true;
      continue;
    }
    const list = listOfGram(index, gram);
    if (list.length === 0) return [];
    grams.set(gram, { offset, repeats: false, list });
  }
  return [...grams.values()].sort((a, b) => a.list.length - b.list.length);
}

/** Where the term must begin if a gram of it stands at a place; below 0 it cannot be there. */
function beginningOf(entry: number, { offset, repeats }: TermGram): number {
  const place = placeOf(entry);
  if (place >= REPEATED_FIRST) return ELSEWHERE;
  return repeats ? -1 : place - offset;
}

function candidatesOf(gram: TermGram): Uint32Array {
  const { list } = gram;
  const candidates = new Uint32Array(list.length);
  let count = 0;
  for (const entry of list) {
    const beginning = beginningOf(entry, gram);
    if (beginning < 0) continue;
    candidates[count++] =
      ((entry >>> PLACE_BITS) << PLACE_BITS) + beginning * 2 + (beginning === ELSEWHERE ? 1 : 0);
  }
  return candidates.subarray(0, count);
}

/**
 * The first place from `at` on whose entry is not of a name before `number`:
 * in steps that double, then by halves, since what is looked for may be the
 * next entry as well as one a thousand further on.
 */
function seek(list: Uint32Array, at: number, number: number): number {
  const least = number << PLACE_BITS;
  if (at >= list.length || list[at]! >= least >>> 0) return at;
  let before = at;
  let step = 1;
  while (before + step < list.length && list[before + step]! < least >>> 0) {
    before += step;
    step *= 2;
  }
  let found = Math.min(before + step, list.length);
  while (found - before > 1) {
    const middle = (before + found) >>> 1;
    if (list[middle]! < least >>> 0) before = middle;
    else found = middle;
  }
  return found;
}

/** The candidates that hold another gram too, at the right place. In place. */
function narrow(candidates: Uint32Array, gram: TermGram): Uint32Array {
  const { list } = gram;
  let count = 0;
  let at = 0;
  for (const candidate of candidates) {
    const number = candidate >>> PLACE_BITS;
    at = seek(list, at, number);
    if (at === list.length) break;
    if (list[at]! >>> PLACE_BITS !== number) continue;
    const known = placeOf(candidate);
    const beginning = beginningOf(list[at]!, gram);
    if (beginning === known && known !== ELSEWHERE) candidates[count++] = candidate;
    else if (beginning === ELSEWHERE) candidates[count++] = candidate | 1;
    else if (known === ELSEWHERE && beginning >= 0) {
      candidates[count++] = ((candidate >>> PLACE_BITS) << PLACE_BITS) + beginning * 2 + 1;
    }
  }
  return candidates.subarray(0, count);
}

/** Looks at the names for which the lists leave it open, and ranks those that contain the term. */
function* lookAndRank(
  { text, starts }: NameIndex,
  term: string,
  candidates: Uint32Array,
  isOpen: boolean,
): Work<Uint32Array<ArrayBuffer>> {
  const ranks = new Ranks(candidates.length);
  let work = 0;
  for (const candidate of candidates) {
    const number = candidate >>> PLACE_BITS;
    let beginning = placeOf(candidate);
    if (isOpen || candidate & 1) {
      const name = text.slice(starts[number]!, starts[number + 1]!);
      if (beginning === ELSEWHERE) beginning = name.indexOf(term);
      else if (!name.startsWith(term, beginning)) beginning = -1;
      work += STEP / 256 + name.length;
    }
    if (beginning > 0) ranks.rest(number);
    else if (beginning === 0) {
      if (starts[number + 1]! - starts[number]! === term.length) ranks.equal(number);
      else ranks.first(number);
    }
    if (++work > STEP) {
      work = 0;
      yield;
    }
  }
  return ranks.finish();
}
