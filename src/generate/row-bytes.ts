/** Rows as bytes: JSON in UTF-8, written into a buffer without a text of the row in between. */

const HEX = new Uint8Array(512);
for (let value = 0; value < 256; value++) {
  const text = value.toString(16).padStart(2, "0");
  HEX[value * 2] = text.charCodeAt(0);
  HEX[value * 2 + 1] = text.charCodeAt(1);
}

const ZERO = 48;
const DASH = 45;
const QUOTE = 34;
const NEWLINE = 10;
const DAY = 86_400_000;
/** Room for all of a row but its texts. */
const SLACK = 1024;
/** Most bytes of a code unit: `\u001f`. */
const UNIT_BYTES = 6;

// biome-ignore lint/suspicious/noControlCharactersInRegex: those are what JSON escapes
const NEEDS_ESCAPES = /["\\\u0000-\u001f]/;

/** A text of ASCII characters that is written often. */
export function asciiBytes(text: string): Uint8Array {
  return Uint8Array.from(text, (character) => character.charCodeAt(0));
}

/** The beginning of a time on each day since the epoch that was asked for: `2024-05-30T`. */
const dates = new Map<number, Uint8Array>();

function dateOf(day: number): Uint8Array {
  let date = dates.get(day);
  if (date === undefined) {
    date = asciiBytes(new Date(day * DAY).toISOString().slice(0, 11));
    dates.set(day, date);
  }
  return date;
}

/** A buffer that rows are appended to. */
export class RowBytes {
  #bytes: Buffer;
  #length = 0;

  /** @param capacity bytes at first; it grows as needed */
  constructor(capacity: number) {
    this.#bytes = Buffer.allocUnsafeSlow(capacity + SLACK);
  }

  /** Bytes so far. */
  get length(): number {
    return this.#length;
  }

  /** What was written since {@link clear}: a view, which further writing changes. */
  get written(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }

  /** Forgets what was written. */
  clear(): void {
    this.#length = 0;
  }

  #reserve(bytes: number): void {
    const needed = this.#length + bytes + SLACK;
    if (needed <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafeSlow(needed * 2);
    this.#bytes.copy(larger, 0, 0, this.#length);
    this.#bytes = larger;
  }

  /** Appends constant bytes. */
  raw(bytes: Uint8Array): void {
    const to = this.#bytes;
    let length = this.#length;
    for (let at = 0; at < bytes.length; at++) to[length++] = bytes[at]!;
    this.#length = length;
  }

  /** Appends a line's end. */
  endRow(): void {
    this.#bytes[this.#length++] = NEWLINE;
    this.#reserve(0);
  }

  /** Appends a short text of ASCII characters. */
  ascii(text: string): void {
    for (let at = 0; at < text.length; at++) this.#bytes[this.#length++] = text.charCodeAt(at);
  }

  /** Appends the UUID of four words, without quotes. */
  uuid(words: Uint32Array): void {
    const to = this.#bytes;
    let length = this.#length;
    for (let word = 0; word < 4; word++) {
      const value = words[word]!;
      for (let shift = 24; shift >= 0; shift -= 8) {
        const pair = ((value >>> shift) & 255) << 1;
        to[length++] = HEX[pair]!;
        to[length++] = HEX[pair + 1]!;
        if ((word === 1 || word === 2) && shift === 16) to[length++] = DASH;
      }
      if (word === 0 || word === 1) to[length++] = DASH;
    }
    this.#length = length;
  }

  /** Appends a time, milliseconds since the epoch, as `2024-05-30T16:23:58.162Z`. */
  time(time: number): void {
    const day = Math.floor(time / DAY);
    this.raw(dateOf(day));
    const rest = time - day * DAY;
    const seconds = Math.floor(rest / 1000);
    const minutes = Math.floor(seconds / 60);
    this.#twoDigits(Math.floor(minutes / 60), 58);
    this.#twoDigits(minutes % 60, 58);
    this.#twoDigits(seconds % 60, 46);
    const millis = rest % 1000;
    this.#bytes[this.#length++] = ZERO + Math.floor(millis / 100);
    this.#twoDigits(millis % 100, 90);
  }

  #twoDigits(value: number, behind: number): void {
    this.#bytes[this.#length++] = ZERO + Math.floor(value / 10);
    this.#bytes[this.#length++] = ZERO + (value % 10);
    this.#bytes[this.#length++] = behind;
  }

  /** Appends a text as a JSON string. It must be well formed. */
  text(text: string): void {
    this.#reserve(text.length * UNIT_BYTES + 2);
    if (NEEDS_ESCAPES.test(text)) {
      this.#length += this.#bytes.write(JSON.stringify(text), this.#length);
      return;
    }
    this.#bytes[this.#length++] = QUOTE;
    this.#length += this.#bytes.write(text, this.#length);
    this.#bytes[this.#length++] = QUOTE;
  }
}
