/** Bounds the unsent bytes of all connections of a listener together: pages that nobody reads must not fill the memory. */

/** Most unsent bytes of all connections. One connection alone may have more: a page is made whole. */
export const MAX_UNSENT_BYTES = 268_435_456;

interface Holder {
  readonly socket: { readonly destroy: () => void };
}

export class Unsent {
  readonly #most: number;
  #total = 0;
  /** Unsent bytes of each connection that has some; the one that has read nothing for the longest time is first. */
  readonly #held = new Map<Holder, number>();

  constructor(most = MAX_UNSENT_BYTES) {
    this.#most = most;
  }

  /** Notes a connection's unsent bytes. Above the bound, ends the connections that have read nothing for the longest time. */
  note(holder: Holder, bytes: number): void {
    const before = this.#held.get(holder) ?? 0;
    if (bytes === before) return;
    this.#total += bytes - before;
    // Its peer has read some, so it becomes the last.
    if (bytes < before) this.#held.delete(holder);
    if (bytes > 0) this.#held.set(holder, bytes);
    for (const [first, held] of this.#held) {
      if (this.#total <= this.#most || this.#held.size === 1) return;
      this.#held.delete(first);
      this.#total -= held;
      first.socket.destroy();
    }
  }
}
