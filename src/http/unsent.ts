/** Bounds the unsent bytes of all connections of a listener together: pages that nobody reads must not fill the memory. */

/** Most unsent bytes of all connections. One connection alone may have more: a page is made whole. */
export const MAX_ALL_UNSENT_BYTES = 268_435_456;

/** A peer that has read something within so many milliseconds is spared, up to twice the bound. */
const SPARED_MS = 1000;

interface Entry {
  readonly bytes: number;
  /** When the peer last read something. */
  readonly since: number;
}

interface Connection {
  readonly socket: { readonly destroy: () => void };
}

export class Unsent {
  readonly #most: number;
  #total = 0;
  /** The connections with unsent bytes; the one that has read nothing for the longest time is first. */
  readonly #entries = new Map<Connection, Entry>();

  constructor(most = MAX_ALL_UNSENT_BYTES) {
    this.#most = most;
  }

  note(connection: Connection, bytes: number): void {
    const before = this.#entries.get(connection);
    if (bytes === (before?.bytes ?? 0)) return;
    this.#total += bytes - (before?.bytes ?? 0);
    const hasRead = before === undefined || bytes < before.bytes;
    // Moves it to the end of the order.
    if (hasRead) this.#entries.delete(connection);
    if (bytes > 0)
      this.#entries.set(connection, { bytes, since: hasRead ? performance.now() : before.since });
    this.#makeRoom(0);
  }

  /** Whether so many bytes more stay within the bound. If they do not, ends connections that have read nothing for a while. */
  hasRoom(bytes: number): boolean {
    this.#makeRoom(bytes);
    return this.#total === 0 || this.#total + bytes <= this.#most;
  }

  #makeRoom(bytes: number): void {
    const now = performance.now();
    for (const [first, { bytes: unsent, since }] of this.#entries) {
      if (this.#total + bytes <= this.#most || this.#entries.size === 1) return;
      if (now - since < SPARED_MS && this.#total <= 2 * this.#most) return;
      this.#entries.delete(first);
      this.#total -= unsent;
      first.socket.destroy();
    }
  }
}
