/**
 * Builds the top-k table of names, from the longest n-grams to the shortest.
 *
 * The postings of an n-gram are those of its extensions by a code unit, and some more. So its k smallest names are among
 * those of its frequent extensions and the names of the postings that belong to none of these: each posting is read once
 * for the longest frequent n-gram that holds it, and not once for every length.
 */

import { Uint32Column } from "../../store/bytes.ts";
import { bitWords } from "../shared/bitset.ts";
import { isRepeated } from "../shared/posting.ts";
import { lengthOf } from "../shared/texts.ts";
import { TABLE_K, type TopTable } from "../shared/top-table.ts";
import { GRAM, isBeginning, positionOf, rangeOf, type TrigramIndex, textOf } from "../shared/trigrams.ts";
import { type Frequency, frequentNgrams } from "./frequent.ts";
import { SmallestNumbers } from "./smallest-numbers.ts";
import { TopTableBuilder } from "./top-table.ts";

/** The n-grams of one length: their ranges of postings, ascending. */
interface Level {
  readonly froms: Uint32Column;
  readonly ends: Uint32Column;
}

/** What is known of the n-grams of a level, by number within it. */
interface Ranked {
  readonly level: Level;
  /** The smallest names that begin with each n-gram, and those that hold it behind their beginning; see {@link Lists}. */
  readonly first: Lists;
  readonly later: Lists;
  /** Number in the table; its lowest bit is whether a name is the n-gram. */
  readonly numbers: Uint32Column;
}

/** List l is `values[starts[l]]` to `values[starts[l + 1] - 1]`. */
class Lists {
  readonly starts = new Uint32Column();
  readonly values = new Uint32Column();

  constructor() {
    this.starts.push(0);
  }

  push({ values, count }: SmallestNumbers): void {
    for (let at = 0; at < count; at++) this.values.push(values[at]!);
    this.starts.push(this.values.length);
  }

  /** Adds the numbers of a list to others. */
  addTo(target: SmallestNumbers, list: number): void {
    const end = this.starts.values[list + 1]!;
    for (let at = this.starts.values[list]!; at < end; at++) {
      if (this.values.values[at]! >= target.limit) return;
      target.add(this.values.values[at]!);
    }
  }
}

/** Builds the table of the frequent n-grams of names. */
export function buildNamesTable(trigrams: TrigramIndex, frequency: Frequency): TopTable {
  const levels: Level[] = [];
  for (const { ngram, postings } of frequentNgrams(trigrams, frequency)) {
    const [from, end] = rangeOf(trigrams, postings);
    levels[ngram.length] ??= { froms: new Uint32Column(), ends: new Uint32Column() };
    const level = levels[ngram.length]!;
    level.froms.push(from);
    level.ends.push(end);
  }
  const table = new NamesTable(trigrams);
  let longer: Ranked | undefined;
  for (let units = levels.length - 1; units > 0; units--) {
    const level = levels[units];
    longer = level === undefined ? undefined : table.addLevel(units, level, longer);
  }
  return table.finish();
}

/** Adds n-grams to a table, level by level, the longest first. */
class NamesTable {
  readonly #trigrams: TrigramIndex;
  readonly #table = new TopTableBuilder();
  /** Indexes of the postings whose names hold their trigram once more. */
  readonly #repeated: Uint32Array;
  /** Bits of names that were seen in some postings; none between two n-grams. A bitset stays in the processor's cache. */
  readonly #seen: Uint32Array;
  readonly #first = new SmallestNumbers(TABLE_K);
  readonly #later = new SmallestNumbers(TABLE_K);
  /** Names that are the n-gram. */
  #equal: number[] = [];

  constructor(trigrams: TrigramIndex) {
    this.#trigrams = trigrams;
    this.#seen = new Uint32Array(bitWords(trigrams.texts.count));
    this.#repeated = repeatedPostings(trigrams.postings);
  }

  finish(): TopTable {
    return this.#table.finish();
  }

  /** Adds the n-grams of so many code units. @param longer those of one more, if there are any */
  addLevel(units: number, level: Level, longer: Ranked | undefined): Ranked {
    const ranked: Ranked = { level, first: new Lists(), later: new Lists(), numbers: new Uint32Column() };
    let child = 0;
    const children = longer === undefined ? 0 : longer.level.froms.length;
    for (let ngram = 0; ngram < level.froms.length; ngram++) {
      const from = level.froms.values[ngram]!;
      const end = level.ends.values[ngram]!;
      this.#begin();
      while (child < children && longer!.level.froms.values[child]! < from) child++;
      let at = from;
      let same = -1;
      for (; child < children && longer!.level.froms.values[child]! < end; child++) {
        this.#addPostings(units, at, longer!.level.froms.values[child]!);
        longer!.first.addTo(this.#first, child);
        longer!.later.addTo(this.#later, child);
        at = longer!.level.ends.values[child]!;
        if (at - longer!.level.froms.values[child]! === end - from) same = longer!.numbers.values[child]!;
      }
      this.#addPostings(units, at, end);
      ranked.first.push(this.#first);
      ranked.later.push(this.#later);
      ranked.numbers.push(this.#addToTable(units, from, end, same));
    }
    return ranked;
  }

  #begin(): void {
    this.#first.clear();
    this.#later.clear();
    this.#equal = [];
  }

  /** Adds the names of a range of postings, of an n-gram of so many code units. */
  #addPostings(units: number, from: number, end: number): void {
    const trigrams = this.#trigrams;
    for (let at = from; at < end; at++) {
      const posting = trigrams.postings[at]!;
      const name = textOf(trigrams, posting);
      if (isBeginning(trigrams, posting)) {
        if (name < this.#first.limit) this.#first.add(name);
        if (lengthOf(trigrams.texts, name) === units) this.#equal.push(name);
      } else if (name < this.#later.limit) this.#later.add(name);
    }
  }

  /** Adds what was gathered. @param same the extension that all postings are of, as in {@link Ranked}, or -1 */
  #addToTable(units: number, from: number, end: number, same: number): number {
    const ngram = this.#textAt(from, units);
    // A name that is the extension comes first in that alone.
    if (same >= 0 && (same & 1) === 0) return this.#table.addSame(ngram, same >>> 1) * 2;
    const total = this.#countNames(units, from, end);
    const hasEqual = this.#equal.length > 0;
    const page = this.#topNames(from, end, Math.min(TABLE_K, total));
    const number = this.#table.add(ngram, { total, page: () => page });
    return number * 2 + (hasEqual ? 1 : 0);
  }

  #textAt(at: number, units: number): string {
    const { texts, postings } = this.#trigrams;
    const position = positionOf(this.#trigrams, postings[at]!);
    let text = "";
    for (let unit = 0; unit < units; unit++) text += String.fromCharCode(texts.units[position + unit]!);
    return text;
  }

  /** How many names a range of postings is of. */
  #countNames(units: number, from: number, end: number): number {
    const trigrams = this.#trigrams;
    const { postings } = trigrams;
    const seen = this.#seen;
    let again = 0;
    if (units < GRAM) {
      // Of a shorter n-gram the trigrams do not tell which names hold it twice.
      for (let at = from; at < end; at++) again += see(seen, textOf(trigrams, postings[at]!));
      for (let at = from; at < end; at++) seen[textOf(trigrams, postings[at]!) >>> 5] = 0;
    } else {
      const repeated = this.#repeated;
      const first = indexOf(repeated, from);
      for (let at = first; at < repeated.length && repeated[at]! < end; at++)
        again += see(seen, textOf(trigrams, postings[repeated[at]!]!));
      for (let at = first; at < repeated.length && repeated[at]! < end; at++)
        seen[textOf(trigrams, postings[repeated[at]!]!) >>> 5] = 0;
    }
    return end - from - again;
  }

  /** The top-k of what was gathered: names that are the n-gram, that begin with it, the rest. */
  #topNames(from: number, end: number, k: number): number[] {
    const equal = this.#equal;
    if (equal.length > 1) equal.sort((a, b) => a - b);
    const top = equal.slice(0, k);
    const first = this.#first;
    const equals = top.length;
    for (let at = 0, skipped = 0; at < first.count && top.length < k; at++) {
      // Both are ascending.
      while (skipped < equals && top[skipped]! < first.values[at]!) skipped++;
      if (skipped === equals || top[skipped] !== first.values[at]) top.push(first.values[at]!);
    }
    if (top.length === k) return top;
    const known = top.length;
    this.#pushLater(top, k);
    if (top.length < k) {
      // Too many of the smallest begin with the n-gram as well.
      top.length = known;
      this.#gatherLater(from, end, k);
      this.#pushLater(top, k);
    }
    return top;
  }

  /** Adds names that do not begin with the n-gram. Where they are needed all those that do are known, so no name is read. */
  #pushLater(top: number[], k: number): void {
    const first = this.#first;
    const later = this.#later;
    for (let at = 0, skipped = 0; at < later.count && top.length < k; at++) {
      const name = later.values[at]!;
      while (skipped < first.count && first.values[skipped]! < name) skipped++;
      if (skipped === first.count || first.values[skipped] !== name) top.push(name);
    }
  }

  /** Gathers those names of a range of postings that begin with none of these. */
  #gatherLater(from: number, end: number, k: number): void {
    const trigrams = this.#trigrams;
    const { postings } = trigrams;
    const seen = this.#seen;
    for (let at = from; at < end; at++) {
      if (isBeginning(trigrams, postings[at]!)) see(seen, textOf(trigrams, postings[at]!));
    }
    const later = new SmallestNumbers(k);
    for (let at = from; at < end; at++) {
      const name = textOf(trigrams, postings[at]!);
      if (name < later.limit && (seen[name >>> 5]! & (1 << name)) === 0) later.add(name);
    }
    for (let at = from; at < end; at++) seen[textOf(trigrams, postings[at]!) >>> 5] = 0;
    this.#later.take(later);
  }
}

/** Sets the bit of a name. @returns 1 if it was set already, else 0 */
function see(seen: Uint32Array, name: number): number {
  const word = seen[name >>> 5]!;
  seen[name >>> 5] = word | (1 << name);
  return (word >>> name) & 1;
}

/** Indexes of the postings whose texts hold their trigram once more. */
function repeatedPostings(postings: Uint32Array): Uint32Array {
  let count = 0;
  for (let at = 0; at < postings.length; at++) if (isRepeated(postings[at]!)) count++;
  const repeated = new Uint32Array(count);
  for (let at = 0, to = 0; at < postings.length; at++) if (isRepeated(postings[at]!)) repeated[to++] = at;
  return repeated;
}

/** The index of the first number that is not below another, by halving. */
function indexOf(numbers: Uint32Array, least: number): number {
  let from = 0;
  let to = numbers.length;
  while (from < to) {
    const middle = (from + to) >>> 1;
    if (numbers[middle]! < least) from = middle + 1;
    else to = middle;
  }
  return from;
}
