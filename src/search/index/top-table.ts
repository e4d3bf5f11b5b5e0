/**
 * Builds the top-k table: searches for every frequent n-gram, and keeps the
 * first page and the total. Where an n-gram is always followed by the same code
 * unit, the longer one has the same results and shares them.
 */

import { sharedCopy, sharedUint32, Uint32Column } from "../../store/bytes.ts";
import type { PageOf, Rows } from "../../store/generation.ts";
import { TextsBuilder, textAt } from "../shared/texts.ts";
import { hashOfNgram, TABLE_PAGE, type TopTable } from "../shared/top-table.ts";
import type { TrigramIndex } from "../shared/trigrams.ts";
import { type Frequency, type FrequentNgram, frequentNgrams } from "./frequent.ts";

/** What an n-gram was found in: a total, and a page. */
export interface KnownPage {
  readonly total: number;
  page(page: PageOf): Rows;
}

/** Takes n-grams one by one, each but once, and makes a table of them. */
export class TopTableBuilder {
  readonly #ngrams = new TextsBuilder();
  readonly #hashes = new Uint32Column();
  readonly #totals = new Uint32Column();
  readonly #starts = new Uint32Column();
  readonly #best = new Uint32Column();

  /** Adds an n-gram with the first page of its results. @returns its number */
  add(ngram: string, results: KnownPage): number {
    const start = this.#best.length;
    const best = results.page(TABLE_PAGE);
    for (let at = 0; at < best.length; at++) this.#best.push(best[at]!);
    return this.#add(ngram, results.total, start);
  }

  /** Adds an n-gram with the same results as another, in the same order. @returns its number */
  addSame(ngram: string, other: number): number {
    return this.#add(ngram, this.#totals.values[other]!, this.#starts.values[other]!);
  }

  #add(ngram: string, total: number, start: number): number {
    this.#ngrams.add(ngram);
    this.#hashes.push(hashOfNgram(ngram));
    this.#totals.push(total);
    this.#starts.push(start);
    return this.#totals.length - 1;
  }

  /** Makes the table; the builder is of no more use. */
  finish(): TopTable {
    const count = this.#hashes.length;
    let size = 2;
    while (size < count * 2) size *= 2;
    const slots = sharedUint32(size);
    for (let ngram = 0; ngram < count; ngram++) {
      let slot = this.#hashes.values[ngram]! & (size - 1);
      while (slots[slot] !== 0) slot = (slot + 1) & (size - 1);
      slots[slot] = ngram + 1;
    }
    return {
      ngrams: this.#ngrams.finish(),
      slots,
      totals: sharedCopy(this.#totals),
      starts: sharedCopy(this.#starts),
      best: sharedCopy(this.#best),
    };
  }
}

/**
 * Builds the table of frequent n-grams.
 *
 * @param hasEqual whether a name is the n-gram: that comes first, and not where the n-gram without its last code unit is asked for
 * @param find finds the results of an n-gram
 */
export function buildTopTable(
  trigrams: TrigramIndex,
  frequency: Frequency,
  hasEqual: (frequent: FrequentNgram) => boolean,
  find: (frequent: FrequentNgram) => KnownPage,
): TopTable {
  const table = new TopTableBuilder();
  for (const frequent of frequentNgrams(trigrams, frequency)) {
    const { ngram, sameAs } = frequent;
    const isSame = sameAs >= 0 && !hasEqual(frequent);
    frequent.number = isSame ? table.addSame(ngram, sameAs) : table.add(ngram, find(frequent));
  }
  return table.finish();
}

/** The same n-grams with their best results as they are now. @param find finds the results of an n-gram: as many as before */
export function findTopAgain(table: TopTable, find: (ngram: string) => KnownPage): TopTable {
  const { ngrams, starts } = table;
  const best = sharedUint32(table.best.length);
  let found = 0;
  for (let number = 0; number < ngrams.count; number++) {
    // The others share results of one that came before.
    if (starts[number] !== found) continue;
    const rows = find(textAt(ngrams, number)).page(TABLE_PAGE);
    best.set(rows, found);
    found += rows.length;
  }
  return { ...table, best };
}

/** A table without an n-gram. */
export function emptyTopTable(): TopTable {
  return new TopTableBuilder().finish();
}
