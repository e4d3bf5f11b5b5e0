/** Folded texts as UTF-16 code units in shared memory, and the distinct pieces that they consist of. */

import { enlarge, isSame, sharedCopy, sharedUint16, sharedUint32, Uint32Column } from "../store/bytes.ts";
import { checkLimit, MOST_CODE_UNITS } from "../store/limits.ts";
import type { RowLists } from "../store/lists.ts";

/** The only white space in folded texts. */
const SPACE = 0x20;

/** Stands after each text, and between a name and its description: no folded text contains it. */
const LINE_BREAK = 0x0a;

export interface Texts {
  /** The code units of all texts, one text after the other, each with a line break after it. */
  readonly units: Uint16Array;
  /** Text d is `units[starts[d]]` to `units[ends[d] - 1]`. */
  readonly starts: Uint32Array;
  readonly ends: Uint32Array;
}

/** Joins texts. @param most code units of all texts together, the line breaks included @throws {LimitError} when there are more */
export function joinTexts(
  documents: number,
  textAt: (document: number) => string,
  most = MOST_CODE_UNITS,
): Texts {
  let units = new Uint16Array(1024);
  const starts = sharedUint32(documents);
  const ends = sharedUint32(documents);
  let to = 0;
  for (let document = 0; document < documents; document++) {
    const text = textAt(document);
    checkLimit(to + text.length + 1, most, "UTF-16 units of searched texts");
    while (to + text.length + 1 > units.length) units = enlarge(units, MOST_CODE_UNITS);
    starts[document] = to;
    for (let at = 0; at < text.length; at++) units[to++] = text.charCodeAt(at);
    ends[document] = to;
    units[to++] = LINE_BREAK;
  }
  const all = sharedUint16(to);
  all.set(units.subarray(0, to));
  return { units: all, starts, ends };
}

export function areSameTexts(a: Texts, b: Texts): boolean {
  return isSame(a.starts, b.starts) && isSame(a.ends, b.ends) && isSame(a.units, b.units);
}

/** The distinct pieces of some texts: whole texts, or words, in shared memory. Needed only while they are indexed. */
export interface Pieces {
  readonly units: Uint16Array;
  /** Where each piece stands first. */
  readonly starts: Uint32Array;
  readonly lengths: Uint32Array;
  /** The documents of each piece, ascending. */
  readonly documents: RowLists;
  /** By piece: its document, or the number of documents plus its own number if it is in several. */
  readonly sources: Uint32Array;
}

/** Cuts texts into pieces. @param isWords cuts at white space; otherwise a piece is a whole text */
export function cutPieces({ units, starts, ends }: Texts, isWords: boolean): Pieces {
  const table = new PieceTable(units);
  /** The pieces of all documents, one document after the other, each piece once in a document. */
  const pieces = new Uint32Column();
  const pieceEnds = new Uint32Array(starts.length);
  /** By piece: the newest document with it, plus one. */
  let newest = new Uint32Array(1024);
  for (let document = 0; document < starts.length; document++) {
    const end = ends[document]!;
    for (let at = starts[document]!; at < end; at++) {
      const from = at;
      if (isWords) while (at < end && units[at] !== SPACE && units[at] !== LINE_BREAK) at++;
      else at = end;
      if (at === from) continue;
      const piece = table.numberOf(from, at);
      if (piece >= newest.length) newest = enlarge(newest);
      if (newest[piece] === document + 1) continue;
      newest[piece] = document + 1;
      pieces.push(piece);
    }
    pieceEnds[document] = pieces.length;
  }
  const documents = documentsByPiece(pieces, pieceEnds, table.count);
  const sources = sharedUint32(table.count);
  for (let piece = 0; piece < table.count; piece++) {
    const first = documents.starts[piece]!;
    const isAlone = documents.starts[piece + 1] === first + 1;
    sources[piece] = isAlone ? documents.rows[first]! : starts.length + piece;
  }
  return { units, ...table.finish(), documents, sources };
}

function documentsByPiece(pieces: Uint32Column, ends: Uint32Array, count: number): RowLists {
  const starts = sharedUint32(count + 1);
  for (let at = 0; at < pieces.length; at++) starts[pieces.values[at]! + 1]!++;
  for (let piece = 0; piece < count; piece++) starts[piece + 1]! += starts[piece]!;
  const rows = sharedUint32(pieces.length);
  const next = starts.slice();
  for (let document = 0, at = 0; document < ends.length; document++)
    for (; at < ends[document]!; at++) rows[next[pieces.values[at]!]!++] = document;
  return { starts, rows };
}

/** Numbers pieces in the order in which they come first. */
class PieceTable {
  readonly #units: Uint16Array;
  /** Random, so that nobody can choose texts that collide. */
  readonly #seed = Math.floor(Math.random() * 2 ** 32) | 1;
  readonly #starts = new Uint32Column();
  readonly #lengths = new Uint32Column();
  readonly #hashes = new Uint32Column();
  /** By hash: the number of a piece, plus one; 0 if free. */
  #slots = new Uint32Array(4096);

  constructor(units: Uint16Array) {
    this.#units = units;
  }

  get count(): number {
    return this.#starts.length;
  }

  numberOf(from: number, end: number): number {
    let hash = this.#seed;
    for (let at = from; at < end; at++) {
      hash = Math.imul(hash ^ this.#units[at]!, this.#seed);
      hash ^= hash >>> 15;
    }
    hash >>>= 0;
    const mask = this.#slots.length - 1;
    for (let slot = hash & mask; ; slot = (slot + 1) & mask) {
      const piece = this.#slots[slot]! - 1;
      if (piece < 0) return this.#add(from, end - from, hash);
      if (this.#hashes.values[piece] === hash && this.#isAt(piece, from, end - from)) return piece;
    }
  }

  finish(): Pick<Pieces, "starts" | "lengths"> {
    return { starts: sharedCopy(this.#starts), lengths: sharedCopy(this.#lengths) };
  }

  #isAt(piece: number, from: number, length: number): boolean {
    if (this.#lengths.values[piece] !== length) return false;
    const start = this.#starts.values[piece]!;
    for (let at = 0; at < length; at++) if (this.#units[start + at] !== this.#units[from + at]) return false;
    return true;
  }

  #add(start: number, length: number, hash: number): number {
    const piece = this.count;
    this.#starts.push(start);
    this.#lengths.push(length);
    this.#hashes.push(hash);
    if (this.count * 2 > this.#slots.length) {
      this.#slots = new Uint32Array(this.#slots.length * 2);
      for (let each = 0; each < piece; each++) this.#enter(each);
    }
    this.#enter(piece);
    return piece;
  }

  #enter(piece: number): void {
    const mask = this.#slots.length - 1;
    let slot = this.#hashes.values[piece]! & mask;
    while (this.#slots[slot] !== 0) slot = (slot + 1) & mask;
    this.#slots[slot] = piece + 1;
  }
}
