/**
 * Runs of one to three units that stand in a good part of all documents, each
 * with its documents as bits.
 *
 * These are the queries that would cost most: "a" is in a hundred thousand
 * words and most descriptions. There are a thousand or two of them, so their
 * answers are made while indexing.
 */

import { sharedFloat64, sharedUint32 } from "../store/bytes.ts";
import { bitWords, countBits } from "./bits.ts";
import { addToBits, type DocumentSet, LIST_WORK, type Postings } from "./documents.ts";
import { GRAM, type Grams, textAt } from "./grams.ts";
import { PAD } from "./units.ts";

/** Runs whose documents are kept, in shared memory. */
export interface DenseRuns {
  /** Keys of the runs, ascending; see {@link keyOf}. */
  readonly keys: Float64Array;
  /** By run: how many documents contain it, and how many of them in their name. */
  readonly sizes: Uint32Array;
  readonly named: Uint32Array;
  /** Words of a set; that of run r begins at `r * words`. */
  readonly words: number;
  readonly any: Uint32Array;
  readonly inName: Uint32Array;
}

/** A run is dense when to unite its words' documents would take at least this share of the work of looking at every document. */
const DENSE = 1 / 8;
/** Not worth it below so much work. */
const LEAST = 64;

/** Stands in a key for a unit that a run does not have; as a unit a pad could be half of a pair. */
const NO_UNIT = 65_536;

/** A run in one number. */
function keyOf(first: number, second: number, third: number): number {
  return (first * (NO_UNIT + 1) + second) * (NO_UNIT + 1) + third;
}

/** A run and the places of all grams that begin with it. */
interface Run {
  readonly key: number;
  readonly from: number;
  readonly to: number;
}

/** All runs. Grams are in order of their units, so those that begin with a run stand side by side. */
function* runsOf({ pairs, thirds, starts }: Grams): Generator<Run> {
  for (let units = 1; units <= GRAM; units++) {
    for (let gram = 0, next = 0; gram < pairs.length; gram = next) {
      const first = pairs[gram]! >>> 16;
      const second = units > 1 ? pairs[gram]! & 0xffff : NO_UNIT;
      const third = units > 2 ? thirds[gram]! : NO_UNIT;
      for (next = gram + 1; next < pairs.length; next++) {
        if (pairs[next]! >>> 16 !== first) break;
        if (units > 1 && (pairs[next]! & 0xffff) !== second) break;
        if (units > 2 && thirds[next] !== third) break;
      }
      // What ends with a pad is a shorter run. What ends with the half of a pair that looks like one is left out, too.
      if (second === PAD || third === PAD) continue;
      yield { key: keyOf(first, second, third), from: starts[gram]!, to: starts[next]! };
    }
  }
}

/** Collects the documents of all dense runs. @param grams of the words whose documents are given */
export function indexDenseRuns(grams: Grams, postings: Postings): DenseRuns {
  const { documents, starts } = postings;
  const { places } = grams;
  /** Work of all places before one. */
  const workBefore = new Float64Array(places.length + 1);
  for (let at = 0; at < places.length; at++) {
    const word = textAt(grams, places[at]!);
    workBefore[at + 1] = workBefore[at]! + starts[word + 1]! - starts[word]! + LIST_WORK;
  }
  const least = Math.max(documents * DENSE, LEAST);
  const dense: Run[] = [];
  for (const run of runsOf(grams)) if (workBefore[run.to]! - workBefore[run.from]! >= least) dense.push(run);
  dense.sort((a, b) => a.key - b.key);

  const words = bitWords(documents);
  const any = sharedUint32(dense.length * words);
  const inName = sharedUint32(any.length);
  const keys = sharedFloat64(dense.length);
  const sizes = sharedUint32(dense.length);
  const named = sharedUint32(dense.length);
  /** By word: the run it was last taken for, plus one. */
  const latest = new Uint32Array(grams.texts.count);
  for (const [run, { key, from, to }] of dense.entries()) {
    const anyOfRun = any.subarray(run * words, (run + 1) * words);
    const inNameOfRun = inName.subarray(run * words, (run + 1) * words);
    for (let at = from; at < to; at++) {
      const word = textAt(grams, places[at]!);
      if (latest[word] === run + 1) continue;
      latest[word] = run + 1;
      addToBits(postings.postings, starts[word]!, starts[word + 1]!, anyOfRun, inNameOfRun);
    }
    keys[run] = key;
    sizes[run] = countBits(anyOfRun);
    named[run] = countBits(inNameOfRun);
  }
  return { keys, sizes, named, words, any, inName };
}

/** The documents that contain a run, if it is a dense one. @param run one to three units */
export function findDense(
  { keys, sizes, named, words, any, inName }: DenseRuns,
  run: string,
): DocumentSet | undefined {
  const key = keyOf(
    run.charCodeAt(0),
    run.length > 1 ? run.charCodeAt(1) : NO_UNIT,
    run.length > 2 ? run.charCodeAt(2) : NO_UNIT,
  );
  let low = 0;
  let high = keys.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (keys[middle]! < key) low = middle + 1;
    else high = middle;
  }
  if (keys[low] !== key) return undefined;
  const [from, to] = [low * words, (low + 1) * words];
  return {
    kind: "bits",
    any: any.subarray(from, to),
    inName: inName.subarray(from, to),
    size: sizes[low]!,
    named: named[low]!,
  };
}
