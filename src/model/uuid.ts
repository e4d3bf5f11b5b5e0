/** UUIDs as four 32-bit words, for typed arrays. */

/** Value of a hex digit by char code; 255 for anything else. */
const DIGIT = new Uint8Array(128).fill(255);
for (let value = 0; value < 16; value++) {
  const digit = value.toString(16);
  DIGIT[digit.charCodeAt(0)] = value;
  DIGIT[digit.toUpperCase().charCodeAt(0)] = value;
}

/** The places of the 32 digits in the 8-4-4-4-12 form. */
const PLACES = Array.from("xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx", (c, at) => (c === "x" ? at : -1)).filter(
  (at) => at >= 0,
);

/** Reads a UUID of any version and case into four words at an index. @returns whether the text is one; else they are undefined */
export function parseUuid(text: string, words: Uint32Array, at: number): boolean {
  if (text.length !== 36) return false;
  if (text.charCodeAt(8) !== 45 || text.charCodeAt(13) !== 45) return false;
  if (text.charCodeAt(18) !== 45 || text.charCodeAt(23) !== 45) return false;
  let bad = 0;
  for (let word = 0; word < 4; word++) {
    let value = 0;
    for (let digit = word * 8; digit < word * 8 + 8; digit++) {
      const code = text.charCodeAt(PLACES[digit]!);
      const nibble = code < 128 ? DIGIT[code]! : 255;
      bad |= nibble & 0xf0;
      value = (value << 4) | (nibble & 15);
    }
    words[at + word] = value >>> 0;
  }
  return bad === 0;
}

/** Writes the four words at `at` as a lower-case UUID. */
export function formatUuid(words: Uint32Array, at: number): string {
  let hex = "";
  for (let word = 0; word < 4; word++) hex += words[at + word]!.toString(16).padStart(8, "0");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

/** Value of a lower-case hex digit by byte; 16 for anything else. */
const LOWER_DIGIT = new Uint8Array(256).fill(16);
for (let value = 0; value < 16; value++) LOWER_DIGIT[value.toString(16).charCodeAt(0)] = value;

/** {@link parseUuid} from bytes, for the served form of a UUID: lower case. */
export function parseServedUuid(bytes: Uint8Array, from: number, to: number, words: Uint32Array): boolean {
  if (to - from !== 36 || bytes[from + 8] !== 45 || bytes[from + 13] !== 45) return false;
  if (bytes[from + 18] !== 45 || bytes[from + 23] !== 45) return false;
  let bad = 0;
  for (let word = 0; word < 4; word++) {
    let value = 0;
    for (let digit = word * 8; digit < word * 8 + 8; digit++) {
      const nibble = LOWER_DIGIT[bytes[from + PLACES[digit]!]!]!;
      bad |= nibble;
      value = (value << 4) | (nibble & 15);
    }
    words[word] = value >>> 0;
  }
  return (bad & 16) === 0;
}
