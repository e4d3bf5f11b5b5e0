/**
 * Runs of one to three units that stand in a good part of all documents, each
 * with its documents as bits.
 *
 * These are the queries that would cost most: "a" is in a hundred thousand
 * words and most descriptions. There are a thousand or two of them, so their
 * answers are made while indexing.
 */

import { bitWords, type DocumentSet, type Postings } from "./documents.ts";
import { GRAM, type GramsOfTexts, PAD } from "./grams.ts";

/** Runs whose documents are kept. */
export interface DenseRuns {
  /** By run: number of its set. */
  readonly numbers: ReadonlyMap<string, number>;
  /** Words of a set; set n begins at `n * size`. */
  readonly size: number;
  readonly any: Uint32Array;
  readonly inName: Uint32Array;
}

/** A run is dense when to unite its words' documents would take at least this share of the work of looking at every document. */
const DENSE = 1 / 8;
/** Not worth it below so much work. */
const LEAST = 64;
/** To go to a word's documents takes about as long as to pass over so many of them. */
const WORD_WORK = 8;

const NONE = 0xffff_ffff;

/** By gram and length of the run that begins it, 1 to 3: number of that run, or NONE. */
type RunsOfGrams = readonly [ones: Uint32Array, twos: Uint32Array, threes: Uint32Array];

/** Numbers all runs: the grams come sorted, so a run's grams stand together. */
function numberRuns({ order, names: grams }: GramsOfTexts): { runs: RunsOfGrams; names: string[] } {
  const runs = [1, 2, 3].map(() => new Uint32Array(order.length).fill(NONE)) as unknown as RunsOfGrams;
  const names: string[] = [];
  const latest = ["", "", ""];
  const pad = String.fromCharCode(PAD);
  for (let at = 0; at < order.length; at++) {
    for (let length = 1; length <= GRAM; length++) {
      const run = grams[at]!.slice(0, length);
      if (run.endsWith(pad)) break;
      if (run !== latest[length - 1]) {
        latest[length - 1] = run;
        names.push(run);
        runs[length - 1]![order[at]!] = names.length - 1;
      } else {
        runs[length - 1]![order[at]!] = runs[length - 1]![order[at - 1]!]!;
      }
    }
  }
  return { runs, names };
}

/** What it would take to unite the documents of each run's words. */
function workOfRuns(
  { grams, counts }: GramsOfTexts,
  runs: RunsOfGrams,
  names: number,
  starts: Uint32Array,
): Float64Array {
  const work = new Float64Array(names);
  for (let word = 0, at = 0; word < counts.length; word++) {
    const itsWork = starts[word + 1]! - starts[word]! + WORD_WORK;
    for (const end = at + counts[word]!; at < end; at++) {
      for (const byGram of runs) {
        const run = byGram[grams[at]!]!;
        if (run !== NONE) work[run]! += itsWork;
      }
    }
  }
  return work;
}

/** Collects the documents of all dense runs. */
export function indexDenseRuns(words: GramsOfTexts, { documents, starts, postings }: Postings): DenseRuns {
  const { runs, names } = numberRuns(words);
  const work = workOfRuns(words, runs, names.length, starts);
  const least = Math.max(documents * DENSE, LEAST);
  const numbers = new Map<string, number>();
  const numberOf = new Uint32Array(names.length).fill(NONE);
  for (let run = 0; run < names.length; run++) {
    if (work[run]! < least) continue;
    numberOf[run] = numbers.size;
    numbers.set(names[run]!, numbers.size);
  }

  const size = bitWords(documents);
  const any = new Uint32Array(numbers.size * size);
  const inName = new Uint32Array(any.length);
  const lastWord = new Uint32Array(numbers.size);
  const { grams, counts } = words;
  for (let word = 0, at = 0; word < counts.length; word++) {
    for (const end = at + counts[word]!; at < end; at++) {
      for (const byGram of runs) {
        const run = byGram[grams[at]!]!;
        const number = run === NONE ? NONE : numberOf[run]!;
        if (number === NONE || lastWord[number] === word + 1) continue;
        lastWord[number] = word + 1;
        const base = number * size;
        for (let posting = starts[word]!; posting < starts[word + 1]!; posting++) {
          const entry = postings[posting]!;
          const bit = 1 << (entry >>> 1);
          any[base + (entry >>> 6)]! |= bit;
          if (entry & 1) inName[base + (entry >>> 6)]! |= bit;
        }
      }
    }
  }
  return { numbers, size, any, inName };
}

/** The documents that contain a run, if it is a dense one. */
export function findDense({ numbers, size, any, inName }: DenseRuns, run: string): DocumentSet | undefined {
  const number = numbers.get(run);
  if (number === undefined) return undefined;
  const [from, to] = [number * size, (number + 1) * size];
  return { kind: "bits", any: any.subarray(from, to), inName: inName.subarray(from, to) };
}
