/** Finds the documents whose texts contain terms, or begin with one. */

import { BEGIN, type Grams, isDense, longerGram, MOST_UNITS, ROOT } from "./grams.ts";
import {
  DOCUMENTS_AT_ONCE,
  type DocumentSet,
  documentsOf,
  intersect,
  listDocuments,
  NO_DOCUMENTS,
} from "./sets.ts";
import type { Texts } from "./texts.ts";
import type { Work } from "./work.ts";

export interface IndexedTexts {
  readonly texts: Texts;
  readonly grams: Grams;
}

/** Grams that every text with a term contains, the rarest first. `isExact` if every text with the first contains the term. */
interface Located {
  readonly grams: readonly number[];
  readonly isExact: boolean;
}

/** The longest gram at a place of a term; undefined if no text contains its units. @param start see {@link locate} */
function longestGram(index: Grams, term: string, from: number, start: number) {
  const { counts, few } = index;
  let gram = start;
  let end = from;
  for (let length = start === BEGIN ? 1 : 0; end < term.length && length < MOST_UNITS; end++, length++) {
    const next = longerGram(index, gram, term.charCodeAt(end));
    if (next === ROOT) {
      // A common gram is continued by every unit that follows it in a text.
      const isCommon = gram === start || counts[gram]! > few;
      return isCommon ? undefined : { gram, end };
    }
    gram = next;
  }
  return { gram, end };
}

/** Finds the grams of a term; undefined if no text contains it. @param start {@link BEGIN}, or {@link ROOT} for a term anywhere */
function locate(index: Grams, term: string, start: typeof BEGIN | typeof ROOT): Located | undefined {
  const { counts, few } = index;
  const found: number[] = [];
  for (let from = 0, before = 0; from < term.length; from++) {
    const longest = longestGram(index, term, from, start);
    if (longest === undefined) return undefined;
    const { gram, end } = longest;
    if (from === 0 && (end === term.length || start === BEGIN))
      return { grams: [gram], isExact: end === term.length };
    // A gram that ends where the one before ends is a part of that one.
    if (end > before) found.push(gram);
    before = end;
  }
  const rare = found.filter((gram) => counts[gram]! <= few);
  // Without a rare one, each place has a gram of the most units: those that overlap tell little more.
  const some = rare.length > 0 ? rare : found.filter((_, at) => at % MOST_UNITS === 0);
  return { grams: some.sort((a, b) => counts[a]! - counts[b]!), isExact: false };
}

/** The documents whose texts contain every term. @param within holds all of them, and maybe others; undefined if unknown */
export function* findAll(
  { texts, grams: index }: IndexedTexts,
  terms: readonly string[],
  within?: DocumentSet,
): Work<DocumentSet> {
  const { counts } = index;
  const located = terms.map((term) => locate(index, term, ROOT));
  const all = new Set<number>();
  for (const one of located) {
    if (one === undefined) return NO_DOCUMENTS;
    for (const gram of one.grams) all.add(gram);
  }
  const grams = [...all].sort((a, b) => counts[a]! - counts[b]!);
  const used = new Set<number>();
  let set = within;
  if (set === undefined || counts[grams[0]!]! <= set.count) {
    const first = grams.shift()!;
    set = yield* documentsOf(index, first);
    used.add(first);
  }
  for (const gram of grams) {
    if (set.count === 0) return set;
    const listed = isDense(counts[gram]!, index.documents) ? 0 : counts[gram]!;
    // Beside a long list, the texts are read sooner.
    if (listed > set.count * LIST_WORTH) break;
    set = yield* intersect(set, yield* documentsOf(index, gram));
    used.add(gram);
    yield;
  }
  const unsure = terms.filter((_, at) => !located[at]!.isExact || !used.has(located[at]!.grams[0]!));
  if (unsure.length === 0) return set;
  return yield* keepWithTerms(texts, yield* narrow(set, within), unsure);
}

/** The documents of a set that are in another one too, which saves reading their texts. */
function* narrow(set: DocumentSet, within: DocumentSet | undefined): Work<DocumentSet> {
  return within === undefined || set === within ? set : yield* intersect(set, within);
}

/** Documents of a list that are read in the time of looking into a text. */
const LIST_WORTH = 64;

/** The documents whose texts begin with a term. @param within holds all of them, and maybe others */
export function* findBeginning(
  { texts, grams }: IndexedTexts,
  term: string,
  within: DocumentSet,
): Work<DocumentSet> {
  const located = locate(grams, term, BEGIN);
  if (located === undefined) return NO_DOCUMENTS;
  const [gram] = located.grams;
  if (located.isExact) return yield* documentsOf(grams, gram!);
  const isShort = within.count < grams.counts[gram!]!;
  const set = isShort ? within : yield* narrow(yield* documentsOf(grams, gram!), within);
  return yield* keepWithBeginning(texts, set, term);
}

export function* keepWithLength(texts: Texts, set: DocumentSet, length: number): Work<DocumentSet> {
  const { starts, ends } = texts;
  const list = yield* listDocuments(set);
  const kept: number[] = [];
  for (let at = 0; at < list.length; ) {
    const stop = Math.min(at + DOCUMENTS_AT_ONCE, list.length);
    for (; at < stop; at++) {
      const document = list[at]!;
      if (ends[document]! - starts[document]! === length) kept.push(document);
    }
    if (at < list.length) yield;
  }
  return kept.length === 0 ? NO_DOCUMENTS : { count: kept.length, list: Uint32Array.from(kept) };
}

/** Code units that are read between two pauses, and those of a single part of a long text. */
const UNITS_AT_ONCE = 2 ** 17;
const PART_UNITS = 2 ** 14;
/** Looking up a text takes as long as reading so many of its units. */
const LOOK_UP = 64;

function* keepWithTerms(texts: Texts, set: DocumentSet, terms: readonly string[]): Work<DocumentSet> {
  const { units, starts, ends } = texts;
  const finders = terms.map((term) => new TermFinder(term));
  const list = yield* listDocuments(set);
  const kept = new Uint32Array(list.length);
  let count = 0;
  let read = 0;
  for (const document of list) {
    const end = ends[document]!;
    let isThere = true;
    for (let number = 0; isThere && number < finders.length; number++) {
      const finder = finders[number]!;
      finder.begin();
      isThere = false;
      for (let from = starts[document]!; !isThere && from < end; from += PART_UNITS) {
        const partEnd = Math.min(from + PART_UNITS, end);
        isThere = finder.isIn(units, from, partEnd);
        read += LOOK_UP + partEnd - from;
        if (read < UNITS_AT_ONCE) continue;
        read = 0;
        yield;
      }
    }
    if (isThere) kept[count++] = document;
  }
  return { count, list: kept.slice(0, count) };
}

/** Finds a term in texts that may be read in parts, by the algorithm of Knuth, Morris and Pratt: a unit is read once. */
class TermFinder {
  readonly #term: Uint16Array;
  /** By number of units that fit: the units that still fit after the next one does not. */
  readonly #borders: Uint16Array;
  #fits = 0;

  constructor(term: string) {
    this.#term = Uint16Array.from({ length: term.length }, (_, at) => term.charCodeAt(at));
    this.#borders = new Uint16Array(term.length + 1);
    for (let at = 1, fits = 0; at < term.length; at++) {
      while (fits > 0 && this.#term[fits] !== this.#term[at]) fits = this.#borders[fits]!;
      if (this.#term[fits] === this.#term[at]) fits++;
      this.#borders[at + 1] = fits;
    }
  }

  begin(): void {
    this.#fits = 0;
  }

  /** Whether the term ends in the next part of the text. */
  isIn(units: Uint16Array, from: number, end: number): boolean {
    const term = this.#term;
    const borders = this.#borders;
    const first = term[0]!;
    let fits = this.#fits;
    for (let at = from; at < end; at++) {
      const unit = units[at]!;
      if (fits === 0 && unit !== first) continue;
      while (fits > 0 && term[fits] !== unit) fits = borders[fits]!;
      if (term[fits] === unit) fits++;
      if (fits === term.length) return true;
    }
    this.#fits = fits;
    return false;
  }
}

function* keepWithBeginning(texts: Texts, set: DocumentSet, term: string): Work<DocumentSet> {
  const { units, starts, ends } = texts;
  const list = yield* listDocuments(set);
  const kept = new Uint32Array(list.length);
  let count = 0;
  let read = 0;
  for (const document of list) {
    const start = starts[document]!;
    let same = 0;
    if (ends[document]! - start >= term.length)
      while (same < term.length && units[start + same] === term.charCodeAt(same)) same++;
    if (same === term.length) kept[count++] = document;
    read += LOOK_UP + same;
    if (read < UNITS_AT_ONCE) continue;
    read = 0;
    yield;
  }
  return { count, list: kept.slice(0, count) };
}
