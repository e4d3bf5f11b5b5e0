/**
 * Builds the top-k table of names, from the longest n-grams to the shortest.
 *
 * The postings of an n-gram are those of its extensions by a code unit, and some more. So its k smallest names are among
 * those of its frequent extensions and the names of the postings that belong to none of these: each posting is read once
 * for the longest frequent n-gram that holds it, and not once for every length.
 */

import { Uint32Column } from "../../store/bytes.ts";
import { lengthOf } from "../shared/texts.ts";
import { TABLE_K, type TopTable } from "../shared/top-table.ts";
import { isBeginning, positionOf, rangeOf, type TrigramIndex, textOf } from "../shared/trigrams.ts";
import { type Frequency, frequentNgrams } from "./frequent.ts";
import { PostingNames } from "./posting-names.ts";
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
  readonly #names: PostingNames;
  readonly #first = new SmallestNumbers(TABLE_K);
  readonly #later = new SmallestNumbers(TABLE_K);
  /** Names that are the n-gram. */
  #equal: number[] = [];

  constructor(trigrams: TrigramIndex) {
    this.#trigrams = trigrams;
    this.#names = new PostingNames(trigrams);
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
    const total = this.#names.count(units, from, end);
    const hasEqual = this.#equal.length > 0;
    const page = this.#topNames(Math.min(TABLE_K, total));
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

  /** The top-k of what was gathered: names that are the n-gram, that begin with it, the rest. */
  #topNames(k: number): number[] {
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
    // Of the smallest ones behind a beginning no more can be left out than there are others already.
    this.#pushLater(top, k);
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
}
