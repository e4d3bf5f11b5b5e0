/** Memory for tables: final arrays, which are shared, and columns that grow while a snapshot loads. */

import { checkLimit, MOST_TABLE_BYTES } from "./limits.ts";

/** A zeroed array in shared memory, so that threads can use it without a copy. */
export function sharedUint32(length: number): Uint32Array {
  return new Uint32Array(new SharedArrayBuffer(length * 4));
}

export function sharedUint16(length: number): Uint16Array {
  return new Uint16Array(new SharedArrayBuffer(length * 2));
}

export function sharedFloat64(length: number): Float64Array {
  return new Float64Array(new SharedArrayBuffer(length * 8));
}

export function sharedBytes(length: number): Buffer {
  return Buffer.from(new SharedArrayBuffer(length));
}

export function isSame(a: Uint16Array | Uint32Array, b: typeof a): boolean {
  const bytesOf = ({ buffer, byteOffset, byteLength }: typeof a): Buffer =>
    Buffer.from(buffer, byteOffset, byteLength);
  return a === b || bytesOf(a).equals(bytesOf(b));
}

/** Growth factor of a full column: copies are few, and untouched memory costs nothing. */
const GROWTH = 4;

/** No typed array is longer on any supported Node. */
const MOST_LENGTH = 2 ** 32;

/** A larger copy of a full array, extended by zeros. @param most the greatest length */
export function enlarge<Values extends Uint8Array | Uint16Array | Uint32Array | Float64Array>(
  values: Values,
  most = MOST_LENGTH,
): Values {
  const length = Math.min(values.length * GROWTH, most);
  const larger = new (values.constructor as new (length: number) => Values)(length);
  larger.set(values);
  return larger;
}

export class Uint32Column {
  values = new Uint32Array(1024);
  length = 0;

  push(value: number): void {
    if (this.length === this.values.length) this.values = enlarge(this.values);
    this.values[this.length++] = value;
  }
}

export function sharedCopy({ values, length }: Pick<Uint32Column, "values" | "length">): Uint32Array {
  const copy = sharedUint32(length);
  copy.set(values.subarray(0, length));
  return copy;
}

export class Float64Column {
  values = new Float64Array(1024);
  length = 0;

  push(value: number): void {
    if (this.length === this.values.length) this.values = enlarge(this.values);
    this.values[this.length++] = value;
  }
}

const CHUNK_BITS = 24;
const CHUNK_BYTES = 2 ** CHUNK_BITS;
/** Each further chunk is twice as large. The first is small: most tables of a test fit into it. */
const FIRST_CHUNK_BYTES = 2 ** 18;

/**
 * UTF-8 texts one after the other, in chunks of up to 16 MiB so that growing never copies. A text lies in one chunk; its
 * address is chunk number and offset in one 32-bit number.
 */
export class TextColumn {
  readonly #chunks: Buffer[] = [];
  readonly #spare: Buffer[];
  readonly #addresses = new Uint32Column();
  readonly #lengths = new Uint32Column();
  readonly #mostBytes: number;
  #used = 0;
  #began = 0;

  /** @param spare chunks that other columns no longer need: much cheaper than new memory @param mostBytes of all chunks together */
  constructor(spare: Buffer[] = [], mostBytes = MOST_TABLE_BYTES) {
    this.#spare = spare;
    this.#mostBytes = mostBytes;
  }

  /** @throws {LimitError} when the chunks would exceed `mostBytes` */
  push(text: string): void {
    // A UTF-16 unit becomes at most three bytes.
    this.beginText(text.length * 3);
    // One call per text: joining texts for one write took twice the time when measured, since the write flattens them.
    this.#used += this.#chunks.at(-1)!.write(text, this.#used, "utf8");
    this.endText();
  }

  /** Begins a text of at most `most` bytes; {@link append} its bytes, then call {@link endText}. @throws as {@link push} */
  beginText(most: number): void {
    if (this.#used + most > (this.#chunks.at(-1)?.length ?? 0)) this.#addChunk(most);
    this.#began = this.#used;
  }

  append(source: Uint8Array, from: number, to: number): void {
    const chunk = this.#chunks.at(-1)!;
    // A call of the engine's copy costs more than moving a few bytes.
    if (to - from > 48) chunk.set(source.subarray(from, to), this.#used);
    else for (let at = from, place = this.#used; at < to; at++, place++) chunk[place] = source[at]!;
    this.#used += to - from;
  }

  endText(): void {
    this.#addresses.push((this.#chunks.length - 1) * CHUNK_BYTES + this.#began);
    this.#lengths.push(this.#used - this.#began);
  }

  #addChunk(least: number): void {
    const count = this.#chunks.length;
    checkLimit((count + 1) * CHUNK_BYTES, this.#mostBytes, "bytes of visible rows");
    const bytes = Math.min(CHUNK_BYTES, Math.max(least, FIRST_CHUNK_BYTES * 2 ** count));
    const spare = (this.#spare.at(-1)?.length ?? 0) >= bytes ? this.#spare.pop() : undefined;
    this.#chunks.push(spare ?? Buffer.allocUnsafeSlow(bytes));
    this.#used = 0;
  }

  /** Gives the chunks to the columns that share `spare`; the texts are lost. */
  recycle(): void {
    this.#spare.push(...this.#chunks.splice(0));
  }

  lengthAt(at: number): number {
    return this.#lengths.values[at]!;
  }

  copyTo(at: number, target: Uint8Array, offset: number): void {
    const address = this.#addresses.values[at]!;
    const chunk = this.#chunks[address >>> CHUNK_BITS]!;
    const from = address & (CHUNK_BYTES - 1);
    chunk.copy(target, offset, from, from + this.#lengths.values[at]!);
  }
}
