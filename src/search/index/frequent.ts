/**
 * Runs of units that stand at many places: for these it pays to know the
 * answer beforehand.
 *
 * Runs of a unit come first, then those of two, and so on. One is made of
 * another by a look at what follows: where lists are in order of that, what is
 * followed by the same stands side by side.
 */

import { PAD, PAD_TEXT } from "../shared/texts.ts";
import { GRAM, type Grams, rangeOf, TWO_GRAMS, unitAt } from "../shared/trigrams.ts";

/** A run of up to three units, and the part of all places where it stands: the lists of all grams that begin with it. */
export interface ShortRun {
  readonly run: string;
  readonly from: number;
  readonly to: number;
}

/** All runs of so many units, up to three. Grams are in order of their units, so those that begin with a run stand side by side. */
export function* shortRuns({ pairs, thirds, starts }: Grams, units: number): Generator<ShortRun> {
  for (let gram = 0, next = 0; gram < pairs.length; gram = next) {
    const first = pairs[gram]! >>> 16;
    const second = pairs[gram]! & 0xffff;
    const third = thirds[gram]!;
    for (next = gram + 1; next < pairs.length; next++) {
      if (pairs[next]! >>> 16 !== first) break;
      if (units > 1 && (pairs[next]! & 0xffff) !== second) break;
      if (units > 2 && thirds[next] !== third) break;
    }
    const run = String.fromCharCode(first, second, third).slice(0, units);
    // What ends with a pad is a shorter run. What ends with the half of a pair that looks like one is left out, too.
    if (!run.includes(PAD_TEXT)) yield { run, from: starts[gram]!, to: starts[next]! };
  }
}

/** A run and the places where it stands. */
export interface FrequentRun {
  readonly run: string;
  /** A part of all places. */
  readonly places: Uint32Array;
  /** The number of the run without its last unit, when nothing but that unit follows anywhere; else -1. */
  readonly sameAs: number;
  /** Whoever takes the run may number it, for the sake of those that follow. */
  number: number;
}

/** What makes a run frequent. */
export interface Frequency {
  /** What the places of a run weigh at least. */
  readonly least: number;
  /** What places weigh; a part of them weighs no more. */
  readonly weigh: (places: Uint32Array) => number;
  /** Where it ends, within the runs of a length: in a script of many signs very many may be frequent. */
  readonly mostRuns: number;
}

/**
 * Yields the runs that stand at many places, the shortest first, until there
 * are too many, or until they are as long as lists are in order.
 */
export function* frequentRuns(grams: Grams, frequency: Frequency): Generator<FrequentRun> {
  const { least, weigh, mostRuns } = frequency;
  let runs = 0;
  let level: FrequentRun[] = [];
  for (let units = 1; units <= grams.depth; units++) {
    const longer: FrequentRun[] = [];
    for (const one of units <= GRAM ? shortFrequent(grams, units) : prolongAll(grams, level, frequency)) {
      if (weigh(one.places) < least) continue;
      if (canBeAsked(one.run)) {
        if (++runs > mostRuns) return;
        yield one;
      }
      longer.push(one);
    }
    level = longer;
  }
}

/** No query begins or ends with white space, or within a pair. */
function canBeAsked(run: string): boolean {
  return run.isWellFormed() && run.trim() === run;
}

function* shortFrequent(grams: Grams, units: number): Generator<FrequentRun> {
  for (const { run, from, to } of shortRuns(grams, units)) {
    yield { run, places: grams.places.subarray(from, to), sameAs: -1, number: -1 };
  }
}

/** Places at which the same unit follows. */
interface Followed {
  readonly unit: number;
  readonly places: Uint32Array;
}

/** Runs of a unit more: those that can be frequent. */
function* prolongAll(
  grams: Grams,
  level: readonly FrequentRun[],
  frequency: Frequency,
): Generator<FrequentRun> {
  for (const { run, places: all, number } of level) {
    for (const { unit, places } of cut(grams, all, run.length, frequency)) {
      // The end of a text, or the half of a pair that looks like one.
      if (unit === PAD) continue;
      const sameAs = places.length === all.length ? number : -1;
      yield { run: run + String.fromCharCode(unit), places, sameAs, number: -1 };
    }
  }
}

/** Cuts a part of all places, in order of the unit that follows so many others, where that changes. */
function* cut(
  grams: Grams,
  all: Uint32Array,
  units: number,
  { least, weigh }: Frequency,
): Generator<Followed> {
  const [from] = rangeOf(grams, all);
  let rest = all;
  let at = from;
  while (rest.length > 0 && weigh(rest) >= least) {
    const end = endOfSame(grams, at, from + all.length, units);
    yield { unit: unitBehind(grams, at, units), places: grams.places.subarray(at, end) };
    at = end;
    rest = grams.places.subarray(at, from + all.length);
  }
}

/** Where the same unit follows no more. Mostly there are few, or all: the end is sought in steps that double, then by halves. */
function endOfSame(grams: Grams, from: number, to: number, units: number): number {
  const unit = unitBehind(grams, from, units);
  if (unitBehind(grams, to - 1, units) === unit) return to;
  let step = 1;
  while (from + step < to && unitBehind(grams, from + step, units) === unit) step *= 2;
  let last = from + (step >>> 1);
  let end = Math.min(from + step, to);
  while (end - last > 1) {
    const middle = (last + end) >>> 1;
    if (unitBehind(grams, middle, units) === unit) last = middle;
    else end = middle;
  }
  return end;
}

/** The unit that follows so many others at a place. @param at the number of the place */
function unitBehind(grams: Grams, at: number, units: number): number {
  const { pairs, thirds, followers, places, texts } = grams;
  if (units >= TWO_GRAMS) return texts.units[unitAt(grams, places[at]!) + units]!;
  // What lies side by side takes a tenth of the time of a look at texts.
  const gram = followers[at]!;
  if (units === GRAM) return pairs[gram]! >>> 16;
  return units === GRAM + 1 ? pairs[gram]! & 0xffff : thirds[gram]!;
}
