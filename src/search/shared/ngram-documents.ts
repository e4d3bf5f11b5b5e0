/**
 * Runs of one to three units with the documents that contain them: as bits
 * those that stand in a good part of all documents, as lists most others.
 *
 * These are the queries that would cost most: "a" is in a hundred thousand
 * words and most descriptions, three letters are in a hundred words that lie
 * anywhere in memory. So their answers are made while indexing.
 */

import { sharedCopy, sharedFloat64, sharedUint32, Uint32Column } from "../../store/bytes.ts";
import { shortRuns } from "../index/frequent.ts";
import { bitWords, countBits, EntrySorter } from "./bits.ts";
import { addToBits, type DocumentSet, LIST_WORK, type Postings } from "./document-set.ts";
import { GRAM, type Grams, textAt } from "./trigrams.ts";

/** Runs whose documents are kept, in shared memory. */
export interface Runs {
  readonly many: DenseRuns;
  readonly few: ListedRuns;
}

/** Runs of very many documents. */
interface DenseRuns {
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

/** Runs of fewer documents. */
interface ListedRuns {
  readonly keys: Float64Array;
  /** The documents of run r are `entries[starts[r]]` to `entries[starts[r + 1] - 1]`; see {@link DocumentSet}. */
  readonly starts: Uint32Array;
  readonly entries: Uint32Array;
}

/** A run is dense when to unite its words' documents would take at least this share of the work of looking at every document. */
const DENSE = 1 / 8;
/** Not worth it below so much work: a microsecond or two. */
const LEAST = 256;

/** Stands in a key for a unit that a run does not have; as a unit a pad could be half of a pair. */
const NO_UNIT = 65_536;

/** A run in one number. */
function keyOf(run: string): number {
  const first = run.charCodeAt(0);
  const second = run.length > 1 ? run.charCodeAt(1) : NO_UNIT;
  const third = run.length > 2 ? run.charCodeAt(2) : NO_UNIT;
  return (first * (NO_UNIT + 1) + second) * (NO_UNIT + 1) + third;
}

/** A run and the places of all grams that begin with it. */
interface Run {
  readonly key: number;
  readonly from: number;
  readonly to: number;
}

/** All runs of one to three units. */
function* allRuns(grams: Grams): Generator<Run> {
  for (let units = 1; units <= GRAM; units++) {
    for (const { run, from, to } of shortRuns(grams, units)) yield { key: keyOf(run), from, to };
  }
}

/**
 * Collects the documents of all runs that are worth it.
 *
 * @param grams of the words whose documents are given
 * @param entriesBefore by number of a place: how many entries the words of all places before it have
 */
export function indexRuns(grams: Grams, postings: Postings, entriesBefore: Float64Array): Runs {
  const { documents } = postings;
  const dense: Run[] = [];
  const listed: Run[] = [];
  for (const run of allRuns(grams)) {
    const work = entriesBefore[run.to]! - entriesBefore[run.from]! + LIST_WORK * (run.to - run.from);
    if (work >= Math.max(documents * DENSE, LEAST)) dense.push(run);
    // The documents of one word are a list already.
    else if (work >= LEAST && run.to - run.from > 1) listed.push(run);
  }
  return { many: gatherRuns(dense, grams, postings), few: listRuns(listed, grams, postings) };
}

function keysOf(runs: Run[]): Float64Array {
  runs.sort((a, b) => a.key - b.key);
  const keys = sharedFloat64(runs.length);
  for (const [at, { key }] of runs.entries()) keys[at] = key;
  return keys;
}

function gatherRuns(runs: Run[], grams: Grams, { documents, starts, postings }: Postings): DenseRuns {
  const keys = keysOf(runs);
  const words = bitWords(documents);
  const any = sharedUint32(runs.length * words);
  const inName = sharedUint32(any.length);
  const sizes = sharedUint32(runs.length);
  const named = sharedUint32(runs.length);
  /** By word: the run it was last taken for, plus one. */
  const latest = new Uint32Array(grams.texts.count);
  for (const [run, { from, to }] of runs.entries()) {
    const anyOfRun = any.subarray(run * words, (run + 1) * words);
    const inNameOfRun = inName.subarray(run * words, (run + 1) * words);
    for (let at = from; at < to; at++) {
      const word = textAt(grams, grams.places[at]!);
      if (latest[word] === run + 1) continue;
      latest[word] = run + 1;
      addToBits(postings, starts[word]!, starts[word + 1]!, anyOfRun, inNameOfRun);
    }
    sizes[run] = countBits(anyOfRun);
    named[run] = countBits(inNameOfRun);
  }
  return { keys, sizes, named, words, any, inName };
}

function listRuns(runs: Run[], grams: Grams, { documents, starts, postings }: Postings): ListedRuns {
  const keys = keysOf(runs);
  const sorter = new EntrySorter(documents);
  const target = new Uint32Array(documents);
  const column = new Uint32Column();
  const startsOfRuns = sharedUint32(runs.length + 1);
  for (const [run, { from, to }] of runs.entries()) {
    for (let at = from; at < to; at++) {
      const word = textAt(grams, grams.places[at]!);
      sorter.add(postings, starts[word]!, starts[word + 1]!);
    }
    const size = sorter.drain(target);
    for (let at = 0; at < size; at++) column.push(target[at]!);
    startsOfRuns[run + 1] = column.length;
  }
  return { keys, starts: startsOfRuns, entries: sharedCopy(column) };
}

/** The place of a key, or -1. */
function placeOfKey(keys: Float64Array, key: number): number {
  let low = 0;
  let high = keys.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (keys[middle]! < key) low = middle + 1;
    else high = middle;
  }
  return keys[low] === key ? low : -1;
}

/** The documents that contain a run, if they are kept. @param run one to three units */
export function findRun({ many, few }: Runs, run: string): DocumentSet | undefined {
  const key = keyOf(run);
  const listed = placeOfKey(few.keys, key);
  if (listed >= 0) {
    return { kind: "list", entries: few.entries.subarray(few.starts[listed]!, few.starts[listed + 1]!) };
  }
  const dense = placeOfKey(many.keys, key);
  if (dense < 0) return undefined;
  const [from, to] = [dense * many.words, (dense + 1) * many.words];
  return {
    kind: "bits",
    any: many.any.subarray(from, to),
    inName: many.inName.subarray(from, to),
    size: many.sizes[dense]!,
    named: many.named[dense]!,
  };
}
