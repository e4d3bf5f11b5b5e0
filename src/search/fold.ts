/**
 * Folding: gives texts that are equal to a search the same form. The steps, in order:
 *
 * 1. Compatibility decomposition (NFKD): "ＣＡＦÉ" to "CAFE" and an accent.
 * 2. Without accents and invisible characters ({@link DROPPED}). Other marks change the letter and stay.
 * 3. One case. Upper case makes "ß" and "SS" equal; the lower case before and after it, all other letters.
 * 4. Letters and signs that are typed alike become equal ({@link REPLACED}).
 * 5. Composition (NFC), but Hangul in jamo, so that "하" is a beginning of "한"; Katakana to Hiragana.
 * 6. One space in place of each run of white space.
 */

/** Marks of Latin, Greek, Cyrillic, Arabic and Hebrew, the Arabic tatweel, and characters that are not displayed. */
const DROPPED = new RegExp(
  "[\\u0300-\\u036f\\u0591-\\u05bd\\u05bf\\u05c1\\u05c2\\u05c4\\u05c5\\u05c7\\u0610-\\u061a\\u0640\\u064b-\\u065f\\u0670" +
    "\\u06d6-\\u06dc\\u06df-\\u06e4\\u06e7\\u06e8\\u06ea-\\u06ed\\p{Default_Ignorable_Code_Point}]",
  "gu",
);

/** Characters, each with what it becomes behind it. Earlier steps replace "ı", "´", "″" and "‑". */
const REPLACED: ReadonlyMap<string, string> = new Map(
  [
    "ςσ æae œoe øo łl đd ðd þth ħh ŧt ŋn ĸk ȷj ىي یي ةه کك",
    // Small capitals.
    "ᴀa ʙb ᴄc ᴅd ᴇe ꜰf ɢg ʜh ɪi ᴊj ᴋk ʟl ᴍm ɴn ᴏo ᴘp ꞯq ʀr ꜱs ᴛt ᴜu ᴠv ᴡw ʏy ᴢz",
    // Quotation marks and dashes that keyboards lack, and lookalikes of signs that file names cannot hold.
    "‘' ’' ‛' ʼ' ʻ' `' ′' “\" ”\" „\" ‟\" ‐- ‒- –- —- ―- −- ⁃- ⁄/ ∕/ ⧸/",
    "∗* ⁎* ǃ! ˸: ∶: ꞉: ‚, ǀ| ∣| ≺< ˂< ‹< ≻> ˃> ›> ∖\\ ⧵\\ ˄^",
  ].flatMap((line) => line.split(" ").map((pair) => [pair.charAt(0), pair.slice(1)])),
);
const ANY_REPLACED = new RegExp(`[${[...REPLACED.keys()].join("")}]`, "gu");

const KATAKANA = /[\u30a1-\u30f6\u30fd\u30fe]/g;
const KATAKANA_TO_HIRAGANA = -0x60;
const HANGUL_SYLLABLES = /[\uac00-\ud7a3]+/g;

/** Folds a text. If it has more than {@link MOST_MARKS} marks in a row, it is folded in parts. */
export function fold(text: string): string {
  const kind = kindOfText(text);
  if (kind === AS_LOWER_CASE) return text.toLowerCase();
  if (kind === SPACED) return joinSpaces(text.toLowerCase());
  if (kind === ALONE) {
    const folded = foldEach(text);
    return folded.includes("  ") ? joinSpaces(folded) : folded;
  }
  return joinSpaces(text.length <= MOST_MARKS ? foldPart(text) : foldingParts(text).map(foldPart).join(""));
}

/** All steps but the last. */
function foldPart(text: string): string {
  return text
    .normalize("NFKD")
    .replace(DROPPED, "")
    .toLowerCase()
    .toUpperCase()
    .toLowerCase()
    .replace(ANY_REPLACED, (character) => REPLACED.get(character)!)
    .normalize("NFC")
    .replace(KATAKANA, (kana) => String.fromCharCode(kana.charCodeAt(0) + KATAKANA_TO_HIRAGANA))
    .replace(HANGUL_SYLLABLES, (syllables) => syllables.normalize("NFD"));
}

/** The last step: one space for each run of white space. */
function joinSpaces(text: string): string {
  return text.replace(/\s{2,}|[^\S ]/gu, " ");
}

/*
 * Most characters fold alike in every context: they become nothing, or something that begins with a character that
 * neither combines nor is reordered with anything before it. A text of only such characters needs no normalization.
 */

/** How a text is folded, the simplest first. 0 is not known yet. */
const AS_LOWER_CASE = 1;
/** The same, and white space is joined. */
const SPACED = 2;
/** Each character alone, and white space is joined. */
const ALONE = 3;
const TOGETHER = 4;

/** By code point, up to the end of the plane of emoji and decorated letters. */
const KINDS = new Uint8Array(0x20000);
/** The code unit that a code unit becomes; 0 if it is in {@link LONGER}. */
const FOLDED = new Uint16Array(0x10000);
/** The texts that all other characters become, by code point. */
const LONGER = new Map<number, string>();

/** Characters that combine with one before them: marks, and vowels of Kirat Rai. Jamo do so too, but are taken apart again. */
const SECOND = /^[\p{M}\u{16d67}-\u{16d6a}]/u;
/** Has two lower-case forms; its neighbours decide. */
const SIGMA = "\u03a3";

function learn(point: number): number {
  const character = String.fromCodePoint(point);
  const folded = joinSpaces(foldPart(character));
  let kind = ALONE;
  if (SECOND.test(folded.normalize("NFD"))) kind = TOGETHER;
  else if (folded === " " && character !== " " && /\s/u.test(character)) kind = SPACED;
  else if (folded === character.toLowerCase() && character !== SIGMA) kind = AS_LOWER_CASE;
  if (point < FOLDED.length && folded.length === 1 && point !== 0) FOLDED[point] = folded.charCodeAt(0);
  else LONGER.set(point, folded);
  KINDS[point] = kind;
  return kind;
}

const SPACE = 0x20;

/** The kind of a text: the highest kind of its characters. */
function kindOfText(text: string): number {
  let most = AS_LOWER_CASE;
  for (let at = 0; at < text.length && most < TOGETHER; at++) {
    let point = text.charCodeAt(at);
    if ((point & 0xf800) === 0xd800) {
      point = text.codePointAt(at++)!;
      if (point < 0x10000 || point >= KINDS.length) return TOGETHER;
    }
    const kind = KINDS[point]! || learn(point);
    if (kind > most) most = kind;
    if (point === SPACE && text.charCodeAt(at + 1) === SPACE) most = Math.max(most, SPACED);
  }
  return most;
}

const FIRST_SYLLABLE = 0xac00;
const LAST_SYLLABLE = 0xd7a3;

/** The jamo of a Hangul syllable, by the arithmetic that Unicode defines. */
function pushJamo(units: number[], syllable: number): void {
  const number = syllable - FIRST_SYLLABLE;
  units.push(0x1100 + Math.floor(number / 588), 0x1161 + (Math.floor(number / 28) % 21));
  if (number % 28 > 0) units.push(0x11a7 + (number % 28));
}

/** Few enough for arguments of a function. */
const MOST_UNITS = 4096;

function foldEach(text: string): string {
  let folded = "";
  let units: number[] = [];
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    if (FOLDED[unit] !== 0) units.push(FOLDED[unit]!);
    else if (unit >= FIRST_SYLLABLE && unit <= LAST_SYLLABLE) pushJamo(units, unit);
    else {
      const point = text.codePointAt(at)!;
      if (point >= FOLDED.length) at++;
      const longer = LONGER.get(point)!;
      for (let from = 0; from < longer.length; from++) units.push(longer.charCodeAt(from));
    }
    if (units.length >= MOST_UNITS) {
      folded += String.fromCharCode(...units);
      units = [];
    }
  }
  return folded + String.fromCharCode(...units);
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
const MAX_QUERY_UNITS = 256;

/**
 * The term of a query: cut, folded, trimmed; "" if nothing is left. Half of a surrogate pair becomes U+FFFD, as it does in UTF-8.
 */
export function readTerm(query: string): string {
  let cut = query.slice(0, MAX_QUERY_UNITS);
  if (query.length > MAX_QUERY_UNITS) cut = cut.replace(/[\ud800-\udbff]$/, "");
  // No text from UTF-8 holds half of a pair, and the index uses one as `PAD`.
  return fold(cut.toWellFormed()).trim();
}
