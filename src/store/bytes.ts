/** Memory for tables: shared arrays that are final, and columns that grow while a snapshot loads. */

/** Most bytes a packed block can hold, since offsets are 32-bit. */
export const MAX_BLOCK_BYTES = 0xffff_ffff;

/** A zeroed array in shared memory, so that threads can use it without a copy. */
export function sharedUint32(length: number): Uint32Array {
  return new Uint32Array(new SharedArrayBuffer(length * 4));
}

/** A zeroed byte buffer in shared memory. */
export function sharedBytes(length: number): Buffer {
  return Buffer.from(new SharedArrayBuffer(length));
}

/** A column of 32-bit numbers that grows by doubling. */
export class Uint32Column {
  values = new Uint32Array(1024);
  length = 0;

  push(value: number): void {
    if (this.length === this.values.length) {
      const values = new Uint32Array(this.length * 2);
      values.set(this.values);
      this.values = values;
    }
    this.values[this.length++] = value;
  }
}

/** A column of doubles that grows by doubling. */
export class Float64Column {
  values = new Float64Array(1024);
  length = 0;

  push(value: number): void {
    if (this.length === this.values.length) {
      const values = new Float64Array(this.length * 2);
      values.set(this.values);
      this.values = values;
    }
    this.values[this.length++] = value;
  }
}

const CHUNK_BITS = 24;
const CHUNK_BYTES = 2 ** CHUNK_BITS;
/** UTF-16 units that are gathered before they are turned into bytes. */
const BATCH_UNITS = 65_536;

/**
 * UTF-8 texts one behind the other, in chunks of 16 MiB so that growing never
 * copies. A text never spans two chunks; its address is chunk number and offset
 * in one 32-bit number.
 *
 * Texts are turned into bytes in batches: a call into the encoder costs more
 * than encoding a row.
 */
export class TextColumn {
  readonly #chunks: Buffer[] = [];
  readonly #addresses = new Uint32Column();
  readonly #lengths = new Uint32Column();
  #used = CHUNK_BYTES;
  #batch: string[] = [];
  #batchUnits = 0;

  /**
   * Appends a text.
   *
   * @throws {RangeError} when the texts outgrow what 32-bit offsets can reach
   */
  push(text: string): void {
    this.#batch.push(text);
    this.#batchUnits += text.length;
    if (this.#batchUnits >= BATCH_UNITS) this.finish();
  }

  /** Turns what is gathered into bytes; to be called before texts are read. */
  finish(): void {
    if (this.#batch.length === 0) return;
    // A UTF-16 unit becomes at most three bytes.
    const most = this.#batchUnits * 3;
    if (this.#used + most > CHUNK_BYTES) {
      if (most > CHUNK_BYTES || this.#chunks.length === 2 ** (32 - CHUNK_BITS)) {
        throw new RangeError("a table of a snapshot is larger than 4 GiB");
      }
      this.#chunks.push(Buffer.allocUnsafeSlow(CHUNK_BYTES));
      this.#used = 0;
    }
    const chunk = this.#chunks.length - 1;
    const bytes = this.#chunks[chunk]!.write(this.#batch.join(""), this.#used, "utf8");
    const isAscii = bytes === this.#batchUnits;
    for (const text of this.#batch) {
      const length = isAscii ? text.length : Buffer.byteLength(text);
      this.#addresses.push(chunk * CHUNK_BYTES + this.#used);
      this.#lengths.push(length);
      this.#used += length;
    }
    this.#batch = [];
    this.#batchUnits = 0;
  }

  /** Bytes of text `at`. */
  lengthAt(at: number): number {
    return this.#lengths.values[at]!;
  }

  /** Copies text `at` to a place in `target`. */
  copyTo(at: number, target: Uint8Array, place: number): void {
    const address = this.#addresses.values[at]!;
    const chunk = this.#chunks[address >>> CHUNK_BITS]!;
    const from = address & (CHUNK_BYTES - 1);
    chunk.copy(target, place, from, from + this.#lengths.values[at]!);
  }
}
