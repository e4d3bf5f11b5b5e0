/**
 * The best matches of runs that very many texts hold, found while indexing.
 *
 * Most searches ask for the first page of what such a run is in, often on the
 * way to a longer one. To know it takes one look into a table, however many
 * matches there are; to find it takes the longer the more there are.
 */

import { sharedCopy, sharedUint32, Uint32Column } from "../../store/bytes.ts";
import type { PageOf } from "../../store/generation.ts";
import { type Frequency, type FrequentRun, frequentRuns } from "../index/frequent.ts";
import { type Matches, SomeMatches } from "../query/result-set.ts";
import { lengthOf, type Texts, TextsBuilder } from "./texts.ts";
import type { Grams } from "./trigrams.ts";

/** So many of the best are kept: a first page of the usual size, and some more. */
export const TOP = 32;
/** The page of them. */
export const FIRST_TOPS: PageOf = { limit: TOP, offset: 0 };
/** Most runs, as a share of what is indexed: a run takes some 200 bytes, a place eight. */
export const MOST_TOPS = 1 / 16;

/** Runs and their best matches. All of it lies in shared memory and can be handed to other threads. */
export interface Tops {
  readonly runs: Texts;
  /** By hash of a run: its number plus one, or 0. */
  readonly slots: Uint32Array;
  /** By run: how many match. */
  readonly totals: Uint32Array;
  /** By run: where its best matches begin in `best`; there are as many as match, up to {@link TOP}. */
  readonly starts: Uint32Array;
  readonly best: Uint32Array;
}

function hashOf(run: string): number {
  let hash = run.length;
  for (let at = 0; at < run.length; at++) hash = Math.imul(hash ^ run.charCodeAt(at), 0x9e3779b1);
  return (hash ^ (hash >>> 15)) >>> 0;
}

/** Takes runs one by one, each but once. */
class TopsBuilder {
  readonly #runs = new TextsBuilder();
  readonly #hashes = new Uint32Column();
  readonly #totals = new Uint32Column();
  readonly #starts = new Uint32Column();
  readonly #best = new Uint32Column();

  /** Adds a run with the first page of what matches it. @returns its number */
  add(run: string, matches: Matches): number {
    const start = this.#best.length;
    const best = matches.page(FIRST_TOPS);
    for (let at = 0; at < best.length; at++) this.#best.push(best[at]!);
    return this.#add(run, matches.total, start);
  }

  /** Adds a run that the same matches as another, in the same order. @returns its number */
  addSame(run: string, other: number): number {
    return this.#add(run, this.#totals.values[other]!, this.#starts.values[other]!);
  }

  #add(run: string, total: number, start: number): number {
    this.#runs.add(run);
    this.#hashes.push(hashOf(run));
    this.#totals.push(total);
    this.#starts.push(start);
    return this.#totals.length - 1;
  }

  /** Makes the table; the builder is of no more use. */
  finish(): Tops {
    const count = this.#hashes.length;
    let size = 2;
    while (size < count * 2) size *= 2;
    const slots = sharedUint32(size);
    for (let run = 0; run < count; run++) {
      let slot = this.#hashes.values[run]! & (size - 1);
      while (slots[slot] !== 0) slot = (slot + 1) & (size - 1);
      slots[slot] = run + 1;
    }
    return {
      runs: this.#runs.finish(),
      slots,
      totals: sharedCopy(this.#totals),
      starts: sharedCopy(this.#starts),
      best: sharedCopy(this.#best),
    };
  }
}

/**
 * Finds the best matches of frequent runs.
 *
 * @param hasEqual whether a name is the run: that comes first, and not where the run without its last unit is asked for
 * @param find what matches a run
 */
export function findTops(
  grams: Grams,
  frequency: Frequency,
  hasEqual: (frequent: FrequentRun) => boolean,
  find: (frequent: FrequentRun) => Matches,
): Tops {
  const tops = new TopsBuilder();
  for (const frequent of frequentRuns(grams, frequency)) {
    const { run, sameAs } = frequent;
    const isSame = sameAs >= 0 && !hasEqual(frequent);
    frequent.number = isSame ? tops.addSame(run, sameAs) : tops.add(run, find(frequent));
  }
  return tops.finish();
}

/** A table without a run. */
export function noTops(): Tops {
  return new TopsBuilder().finish();
}

/** The number of a run, or -1. */
function numberOf({ runs, slots }: Tops, run: string): number {
  const mask = slots.length - 1;
  for (let slot = hashOf(run) & mask; slots[slot] !== 0; slot = (slot + 1) & mask) {
    const number = slots[slot]! - 1;
    const start = runs.starts[number]!;
    if (lengthOf(runs, number) !== run.length) continue;
    let at = 0;
    while (at < run.length && runs.units[start + at] === run.charCodeAt(at)) at++;
    if (at === run.length) return number;
  }
  return -1;
}

/** The matches of a run, if a page of them is known beforehand. */
export function findTop(tops: Tops, run: string, { limit, offset }: PageOf): Matches | undefined {
  const number = numberOf(tops, run);
  if (number < 0) return undefined;
  const total = tops.totals[number]!;
  const kept = Math.min(total, TOP);
  if (kept < total && offset + limit > kept) return undefined;
  const start = tops.starts[number]!;
  return new SomeMatches({ total, rows: tops.best.subarray(start, start + kept) }, 0);
}
