/**
 * Builds an index of grams, one length after the other:
 *
 * 1. At each position of each piece, the gram that begins there gets one unit longer, unless it is rare.
 * 2. The pieces are grouped by these grams.
 * 3. The documents of each gram are those of its pieces. They become its list.
 */

import { enlarge, sharedFloat64, sharedUint32 } from "../store/bytes.ts";
import { checkLimit, MOST_GRAMS, MOST_LIST_WORDS } from "../store/limits.ts";
import { countUp } from "../store/order.ts";
import { BEGIN, type Grams, hashOf, isDense, longerGram, MOST_UNITS, ROOT, wordsFor } from "./grams.ts";
import { lowestOne, onesIn } from "./sets.ts";
import { cutPieces, type Pieces, type Texts } from "./texts.ts";

/** Reading so many code units takes about 0.15 ms. */
const MOST_READ = 2 ** 17;

/** The code units that take as long to read as it takes to find a text. */
const FIND = 64;

/**
 * Indexes texts.
 * @param by `"words"` cuts texts at white space, for terms without any. `"texts"` does not, and indexes beginnings, too
 * @param mostRead a gram is rare if the texts of its documents have at most so many code units
 */
export function indexGrams(texts: Texts, by: "words" | "texts", mostRead = MOST_READ): Grams {
  const { starts, ends } = texts;
  const documents = starts.length;
  let units = 0;
  for (let document = 0; document < documents; document++) units += ends[document]! - starts[document]!;
  const few = Math.ceil(mostRead / (units / Math.max(documents, 1) + FIND));
  const pieces = cutPieces(texts, by === "words");
  const table = new GramTable();
  const open = new OpenGrams(pieces, by === "texts");
  const union = new DocumentUnion(pieces, documents);
  const lists = new ListWriter(documents);
  for (let length = 1; length <= MOST_UNITS; length++) {
    const first = table.size;
    open.lengthen(table, length, few);
    if (table.size === first) break;
    listDocuments(table, first, { group: open.group(first, table.size), union, lists });
  }
  return { documents, few, ...table.finish(), lists: lists.finish() };
}

/** Pieces by gram: those of gram g are `pieces[starts[g - first]]` to `pieces[ends[g - first] - 1]`. */
interface PieceGroups {
  readonly starts: Uint32Array;
  readonly ends: Uint32Array;
  readonly pieces: Uint32Array;
}

interface Listing {
  readonly group: PieceGroups;
  readonly union: DocumentUnion;
  readonly lists: ListWriter;
}

/** Gives all grams from `first` on their counts and lists. */
function listDocuments(table: GramTable, first: number, { group, union, lists }: Listing): void {
  const { counts, places, pieceCounts } = table;
  const { starts, ends, pieces } = group;
  for (let gram = first; gram < table.size; gram++) {
    const from = starts[gram - first]!;
    const end = ends[gram - first]!;
    pieceCounts[gram] = end - from;
    let same = table.sameAs(gram, pieceCounts);
    if (same === ROOT) {
      counts[gram] = union.gather(pieces, from, end);
      same = table.sameAs(gram, counts);
      places[gram] = same === ROOT ? lists.write(union) : places[same]!;
      union.clear();
    } else {
      counts[gram] = counts[same]!;
      places[gram] = places[same]!;
    }
  }
}

/** The grams that were found so far. */
class GramTable {
  /** The number of the next gram. */
  size = BEGIN + 1;
  keys = new Float64Array(4096);
  slots = new Uint32Array(8192);
  counts = new Uint32Array(4096);
  places = new Uint32Array(4096);
  /** By gram: the pieces with it. */
  pieceCounts = new Uint32Array(4096);
  /** By gram: the gram without its first unit. */
  #shorter = new Uint32Array(4096);

  /** The number of the gram that continues another by a unit. */
  numberOf(gram: number, unit: number): number {
    const found = longerGram(this, gram, unit);
    if (found !== 0) return found;
    const number = this.size++;
    if (number === this.keys.length) this.#grow();
    this.keys[number] = gram * 65_536 + unit;
    this.#shorter[number] = gram === ROOT ? ROOT : longerGram(this, this.#shorter[gram]!, unit);
    if (this.size * 2 > this.slots.length) {
      this.slots = new Uint32Array(this.slots.length * 2);
      for (let each = BEGIN + 1; each < number; each++) this.#enter(each);
    }
    this.#enter(number);
    return number;
  }

  /**
   * The gram one unit shorter that is in the same documents; {@link ROOT} if there is none. It is in all documents of the
   * longer one, so their numbers tell.
   * @param counts of pieces or documents, by gram
   */
  sameAs(gram: number, counts: Uint32Array): number {
    const withoutLast = Math.floor(this.keys[gram]! / 65_536);
    if (withoutLast > BEGIN && counts[withoutLast] === counts[gram]) return withoutLast;
    const withoutFirst = this.#shorter[gram]!;
    if (withoutFirst > BEGIN && counts[withoutFirst] === counts[gram]) return withoutFirst;
    return ROOT;
  }

  finish(): Pick<Grams, "keys" | "slots" | "counts" | "places"> {
    const { size } = this;
    const copyTo = <Values extends Uint32Array | Float64Array>(target: Values, values: Values): Values => {
      target.set(values.subarray(0, target.length));
      return target;
    };
    return {
      keys: copyTo(sharedFloat64(size), this.keys),
      slots: copyTo(sharedUint32(this.slots.length), this.slots),
      counts: copyTo(sharedUint32(size), this.counts),
      places: copyTo(sharedUint32(size), this.places),
    };
  }

  #enter(number: number): void {
    const key = this.keys[number]!;
    const mask = this.slots.length - 1;
    let slot = hashOf(Math.floor(key / 65_536), key % 65_536) & mask;
    while (this.slots[slot] !== 0) slot = (slot + 1) & mask;
    this.slots[slot] = number;
  }

  #grow(): void {
    checkLimit(this.size, MOST_GRAMS, "grams of searched texts");
    this.keys = enlarge(this.keys);
    this.counts = enlarge(this.counts);
    this.places = enlarge(this.places);
    this.pieceCounts = enlarge(this.pieceCounts);
    this.#shorter = enlarge(this.#shorter);
  }
}

/** The grams that begin at the positions of all pieces, as far as they can get longer. */
class OpenGrams {
  readonly #pieces: Pieces;
  /** Pieces with an open gram; the grams of number n are `#grams[#ends[n - 1]]` to `#grams[#ends[n] - 1]`. */
  readonly #numbers: Uint32Array;
  readonly #ends: Uint32Array;
  #open: number;
  readonly #grams: Uint32Array;
  /** By open gram: the place of the unit after it. */
  readonly #nexts: Uint32Array;

  /** @param begins whether a gram begins before the first unit, too */
  constructor(pieces: Pieces, begins: boolean) {
    const { starts, lengths } = pieces;
    this.#pieces = pieces;
    this.#open = lengths.length;
    this.#numbers = countUp(lengths.length);
    this.#ends = new Uint32Array(lengths.length);
    let count = 0;
    for (let piece = 0; piece < lengths.length; piece++) {
      count += lengths[piece]! + (begins ? 1 : 0);
      this.#ends[piece] = count;
    }
    this.#grams = new Uint32Array(count);
    this.#nexts = new Uint32Array(count);
    for (let piece = 0, to = 0; piece < lengths.length; piece++) {
      const start = starts[piece]!;
      if (begins) {
        this.#grams[to] = BEGIN;
        this.#nexts[to++] = start;
      }
      for (let at = 0; at < lengths[piece]!; at++) this.#nexts[to++] = start + at;
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
        grams[to] = stays ? BEGIN : table.numberOf(gram, units[next]!);
        nexts[to++] = stays ? next : next + 1;
      }
      if (to === first) continue;
      this.#numbers[open] = piece;
      this.#ends[open++] = to;
    }
    this.#open = open;
  }

  /** Groups the pieces by their grams, from `first` to before `end`. */
  group(first: number, end: number): PieceGroups {
    const grams = this.#grams;
    const count = this.#open === 0 ? 0 : this.#ends[this.#open - 1]!;
    const starts = new Uint32Array(end - first + 1);
    for (let at = 0; at < count; at++) if (grams[at]! >= first) starts[grams[at]! - first + 1]!++;
    for (let at = 0; at < end - first; at++) starts[at + 1]! += starts[at]!;
    const pieces = new Uint32Array(starts[end - first]!);
    const ends = starts.slice(0, end - first);
    for (let number = 0, at = 0; number < this.#open; number++) {
      const piece = this.#numbers[number]!;
      for (; at < this.#ends[number]!; at++) {
        if (grams[at]! < first) continue;
        const group = grams[at]! - first;
        const to = ends[group]!;
        // A piece that contains a gram twice counts once.
        if (to > starts[group]! && pieces[to - 1] === piece) continue;
        pieces[to] = piece;
        ends[group] = to + 1;
      }
    }
    return { starts, ends, pieces };
  }
}

/** Collects the documents of some pieces, each once. */
class DocumentUnion {
  readonly #pieces: Pieces;
  readonly bits: Uint32Array;
  /** A bit for each word of `bits` that is not 0, so that the others need not be read. */
  readonly #used: Uint32Array;
  count = 0;

  constructor(pieces: Pieces, documents: number) {
    this.#pieces = pieces;
    this.bits = new Uint32Array(wordsFor(documents));
    this.#used = new Uint32Array(wordsFor(this.bits.length));
  }

  /** @returns how many documents there are */
  gather(pieces: Uint32Array, from: number, end: number): number {
    const { starts, rows } = this.#pieces.documents;
    const bits = this.bits;
    const used = this.#used;
    for (let index = from; index < end; index++) {
      const piece = pieces[index]!;
      for (let at = starts[piece]!, last = starts[piece + 1]!; at < last; at++) {
        const word = rows[at]! >>> 5;
        bits[word]! |= 1 << rows[at]!;
        used[word >>> 5]! |= 1 << word;
      }
    }
    this.count = 0;
    this.#eachWord((word) => {
      this.count += onesIn(bits[word]!);
    });
    return this.count;
  }

  /** Calls a function with each document, ascending. */
  each(take: (document: number) => void): void {
    this.#eachWord((word) => {
      for (let left = this.bits[word]!; left !== 0; left &= left - 1) take(word * 32 + lowestOne(left));
    });
  }

  clear(): void {
    this.#eachWord((word) => {
      this.bits[word] = 0;
    });
    this.#used.fill(0);
  }

  #eachWord(take: (word: number) => void): void {
    for (let block = 0; block < this.#used.length; block++)
      for (let left = this.#used[block]!; left !== 0; left &= left - 1) take(block * 32 + lowestOne(left));
  }
}

/** Most bytes of a list that is no bitset, for each document: a difference has at most 28 bits. */
const DIFFERENCE_BYTES = 4;

/** Writes lists one after the other. */
class ListWriter {
  readonly #documents: number;
  #words = new Uint32Array(4096);
  #bytes = new Uint8Array(this.#words.buffer);
  #next = 0;

  constructor(documents: number) {
    this.#documents = documents;
  }

  /** @returns the place of the list */
  write(union: DocumentUnion): number {
    const place = this.#next;
    const words = wordsFor(this.#documents);
    if (isDense(union.count, this.#documents)) {
      this.#reserve(words);
      this.#words.set(union.bits, place);
      this.#next += words;
      return place;
    }
    this.#reserve(Math.ceil((union.count * DIFFERENCE_BYTES) / 4));
    const bytes = this.#bytes;
    let to = place * 4;
    let before = -1;
    union.each((document) => {
      let rest = document - before;
      before = document;
      for (; rest >= 128; rest >>>= 7) bytes[to++] = (rest & 127) | 128;
      bytes[to++] = rest;
    });
    this.#next = Math.ceil(to / 4);
    return place;
  }

  finish(): Uint32Array {
    const lists = sharedUint32(this.#next);
    lists.set(this.#words.subarray(0, this.#next));
    return lists;
  }

  #reserve(words: number): void {
    checkLimit(this.#next + words, MOST_LIST_WORDS, "words of document lists");
    while (this.#next + words > this.#words.length) this.#words = enlarge(this.#words);
    if (this.#bytes.buffer !== this.#words.buffer) this.#bytes = new Uint8Array(this.#words.buffer);
  }
}
