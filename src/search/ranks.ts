/** Rows in the order in which matches come out. */

/** Takes rows in the order of a list, and puts those first that match better. */
export class Ranks {
  readonly #ranked: Uint32Array<ArrayBuffer>;
  readonly #equal: number[] = [];
  readonly #first: number[] = [];
  #rest = 0;

  /** @param most of all rows together */
  constructor(most: number) {
    this.#ranked = new Uint32Array(most);
  }

  /** A row whose name is the term. */
  equal(row: number): void {
    this.#equal.push(row);
  }

  /** A row whose name begins with the term. */
  first(row: number): void {
    this.#first.push(row);
  }

  /** Any other row that matches. */
  rest(row: number): void {
    this.#ranked[this.#rest++] = row;
  }

  finish(): Uint32Array<ArrayBuffer> {
    const before = this.#equal.length + this.#first.length;
    const count = before + this.#rest;
    // To move the rest once takes less than to count the others beforehand.
    this.#ranked.copyWithin(before, 0, this.#rest);
    this.#ranked.set(this.#equal);
    this.#ranked.set(this.#first, this.#equal.length);
    return count === this.#ranked.length ? this.#ranked : this.#ranked.slice(0, count);
  }
}
