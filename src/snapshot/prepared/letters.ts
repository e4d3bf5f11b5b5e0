/**
 * Detects whether this runtime folds the text of a snapshot as the indexing runtime did: an index holds folded text, which
 * depends on the Unicode data. Data of assigned characters never change, so versions differ in few characters, mostly unused.
 */

import zlib from "node:zlib";
import { fold } from "../../search/fold.ts";

const LAST_CODE_POINT = 0x10ffff;
const ASCII_END = 0x80;
const UNASSIGNED = /\p{Cn}/u;

function mark(bytes: Uint8Array, seen: Uint8Array): void {
  for (let at = 0; at < bytes.length; at++) {
    const first = bytes[at]!;
    if (first < ASCII_END) continue;
    const more = first < 0xe0 ? 1 : first < 0xf0 ? 2 : 3;
    let code = first & (0x3f >> more);
    for (let end = at + more; at < end; ) code = (code << 6) | (bytes[++at]! & 0x3f);
    seen[code] = 1;
  }
}

/** The characters beyond ASCII in blocks of good UTF-8, ascending. */
export function lettersOf(blocks: readonly Uint8Array[]): Uint32Array {
  const seen = new Uint8Array(LAST_CODE_POINT + 1);
  for (const bytes of blocks) mark(bytes, seen);
  const letters: number[] = [];
  for (let code = ASCII_END; code <= LAST_CODE_POINT; code++) if (seen[code] === 1) letters.push(code);
  return Uint32Array.from(letters);
}

/** A checksum over the folded characters of this runtime. */
export function foldingOf(letters: Uint32Array): number {
  let checksum = 0;
  for (const code of letters) {
    const letter = String.fromCodePoint(code);
    // An unassigned character folds to itself now, but may later become a mark, which folding sorts among others.
    checksum = zlib.crc32(`${fold(letter)}${UNASSIGNED.test(letter) ? "?" : ""}\n`, checksum);
  }
  return checksum;
}
