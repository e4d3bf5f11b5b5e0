/**
 * Bytes to lines of NDJSON text, in blocks of whole lines.
 *
 * A block of about a mebibyte is checked for valid UTF-8 and decoded at once,
 * which is several times faster than line by line; only a block with bad bytes
 * is taken apart to name the line.
 */

import { isUtf8 } from "node:buffer";

/** Most bytes of a line, without its end. */
export const MAX_LINE_BYTES = 1_048_576;

const LF = 0x0a;
const BOM_BYTES = 3;

const BEYOND_ASCII = /[\x80-\xff]/g;

/** Place of the next char that is no ASCII, or Infinity. */
function nextBeyondAscii(text: string, from: number): number {
  BEYOND_ASCII.lastIndex = from;
  return BEYOND_ASCII.test(text) ? BEYOND_ASCII.lastIndex - 1 : Number.POSITIVE_INFINITY;
}

/** Receives what was found in a file; line numbers start at 1. */
export interface LineSink {
  /** A line that is not blank. */
  line(text: string, number: number): void;
  problem(number: number, what: string): void;
}

/** Cuts one file into lines. Feed it with {@link LineCutter.push}, then {@link LineCutter.end}. */
export class LineCutter {
  readonly #sink: LineSink;
  #number = 0;
  #rest: Buffer[] = [];
  #restBytes = 0;
  /** Inside a line that is too long: everything up to its end is dropped. */
  #skipping = false;
  #atStart = true;

  constructor(sink: LineSink) {
    this.#sink = sink;
  }

  push(chunk: Buffer): void {
    const end = chunk.lastIndexOf(LF);
    if (end < 0) {
      this.#keep(chunk);
      return;
    }
    this.#cutWhole(chunk.subarray(0, end + 1));
    this.#keep(chunk.subarray(end + 1));
  }

  /** Cuts the last line, which need not have an end. */
  end(): void {
    if (this.#skipping || this.#restBytes === 0) return;
    this.#cutWhole(Buffer.alloc(0));
  }

  #keep(bytes: Buffer): void {
    if (this.#skipping || bytes.length === 0) return;
    // Copied, since the reader uses its buffer again.
    this.#rest.push(Buffer.from(bytes));
    this.#restBytes += bytes.length;
    // The carriage return of a line's end and a BOM are no part of the line.
    const extra = 1 + (this.#atStart ? BOM_BYTES : 0);
    if (this.#restBytes <= MAX_LINE_BYTES + extra) return;
    this.#sink.problem(++this.#number, "line is longer than 1 MiB");
    this.#rest = [];
    this.#restBytes = 0;
    this.#skipping = true;
    this.#atStart = false;
  }

  #cutWhole(tail: Buffer): void {
    let whole = tail;
    if (this.#skipping) {
      whole = tail.subarray(tail.indexOf(LF) + 1);
      this.#skipping = false;
    } else if (this.#restBytes > 0) {
      whole = Buffer.concat([...this.#rest, tail]);
      this.#rest = [];
      this.#restBytes = 0;
    }
    if (this.#atStart && whole.length > 0) {
      this.#atStart = false;
      if (whole[0] === 0xef && whole[1] === 0xbb && whole[2] === 0xbf) whole = whole.subarray(BOM_BYTES);
    }
    if (whole.length > 0) this.#cutBlock(whole);
  }

  #cutBlock(block: Buffer): void {
    if (!isUtf8(block)) {
      this.#cutBadBlock(block);
      return;
    }
    // One char a byte, so that places in the text are places in the block. Most lines are ASCII, and parsing those
    // as one-byte strings is faster than decoding a mixed block into two-byte ones; the others are decoded singly.
    const text = block.toString("latin1");
    let beyondAscii = nextBeyondAscii(text, 0);
    for (let from = 0; from < text.length; ) {
      const found = text.indexOf("\n", from);
      const to = found < 0 ? text.length : found;
      if (beyondAscii >= to) {
        this.#emit(text.slice(from, to));
      } else {
        this.#emit(block.toString("utf8", from, to));
        beyondAscii = nextBeyondAscii(text, to);
      }
      from = to + 1;
    }
  }

  #cutBadBlock(block: Buffer): void {
    for (let from = 0; from < block.length; ) {
      const found = block.indexOf(LF, from);
      const to = found < 0 ? block.length : found;
      const line = block.subarray(from, to);
      if (isUtf8(line)) this.#emit(line.toString("utf8"));
      else this.#sink.problem(++this.#number, "not valid UTF-8");
      from = to + 1;
    }
  }

  #emit(line: string): void {
    this.#number++;
    const text = line.endsWith("\r") ? line.slice(0, -1) : line;
    // A UTF-16 unit takes at most three bytes, so short lines need no counting.
    if (text.length > MAX_LINE_BYTES / 3 && Buffer.byteLength(text) > MAX_LINE_BYTES) {
      this.#sink.problem(this.#number, "line is longer than 1 MiB");
    } else if (text.trim() !== "") {
      this.#sink.line(text, this.#number);
    }
  }
}
