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

/**
 * UTF-8 texts one behind the other, in chunks of 16 MiB so that growing never
 * copies. A text never spans two chunks; its address is chunk number and offset
 * in one 32-bit number.
 */
export class TextColumn {
  readonly #chunks: Buffer[] = [];
  readonly #addresses = new Uint32Column();
  readonly #lengths = new Uint32Column();
  #used = CHUNK_BYTES;
  /** Bytes of all texts. */
  bytes = 0;

  /**
   * Appends a text.
   *
   * @throws {RangeError} when the texts outgrow what 32-bit offsets can reach
   */
  push(text: string): void {
    // A UTF-16 unit becomes at most three bytes.
    if (this.#used + text.length * 3 > CHUNK_BYTES) {
      if (text.length * 3 > CHUNK_BYTES || this.#chunks.length === 2 ** (32 - CHUNK_BITS)) {
        throw new RangeError("a table of a snapshot is larger than 4 GiB");
      }
      this.#chunks.push(Buffer.allocUnsafeSlow(CHUNK_BYTES));
      this.#used = 0;
    }
    const chunk = this.#chunks.length - 1;
    const length = this.#chunks[chunk]!.write(text, this.#used, "utf8");
    this.#addresses.push(chunk * CHUNK_BYTES + this.#used);
    this.#lengths.push(length);
    this.#used += length;
    this.bytes += length;
  }

  /** Bytes of text `at`. */
  lengthAt(at: number): number {
    return this.#lengths.values[at]!;
  }

  /** Copies text `at` to a place in `target`. */
  copyTo(at: number, target: Uint8Array, place: number): void {
    const address = this.#addresses.values[at]!;
    const chunk = this.#chunks[address >>> CHUNK_BITS]!;
    const offset = address & (CHUNK_BYTES - 1);
    chunk.copy(target, place, offset, offset + this.#lengths.values[at]!);
  }
}
