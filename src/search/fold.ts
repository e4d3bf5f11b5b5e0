/**
 * Folding: what makes two texts equal to a search.
 *
 * Compatibility forms are composed, case and Latin, Greek and Cyrillic accents
 * dropped. Engines order combining marks by insertion, so very many in a row are
 * folded in parts.
 */

const COMBINING_LATIN = /[\u0300-\u036f]/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: the whole ASCII range is meant
const ASCII = /^[\x00-\x7f]*$/;

/**
 * Folds case, width, compatibility forms and Latin, Greek and Cyrillic accents.
 *
 * Only the combining marks U+0300–U+036F go: a Japanese voiced sound mark
 * changes the letter and stays. A text with more than {@link MOST_MARKS}
 * combining marks in a row is folded in parts.
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { fold } from "./fold.ts";
 * assert.equal(fold("ＣＡＦÉ"), "cafe");
 * assert.notEqual(fold("が"), fold("か"));
 * ```
 */
export function fold(text: string): string {
  if (ASCII.test(text)) return text.toLowerCase();
  if (text.length <= MOST_MARKS) return foldWhole(text);
  let folded = "";
  for (const part of foldingParts(text)) folded += foldWhole(part);
  return folded;
}

function foldWhole(text: string): string {
  return text.normalize("NFKC").toLowerCase().normalize("NFD").replace(COMBINING_LATIN, "").normalize("NFC");
}

/** So many combining marks in a row are folded as they are, whatever they are. */
export const MOST_MARKS = 1000;
/** Marks of a part of a longer sequence. */
const PART = 64;

/** Combining marks, the two halfwidth letters that become some, and the only letters that combine with each other without end. */
const MARK = /^[\p{M}\uff9e\uff9f\u{16d67}-\u{16d6a}]/u;
const FIRST_MARK = 0x300;

/**
 * The parts of a text that are folded one by one: mostly one, the whole text.
 *
 * Engines put combining marks in order by insertion, which takes time in the
 * square of their number, so a text is cut within sequences of too many.
 */
export function foldingParts(text: string): string[] {
  const parts: string[] = [];
  let from = 0;
  // A sequence of too many has code units at one of these positions, so most of a text is never read.
  for (let at = MOST_MARKS; at < text.length; at += MOST_MARKS) {
    if (markUnits(text, startOfCharacter(text, at)) === 0) continue;
    const start = startOfMarks(text, at);
    const ends = endsOfMarks(text, start);
    at = Math.max(at, ends.at(-1)!);
    if (ends.length <= MOST_MARKS) continue;
    for (const cut of cutsWithin(text, start, ends)) {
      parts.push(text.slice(from, cut));
      from = cut;
    }
  }
  parts.push(text.slice(from));
  return parts;
}

/** Where a sequence is cut: after every {@link PART} marks, or a little later where that changes nothing. */
function cutsWithin(text: string, start: number, ends: readonly number[]): number[] {
  const cuts: number[] = [];
  let from = start > 0 ? startOfCharacter(text, start - 1) : 0;
  for (let mark = PART; mark + 4 < ends.length; mark += PART) {
    const positions = ends.slice(mark - 1, mark + 2);
    const cut =
      positions.find((position) => canBeCut(text, from, position, ends[mark + 4]!)) ?? positions[0]!;
    cuts.push(cut);
    from = cut;
  }
  return cuts;
}

function canBeCut(text: string, from: number, cut: number, to: number): boolean {
  const parts = text.slice(from, cut).normalize("NFKC") + text.slice(cut, to).normalize("NFKC");
  return parts === text.slice(from, to).normalize("NFKC");
}

/** Code units of the mark at a position; 0 when there is none. */
function markUnits(text: string, at: number): number {
  const character = text.codePointAt(at) ?? 0;
  if (character < FIRST_MARK || !MARK.test(String.fromCodePoint(character))) return 0;
  return character > 0xffff ? 2 : 1;
}

/** The position of the character that a code unit belongs to. */
function startOfCharacter(text: string, at: number): number {
  return at > 0 && (text.codePointAt(at - 1) ?? 0) > 0xffff ? at - 1 : at;
}

/** Where the sequence of marks around a position begins. */
function startOfMarks(text: string, at: number): number {
  let start = startOfCharacter(text, at);
  while (start > 0) {
    const before = startOfCharacter(text, start - 1);
    if (markUnits(text, before) === 0) break;
    start = before;
  }
  return start;
}

/** Where each mark of a sequence ends. */
function endsOfMarks(text: string, start: number): number[] {
  const ends: number[] = [];
  let at = start;
  for (let units = markUnits(text, at); units > 0; units = markUnits(text, at)) {
    at += units;
    ends.push(at);
  }
  return ends;
}

/** How much of a query counts, in UTF-16 code units. */
export const MAX_QUERY_UNITS = 256;

/**
 * The text a query really asks for: cut, folded, trimmed; half of a surrogate pair becomes U+FFFD, as it does in UTF-8.
 *
 * @returns "" when there is nothing to search for
 */
export function readTerm(query: string): string {
  let cut = query.slice(0, MAX_QUERY_UNITS);
  if (query.length > MAX_QUERY_UNITS && !cut.isWellFormed()) cut = cut.slice(0, -1);
  // No text that came as UTF-8 holds half of a pair, and the index has a use for one; see `PAD`.
  return fold(cut.toWellFormed()).trim();
}
