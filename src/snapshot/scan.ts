/**
 * Scans rows of JSON, as exporters write them, in place. Nearly every row of a real export is a flat object without needless
 * escapes: only the positions of its fields are needed, so the scan makes no garbage, and a million users load three times as
 * fast. Any other row is left to `JSON.parse`; a row that is accepted here is valid JSON, with the same meaning there.
 */

import { type NamedField, VALUE_BYTES } from "../model/schema.ts";
import { MAX_LINE_BYTES } from "./lines.ts";

export const ABSENT = 0;
/** A string without escapes; its position is that of the characters. */
export const PLAIN = 1;
/** A string with escapes, all as `JSON.stringify` writes them, and none of them `\u`. */
export const ESCAPED = 2;
export const TRUE = 3;
export const FALSE = 4;
export const NULL = 5;
/** A whole number from 0 to 999999999999999 without fraction or exponent. */
export const COUNT = 6;
/** Valid JSON that no known field accepts. */
const OTHER = 7;

const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;
const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const OBJECT_BEGIN = 0x7b;
const OBJECT_END = 0x7d;
const ARRAY_BEGIN = 0x5b;
const ARRAY_END = 0x5d;

/** Bytes at which a run of plain characters ends: control characters, quote and backslash. */
const STOPS = new Uint8Array(256);
for (let byte = 0; byte < SPACE; byte++) STOPS[byte] = 1;
STOPS[QUOTE] = 1;
STOPS[BACKSLASH] = 1;

/** Bytes of an escape by the letter after its backslash, for the escapes that `JSON.stringify` writes. */
const ESCAPE_BYTES = new Uint8Array(256);
for (const letter of '"\\bfnrt') ESCAPE_BYTES[letter.charCodeAt(0)] = 2;
ESCAPE_BYTES["u".charCodeAt(0)] = 6;

const TRUE_BYTES = Buffer.from("true");
const FALSE_BYTES = Buffer.from("false");
const NULL_BYTES = Buffer.from("null");

/** Most digits at which a double holds every whole number. */
const MOST_DIGITS = 15;

function isDigit(byte: number): boolean {
  return byte >= 0x30 && byte <= 0x39;
}

export function standsAt(bytes: Uint8Array, at: number, wanted: Uint8Array): boolean {
  for (let offset = 0; offset < wanted.length; offset++)
    if (bytes[at + offset] !== wanted[offset]) return false;
  return true;
}

/**
 * Sets the high bit of the first of four bytes that ends a run of plain characters, and perhaps of later ones; 0 if none does.
 * Control characters and the quote become bytes below 0x21, all others stay above; a backslash becomes 0.
 */
function stopsIn(bytes: number): number {
  const low = bytes ^ 0x02020202;
  const slash = bytes ^ 0x5c5c5c5c;
  return (((low - 0x21212121) & ~low) | ((slash - 0x01010101) & ~slash)) & 0x80808080;
}

/** Finds the fields of flat objects. One scanner serves all rows of a file. */
export class RowScanner {
  /** By field: its kind, and the position of its value in the bytes that were scanned last. */
  readonly kinds: Uint8Array;
  readonly starts: Uint32Array;
  readonly ends: Uint32Array;
  /** By field: its value, if it is a COUNT. */
  readonly counts: Float64Array;
  readonly #names: readonly Uint8Array[];
  readonly #lengths: Uint8Array;
  /** By field, and for the start of a row: the field that followed it the last time, since most rows have one order. */
  readonly #after: Uint8Array;
  /** Kind and count of the last value or name. */
  #kind = ABSENT;
  #count = 0;
  #field = -1;
  #view: DataView = new DataView(new ArrayBuffer(0));

  /** @param fields all others are skipped. Ids and times are found by their length: the caller must check their bytes */
  constructor(fields: readonly NamedField[]) {
    this.#names = fields.map(({ name }) => Buffer.from(name));
    this.#lengths = Uint8Array.from(fields, ({ type }) => VALUE_BYTES[type] ?? 0);
    this.#after = Uint8Array.from([...fields, ""], (_, at) => (at + 1) % (fields.length + 1));
    this.kinds = new Uint8Array(fields.length);
    this.starts = new Uint32Array(fields.length);
    this.ends = new Uint32Array(fields.length);
    this.counts = new Float64Array(fields.length);
  }

  /**
   * Scans the line that begins at `from`.
   * @param bytes valid UTF-8 that ends with a line feed
   * @returns the position after the line's end, or -1 when the line must be parsed
   */
  scan(bytes: Uint8Array, from: number): number {
    this.kinds.fill(ABSENT);
    this.#lookAt(bytes);
    if (bytes[from] !== OBJECT_BEGIN) return -1;
    let last = this.#names.length;
    for (let at = from + 1; ; ) {
      at = this.#name(bytes, at, last);
      if (at < 0) return -1;
      const field = this.#field;
      at = this.#fieldValue(bytes, at, field);
      if (at < 0) return -1;
      if (field >= 0) last = field;
      const next = bytes[at++];
      if (next === OBJECT_END) return this.#lineEnd(bytes, from, at);
      if (next !== COMMA) return -1;
      if (bytes[at] === SPACE) at++;
    }
  }

  #lookAt({ buffer, byteOffset, length }: Uint8Array): void {
    const view = this.#view;
    if (view.buffer !== buffer || view.byteOffset !== byteOffset || view.byteLength !== length)
      this.#view = new DataView(buffer, byteOffset, length);
  }

  /** Skips a name, its colon, and a space; notes its field. @param last the field before it */
  #name(bytes: Uint8Array, at: number, last: number): number {
    if (bytes[at] !== QUOTE) return -1;
    const from = at + 1;
    const likely = this.#after[last]!;
    let end: number;
    if (this.#isNameAt(bytes, from, likely)) {
      end = from + this.#names[likely]!.length + 1;
      this.#field = likely;
    } else {
      end = this.#string(bytes, from);
      if (end < 0 || this.#kind !== PLAIN) return -1;
      this.#field = this.#fieldAt(bytes, from, end - 1, likely);
      if (this.#field >= 0) this.#after[last] = this.#field;
    }
    if (bytes[end] !== COLON) return -1;
    return bytes[end + 1] === SPACE ? end + 2 : end + 1;
  }

  /** Skips the value of a field, and notes it. @param field below 0 for an unknown name */
  #fieldValue(bytes: Uint8Array, at: number, field: number): number {
    if (field < 0) return this.#value(bytes, at);
    // If a name occurs twice, the last one counts; that is left to the parser.
    if (this.kinds[field] !== ABSENT) return -1;
    const isString = bytes[at] === QUOTE;
    const from = isString ? at + 1 : at;
    const length = this.#lengths[field]!;
    let end: number;
    if (length > 0 && isString && bytes[from + length] === QUOTE) {
      this.#kind = PLAIN;
      end = from + length + 1;
    } else end = this.#value(bytes, at);
    this.kinds[field] = this.#kind;
    this.counts[field] = this.#count;
    this.starts[field] = from;
    this.ends[field] = isString ? end - 1 : end;
    return end;
  }

  #lineEnd(bytes: Uint8Array, from: number, to: number): number {
    if (to - from > MAX_LINE_BYTES) return -1;
    const at = bytes[to] === CR ? to + 1 : to;
    return bytes[at] === LF ? at + 1 : -1;
  }

  /** Whether a field's name and its closing quote are at `from`. */
  #isNameAt(bytes: Uint8Array, from: number, field: number): boolean {
    const name = this.#names[field];
    return name !== undefined && bytes[from + name.length] === QUOTE && standsAt(bytes, from, name);
  }

  #fieldAt(bytes: Uint8Array, from: number, to: number, likely: number): number {
    const names = this.#names;
    const { length } = names;
    for (let tried = 0, field = likely; tried < length; tried++, field++) {
      if (field >= length) field = 0;
      const name = names[field]!;
      if (name.length === to - from && standsAt(bytes, from, name)) return field;
    }
    return -1;
  }

  /** Skips a string with its first character at `from`. @returns the position after its quote, or -1 */
  #string(bytes: Uint8Array, from: number): number {
    this.#kind = PLAIN;
    const view = this.#view;
    const lastWord = bytes.length - 4;
    for (let at = from; ; at++) {
      // Skips four bytes at a time, while none of them is a stop.
      while (at <= lastWord && stopsIn(view.getInt32(at, true)) === 0) at += 4;
      const byte = bytes[at]!;
      if (STOPS[byte] === 0) continue;
      if (byte === QUOTE) return at + 1;
      if (byte !== BACKSLASH || ESCAPE_BYTES[bytes[++at]!] !== 2) return -1;
      this.#kind = ESCAPED;
    }
  }

  #value(bytes: Uint8Array, at: number): number {
    const byte = bytes[at]!;
    if (byte === QUOTE) return this.#string(bytes, at + 1);
    if (isDigit(byte)) return this.#number(bytes, at);
    if (byte === 0x74) return this.#word(bytes, at, TRUE_BYTES, TRUE);
    if (byte === 0x66) return this.#word(bytes, at, FALSE_BYTES, FALSE);
    if (byte === 0x6e) return this.#word(bytes, at, NULL_BYTES, NULL);
    return byte === ARRAY_BEGIN ? this.#array(bytes, at + 1) : -1;
  }

  #word(bytes: Uint8Array, at: number, word: Uint8Array, kind: number): number {
    this.#kind = kind;
    return standsAt(bytes, at, word) ? at + word.length : -1;
  }

  #number(bytes: Uint8Array, from: number): number {
    let at = from;
    let count = 0;
    for (; isDigit(bytes[at]!); at++) count = count * 10 + (bytes[at]! - 0x30);
    if (at - from > MOST_DIGITS || (bytes[from] === 0x30 && at - from > 1)) return -1;
    this.#kind = COUNT;
    this.#count = count;
    return at;
  }

  /** Skips an array of values that are not arrays; no known field is an array. */
  #array(bytes: Uint8Array, from: number): number {
    let at = from;
    if (bytes[at] === ARRAY_END) at++;
    else
      do {
        if (bytes[at] === SPACE) at++;
        if (bytes[at] === ARRAY_BEGIN) return -1;
        at = this.#value(bytes, at);
        if (at < 0) return -1;
      } while (bytes[at++] === COMMA);
    this.#kind = OTHER;
    return bytes[at - 1] === ARRAY_END ? at : -1;
  }
}
