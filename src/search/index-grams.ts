/**
 * Builds an index of grams, one length after the other. At each position of each piece, the gram that begins there gets one unit
 * longer, unless it is rare. Then the documents of the pieces are grouped by these grams, and become their lists.
 * An index has two parts, by the first unit of its grams: two threads can build them at the same time.
 */

import { enlarge, sharedCopy, sharedUint32 } from "../store/bytes.ts";
import { checkLimit, MOST_GRAMS, MOST_LIST_WORDS } from "../store/limits.ts";
import type { RowLists } from "../store/lists.ts";
import { countUp } from "../store/order.ts";
import { BEGIN, type Grams, hashOf, isDense, MOST_UNITS, wordsFor } from "./grams.ts";
import { FIRST, type GramPart, joinParts } from "./join-grams.ts";
import { lowestOne } from "./sets.ts";
import { cutPieces, type Pieces, type Texts } from "./texts.ts";

/** The texts of a rare gram have at most so many code units: reading them takes about 0.1 ms. */
const MOST_READ = 2 ** 16;

/** The code units that take as long to read as it takes to find a text. */
const FIND = 64;

/** A gram in more than one of so many documents is common, however few these are. */
const RARE = 128;

function fewOf({ starts, ends }: Texts): number {
  const documents = starts.length;
  let units = 0;
  for (let document = 0; document < documents; document++) units += ends[document]! - starts[document]!;
  const read = MOST_READ / (units / Math.max(documents, 1) + FIND);
  return Math.ceil(Math.min(read, documents / RARE));
}

/** The source of an index, in shared memory. */
export interface GramPlan {
  readonly pieces: Pieces;
  readonly documents: number;
  /** See {@link Grams}. */
  readonly few: number;
  /** Whether beginnings of texts are indexed, too. */
  readonly begins: boolean;
  /** By unit: the part of the grams that begin with it, 0 or 1. */
  readonly partOf: Uint8Array;
}

/**
 * Plans an index of texts. @param few see {@link Grams}
 * @param by `"words"` cuts texts at white space, for terms without any. `"texts"` does not, and indexes beginnings, too
 */
export function planGrams(texts: Texts, by: "words" | "texts", few = fewOf(texts)): GramPlan {
  const pieces = cutPieces(texts, by === "words");
  return { pieces, documents: texts.starts.length, few, begins: by === "texts", partOf: halve(pieces) };
}

/** Halves the units, so that both parts have about as many positions. */
function halve({ units, starts, lengths }: Pieces): Uint8Array {
  const counts = new Uint32Array(2 ** 16);
  let all = 0;
  for (let piece = 0; piece < lengths.length; piece++) {
    const start = starts[piece]!;
    for (let at = start; at < start + lengths[piece]!; at++) counts[units[at]!]!++;
    all += lengths[piece]!;
  }
  let before = 0;
  return Uint8Array.from(counts, (count) => {
    before += count;
    return before * 2 <= all ? 0 : 1;
  });
}

/** Builds a part of a planned index. @throws {LimitError} when it has too many grams */
export function indexPart(plan: GramPlan, part: number): GramPart {
  const table = new GramTable();
  const open = new OpenGrams(plan, part);
  const lister = new Lister(plan.pieces.documents, plan.documents);
  for (let length = 1; length <= MOST_UNITS; length++) {
    const first = table.beginLevel();
    open.lengthen(table, length, plan.few);
    const { starts, sources } = open.group(table, first);
    for (let gram = first; gram < table.size; gram++)
      lister.list(table, gram, sources.subarray(starts[gram - first], table.cells[gram * CELL + NEXT]));
  }
  return { ...table.finish(), lists: lister.finish() };
}

/** Indexes texts. See {@link planGrams}. */
export function indexGrams(texts: Texts, by: "words" | "texts", few?: number): Grams {
  const plan = planGrams(texts, by, few);
  return joinParts(plan, [indexPart(plan, 0), indexPart(plan, 1)]);
}

/** Numbers of a cell in {@link GramTable}. */
const CELL = 4;
const PARENT = 0;
const UNIT = 1;
/** While the gram's level is built: how often it occurs, then the place of its next source. */
const OCCURRENCES = 2;
const NEXT = 2;
/** While the gram's level is built: its newest source, plus one. */
const NEWEST = 3;

class GramTable {
  /** The number of the next gram. */
  size = FIRST;
  /** By gram: {@link CELL} numbers beside each other, so that a look at a gram reads one place in memory. */
  cells = new Uint32Array(4096 * CELL);
  /** By hash: the grams of the level that is built. A small table stays in the processor's cache. */
  #slots: Uint32Array = new Uint32Array(8192);
  #first = FIRST;
  /** See {@link GramPart}. */
  counts = new Uint32Array(4096);
  places = new Uint32Array(4096);
  ends = new Uint32Array(4096);

  /** Begins the next level. @returns its first gram */
  beginLevel(): number {
    this.#slots = new Uint32Array(8192);
    this.#first = this.size;
    return this.size;
  }

  /** Counts an occurrence of the gram that continues another by a unit. @returns its number */
  note(gram: number, unit: number): number {
    const found = this.#find(gram, unit) || this.#add(gram, unit);
    this.cells[found * CELL + OCCURRENCES]!++;
    return found;
  }

  finish(): Omit<GramPart, "lists"> {
    const { size, cells } = this;
    const copy = (values: Uint32Array<ArrayBuffer>): Uint32Array => sharedCopy({ values, length: size });
    const column = (number: number): Uint32Array => {
      const values = sharedUint32(size);
      for (let gram = 0; gram < size; gram++) values[gram] = cells[gram * CELL + number]!;
      return values;
    };
    return {
      parents: column(PARENT),
      units: column(UNIT),
      counts: copy(this.counts),
      places: copy(this.places),
      ends: copy(this.ends),
    };
  }

  #find(gram: number, unit: number): number {
    const { cells } = this;
    const slots = this.#slots;
    const mask = slots.length - 1;
    for (let slot = hashOf(gram, unit) & mask; ; slot = (slot + 1) & mask) {
      const found = slots[slot]!;
      const cell = found * CELL;
      if (found === 0 || (cells[cell] === gram && cells[cell + UNIT] === unit)) return found;
    }
  }

  #add(gram: number, unit: number): number {
    const number = this.size++;
    if (number === this.counts.length) this.#grow();
    this.cells[number * CELL + PARENT] = gram;
    this.cells[number * CELL + UNIT] = unit;
    if ((this.size - this.#first) * 2 > this.#slots.length) {
      this.#slots = new Uint32Array(this.#slots.length * 2);
      for (let each = this.#first; each < number; each++) this.#enter(each);
    }
    this.#enter(number);
    return number;
  }

  #enter(number: number): void {
    const slots = this.#slots;
    const mask = slots.length - 1;
    let slot = hashOf(this.cells[number * CELL]!, this.cells[number * CELL + UNIT]!) & mask;
    while (slots[slot] !== 0) slot = (slot + 1) & mask;
    slots[slot] = number;
  }

  #grow(): void {
    checkLimit(this.size, MOST_GRAMS, "grams of searched texts");
    this.cells = enlarge(this.cells);
    this.counts = enlarge(this.counts);
    this.places = enlarge(this.places);
    this.ends = enlarge(this.ends);
  }
}

/** The grams of a part that begin at the positions of all pieces, as far as they can get longer. */
class OpenGrams {
  readonly #pieces: Pieces;
  /** Pieces with an open gram; the grams of number n are `#grams[#ends[n - 1]]` to `#grams[#ends[n] - 1]`. */
  readonly #numbers: Uint32Array;
  readonly #ends: Uint32Array;
  #open: number;
  readonly #grams: Uint32Array;
  /** By open gram: the place of the unit after it. */
  readonly #nexts: Uint32Array;

  constructor({ pieces, begins, partOf }: GramPlan, part: number) {
    const { units, starts, lengths } = pieces;
    // The empty beginnings are in the first part.
    const hasBegin = begins && part === 0;
    this.#pieces = pieces;
    this.#numbers = countUp(lengths.length);
    this.#ends = new Uint32Array(lengths.length);
    let count = 0;
    for (let piece = 0; piece < lengths.length; piece++) {
      const start = starts[piece]!;
      if (hasBegin) count++;
      for (let at = start; at < start + lengths[piece]!; at++) if (partOf[units[at]!] === part) count++;
      this.#ends[piece] = count;
    }
    this.#open = lengths.length;
    this.#grams = new Uint32Array(count);
    this.#nexts = new Uint32Array(count);
    for (let piece = 0, to = 0; piece < lengths.length; piece++) {
      const start = starts[piece]!;
      if (hasBegin) {
        this.#grams[to] = BEGIN;
        this.#nexts[to++] = start;
      }
      for (let at = start; at < start + lengths[piece]!; at++)
        if (partOf[units[at]!] === part) this.#nexts[to++] = at;
    }
  }

  /** Makes each gram one unit longer that is common, and drops the others. @param length of the new grams */
  lengthen(table: GramTable, length: number, few: number): void {
    const { units, starts, lengths } = this.#pieces;
    const grams = this.#grams;
    const nexts = this.#nexts;
    let open = 0;
    let to = 0;
    for (let number = 0, at = 0; number < this.#open; number++) {
      const piece = this.#numbers[number]!;
      const pieceEnd = starts[piece]! + lengths[piece]!;
      const first = to;
      for (const end = this.#ends[number]!; at < end; at++) {
        const gram = grams[at]!;
        const next = nexts[at]!;
        // Beside the grams of one unit stands the beginning.
        const stays = length === 1 && gram === BEGIN;
        if (!stays && (next === pieceEnd || (gram > BEGIN && table.counts[gram]! <= few))) continue;
        grams[to] = stays ? BEGIN : table.note(gram, units[next]!);
        nexts[to++] = stays ? next : next + 1;
      }
      if (to === first) continue;
      this.#numbers[open] = piece;
      this.#ends[open++] = to;
    }
    this.#open = open;
  }

  /** Groups the sources of pieces by their grams, which are counted, from `first` on. @returns them, and where each group begins */
  group({ cells, size }: GramTable, first: number) {
    const starts = new Uint32Array(size - first);
    let end = 0;
    for (let gram = first; gram < size; gram++) {
      starts[gram - first] = end;
      end += cells[gram * CELL + OCCURRENCES]!;
      cells[gram * CELL + NEXT] = starts[gram - first]!;
    }
    const sources = new Uint32Array(end);
    for (let number = 0, at = 0; number < this.#open; number++) {
      const source = this.#pieces.sources[this.#numbers[number]!]!;
      for (const last = this.#ends[number]!; at < last; at++) {
        const gram = this.#grams[at]!;
        const cell = gram * CELL;
        // A source that contains a gram twice counts once.
        if (gram < first || cells[cell + NEWEST] === source + 1) continue;
        cells[cell + NEWEST] = source + 1;
        sources[cells[cell + NEXT]!++] = source;
      }
    }
    return { starts, sources };
  }
}

class Lister {
  readonly #ofPiece: RowLists;
  readonly #documents: number;
  /** The documents of the current gram, and a bit for each word of them that is not 0: the others need not be read. */
  readonly #bits: Uint32Array;
  readonly #used: Uint32Array;
  #lists = new Uint32Array(4096);
  #bytes = new Uint8Array(this.#lists.buffer);
  /** The end of the last list. */
  #end = 0;

  constructor(ofPiece: RowLists, documents: number) {
    this.#ofPiece = ofPiece;
    this.#documents = documents;
    this.#bits = new Uint32Array(wordsFor(documents));
    this.#used = new Uint32Array(wordsFor(this.#bits.length));
  }

  /** Gives a gram its count, and a list of its own, or that of its parent. */
  list(table: GramTable, gram: number, sources: Uint32Array): void {
    const { cells, counts, places, ends } = table;
    counts[gram] = this.#gather(sources);
    const parent = cells[gram * CELL + PARENT]!;
    const isSame = parent >= FIRST && counts[parent] === counts[gram];
    places[gram] = isSame ? places[parent]! : this.#write(counts[gram]!);
    ends[gram] = isSame ? ends[parent]! : this.#end;
    this.#clear();
  }

  finish(): Uint32Array {
    return sharedCopy({ values: this.#lists, length: this.#end });
  }

  /** Sets the bits of the documents of some occurrences. @returns how many documents there are */
  #gather(sources: Uint32Array): number {
    const { starts, rows } = this.#ofPiece;
    let count = 0;
    for (let at = 0; at < sources.length; at++) {
      const source = sources[at]!;
      const piece = source - this.#documents;
      if (piece < 0) count += this.#set(source);
      else
        for (let row = starts[piece]!, last = starts[piece + 1]!; row < last; row++)
          count += this.#set(rows[row]!);
    }
    return count;
  }

  /** @returns 1 if the document is new, else 0 */
  #set(document: number): number {
    const word = document >>> 5;
    const old = this.#bits[word]!;
    this.#bits[word] = old | (1 << document);
    this.#used[word >>> 5]! |= 1 << word;
    return (~old >>> document) & 1;
  }

  #write(count: number): number {
    const place = this.#end;
    if (isDense(count, this.#documents)) {
      this.#reserve(this.#bits.length);
      this.#lists.set(this.#bits, place);
      this.#end += this.#bits.length;
      return place;
    }
    // A difference takes four bytes at most.
    this.#reserve(count);
    const bytes = this.#bytes;
    let to = place * 4;
    let before = -1;
    this.#eachWord((word) => {
      for (let left = this.#bits[word]!; left !== 0; left &= left - 1) {
        const document = word * 32 + lowestOne(left);
        let rest = document - before;
        before = document;
        for (; rest >= 128; rest >>>= 7) bytes[to++] = (rest & 127) | 128;
        bytes[to++] = rest;
      }
    });
    this.#end = Math.ceil(to / 4);
    return place;
  }

  #clear(): void {
    this.#eachWord((word) => {
      this.#bits[word] = 0;
    });
    this.#used.fill(0);
  }

  #eachWord(take: (word: number) => void): void {
    for (let block = 0; block < this.#used.length; block++)
      for (let left = this.#used[block]!; left !== 0; left &= left - 1) take(block * 32 + lowestOne(left));
  }

  #reserve(words: number): void {
    checkLimit(this.#end + words, MOST_LIST_WORDS, "words of document lists");
    while (this.#end + words > this.#lists.length) this.#lists = enlarge(this.#lists);
    if (this.#bytes.buffer !== this.#lists.buffer) this.#bytes = new Uint8Array(this.#lists.buffer);
  }
}
