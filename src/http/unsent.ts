/** Bounds the unsent bytes of all connections of a listener together: pages that nobody reads must not fill the memory. */

/** Most unsent bytes of all connections. One connection alone may have more: a page is made whole. */
export const MAX_UNSENT_BYTES = 268_435_456;

/** A peer that has read something within so many milliseconds is spared, up to twice the bound. */
const SPARED_MS = 1000;

interface Held {
  readonly bytes: number;
  /** When the peer last read something. */
  readonly since: number;
}

interface Holder {
  readonly socket: { readonly destroy: () => void };
}

export class Unsent {
  readonly #most: number;
  #total = 0;
  /** The connections with unsent bytes; the one that has read nothing for the longest time is first. */
  readonly #held = new Map<Holder, Held>();

  constructor(most = MAX_UNSENT_BYTES) {
    this.#most = most;
  }

  /** Notes a connection's unsent bytes. Above the bound, ends the connections that have read nothing for the longest time. */
  note(holder: Holder, bytes: number): void {
    const before = this.#held.get(holder);
    if (bytes === (before?.bytes ?? 0)) return;
    this.#total += bytes - (before?.bytes ?? 0);
    const now = performance.now();
    const hasRead = before === undefined || bytes < before.bytes;
    // Then it becomes the last.
    if (hasRead) this.#held.delete(holder);
    if (bytes > 0) this.#held.set(holder, { bytes, since: hasRead ? now : before.since });
    for (const [first, held] of this.#held) {
      if (this.#total <= this.#most || this.#held.size === 1) return;
      if (now - held.since < SPARED_MS && this.#total <= 2 * this.#most) return;
      this.#held.delete(first);
      this.#total -= held.bytes;
      first.socket.destroy();
    }
  }
}
