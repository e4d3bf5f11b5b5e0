/**
 * Folding: gives texts that are equal to a search the same form. Engines order combining marks by insertion sort, so a
 * long run of marks is folded in parts.
 */

const COMBINING_LATIN = /[\u0300-\u036f]/g;

/**
 * Folds case, width, compatibility forms and Latin, Greek and Cyrillic accents: "ＣＡＦÉ" to "cafe". Only the combining
 * marks U+0300–U+036F are dropped: a Japanese voiced sound mark changes the letter and stays. A text with more than
 * {@link MOST_MARKS} combining marks in a row is folded in parts.
 */
export function fold(text: string): string {
  const kind = kindOfText(text);
  if (kind <= AS_LOWER_CASE) return text.toLowerCase();
  if (kind === TO_ANOTHER && text.length <= scratch.length) return foldEach(text);
  if (text.length <= MOST_MARKS) return foldWhole(text);
  let folded = "";
  for (const part of foldingParts(text)) folded += foldWhole(part);
  return folded;
}

function foldWhole(text: string): string {
  return text.normalize("NFKC").toLowerCase().normalize("NFD").replace(COMBINING_LATIN, "").normalize("NFC");
}

/*
 * Most characters fold alike in every context: their decompositions begin with a character that neither combines nor is
 * reordered with anything before it. A text of only such characters needs no normalization.
 */

/** How a character is folded, the simplest first; 0 is not known yet. */
const AS_LOWER_CASE = 1;
const TO_ANOTHER = 2;
/** Depending on its neighbours, or to more than one code unit. */
const OTHERWISE = 3;

/** By code point, up to the end of the plane of emoji and decorated letters. */
const KINDS = new Uint8Array(0x20000);
/** The folded code unit of each code unit of the kind {@link TO_ANOTHER} or a simpler one. */
const FOLDED = new Uint16Array(0x10000);
const scratch = new Uint16Array(4096);

/** Characters that can be the second of a composed pair: marks, vowels and final consonants of Hangul, Kirat Rai vowels. */
const SECOND = /^[\p{M}\u1160-\u11ff\u{16d67}-\u{16d6a}]/u;
/** Marks that combine with no letter and stay in place. */
const VARIATION_SELECTOR = /^[\ufe00-\ufe0f]$/;
/** Has two lower-case forms; its neighbours decide. */
const SIGMA = "\u03a3";

function learn(point: number): number {
  const character = String.fromCodePoint(point);
  const folded = foldWhole(character);
  let kind = OTHERWISE;
  const isAlone = !SECOND.test(character.normalize("NFKD")) || VARIATION_SELECTOR.test(character);
  if (isAlone && character !== SIGMA) {
    if (folded === character) kind = AS_LOWER_CASE;
    else if (point < 0x10000 && folded.length === 1) {
      kind = folded === character.toLowerCase() ? AS_LOWER_CASE : TO_ANOTHER;
    }
  }
  KINDS[point] = kind;
  if (kind <= TO_ANOTHER && point < 0x10000) FOLDED[point] = folded.charCodeAt(0);
  return kind;
}

/** The kind of a text: the highest kind of its characters. */
function kindOfText(text: string): number {
  let most = 0;
  for (let at = 0; at < text.length && most < OTHERWISE; at++) {
    let point = text.charCodeAt(at);
    if ((point & 0xf800) === 0xd800) {
      point = text.codePointAt(at++)!;
      if (point < 0x10000 || point >= KINDS.length) return OTHERWISE;
    }
    const kind = KINDS[point]! || learn(point);
    if (kind > most) most = kind;
  }
  return most;
}

function foldEach(text: string): string {
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    scratch[at] = (unit & 0xf800) === 0xd800 ? unit : FOLDED[unit]!;
  }
  return String.fromCharCode.apply(undefined, scratch.subarray(0, text.length) as unknown as number[]);
}

/** Longest run of combining marks that is folded uncut, and the length of its parts if it is longer. */
export const MOST_MARKS = 1000;
const PART = 64;

/** Combining marks, the two halfwidth letters that fold to marks, and the only letters that combine with each other without end. */
const MARKS = /[\p{M}\uff9e\uff9f\u{16d67}-\u{16d6a}]+/gu;

/** The parts of a text to fold one by one, mostly a single part: runs of too many marks are cut. */
export function foldingParts(text: string): string[] {
  const parts: string[] = [];
  let from = 0;
  for (const { 0: run, index } of text.matchAll(MARKS)) {
    const marks = [...run];
    let cut = index;
    for (let mark = PART; marks.length > MOST_MARKS && mark < marks.length; mark += PART) {
      cut += marks.slice(mark - PART, mark).join("").length;
      parts.push(text.slice(from, cut));
      from = cut;
    }
  }
  parts.push(text.slice(from));
  return parts;
}

/** Longest part of a query that counts, in UTF-16 code units. */
export const MAX_QUERY_UNITS = 256;

/**
 * The term of a query: cut, folded, trimmed; half of a surrogate pair becomes U+FFFD, as it does in UTF-8.
 * @returns "" when there is nothing to search for
 */
export function readTerm(query: string): string {
  let cut = query.slice(0, MAX_QUERY_UNITS);
  if (query.length > MAX_QUERY_UNITS && !cut.isWellFormed()) cut = cut.slice(0, -1);
  // No text from UTF-8 holds half of a pair, and the index uses one as `PAD`.
  return fold(cut.toWellFormed()).trim();
}
