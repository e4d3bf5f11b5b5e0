/** Cuts bytes into lines of NDJSON. Blocks of a mebibyte are checked for valid UTF-8 at once, several times faster than lines. */

import { isUtf8 } from "node:buffer";

/** Most bytes of a line, without its end. */
export const MAX_LINE_BYTES = 1_048_576;
export const LONG_LINE = "line is longer than 1 MiB";

const LF = 0x0a;
const BOM_BYTES = 3;

/** Receives the lines and problems of a file; line numbers start at 1. */
export interface LineSink {
  /**
   * Takes the bytes of the line that begins at `from`, if it can.
   * @param bytes valid UTF-8 that ends with a line feed; the memory is reused after the call
   * @returns the position after the line's end, or -1 to receive the line as text
   */
  bytes(bytes: Uint8Array, from: number, number: number): number;
  line(text: string, number: number): void;
  problem(number: number, what: string): void;
}

/** Cuts one file into lines. Feed it with {@link LineCutter.push}, then {@link LineCutter.end}. */
export class LineCutter {
  readonly #sink: LineSink;
  #number = 0;
  #blank = 0;
  #rest: Buffer[] = [];
  #restBytes = 0;
  /** Inside a line that is too long: the rest of it is dropped. */
  #skipping = false;
  #atStart = true;

  constructor(sink: LineSink) {
    this.#sink = sink;
  }

  /** Lines so far that are not blank. */
  get rows(): number {
    return this.#number - this.#blank;
  }

  push(chunk: Buffer): void {
    const end = chunk.lastIndexOf(LF);
    if (end < 0) {
      this.#keep(chunk);
      return;
    }
    // Only the line that began in the previous chunk is copied together; the others are cut in place.
    const begun = this.#restBytes > 0 ? chunk.indexOf(LF) + 1 : 0;
    if (begun > 0) this.#cutWhole(chunk.subarray(0, begun));
    if (begun <= end) this.#cutWhole(chunk.subarray(begun, end + 1));
    this.#keep(chunk.subarray(end + 1));
  }

  /** Cuts the last line, which need not have an end. */
  end(): void {
    if (this.#skipping || this.#restBytes === 0) return;
    this.#cutWhole(Buffer.alloc(0));
  }

  #keep(bytes: Buffer): void {
    if (this.#skipping || bytes.length === 0) return;
    // Copied, since the reader reuses its buffer.
    this.#rest.push(Buffer.from(bytes));
    this.#restBytes += bytes.length;
    // The carriage return of a line's end and a BOM do not count as bytes of the line.
    const extra = 1 + (this.#atStart ? BOM_BYTES : 0);
    if (this.#restBytes <= MAX_LINE_BYTES + extra) return;
    this.#sink.problem(++this.#number, LONG_LINE);
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
    const isGood = isUtf8(block);
    const mayTake = isGood && block[block.length - 1] === LF;
    for (let from = 0; from < block.length; ) {
      const taken = mayTake ? this.#sink.bytes(block, from, this.#number + 1) : -1;
      if (taken > 0) {
        this.#number++;
        from = taken;
        continue;
      }
      const found = block.indexOf(LF, from);
      const to = found < 0 ? block.length : found;
      if (isGood || isUtf8(block.subarray(from, to))) this.#emit(block.toString("utf8", from, to));
      else this.#sink.problem(++this.#number, "not valid UTF-8");
      from = to + 1;
    }
  }

  #emit(line: string): void {
    this.#number++;
    const text = line.endsWith("\r") ? line.slice(0, -1) : line;
    // A UTF-16 unit takes at most three bytes, so short lines need no counting.
    if (text.length > MAX_LINE_BYTES / 3 && Buffer.byteLength(text) > MAX_LINE_BYTES) {
      this.#sink.problem(this.#number, LONG_LINE);
    } else if (text.trim() === "") this.#blank++;
    else this.#sink.line(text, this.#number);
  }
}
