/**
 * Shares turns of the event loop among connections. A request that has just arrived is answered at once. The rest of a
 * pipeline gets a share; after that the connection waits in a queue, from which each turn serves connections
 * round-robin for a time slice.
 */

/** A waiter for a turn: a connection with unparsed bytes. */
export interface Waiting {
  /** Answers some requests, at least one. */
  readonly proceed: () => void;
}

const SHARE = 16;

/** After this time in a turn of the event loop, in milliseconds, each connection gets only one request answered. */
const LONG_MS = 2;

const SLICE_MS = 1;
const HURRIED_SLICE_MS = 0.1;

export class Turns {
  readonly #queue: Waiting[] = [];
  #isScheduled = false;
  /** Time of the first check in the current turn; undefined before it. */
  #began: number | undefined;
  /** Calls of {@link hurry} in this turn and the one before. */
  #hurries = 0;

  /** Shortens this turn of the event loop and the next. Each turn accepts one connection, so short turns accept more. */
  hurry(): void {
    this.#hurries++;
    setImmediate(() => setImmediate(() => this.#hurries--));
  }

  get isHurried(): boolean {
    return this.#hurries > 0;
  }

  /** Whether a connection must leave the turn to others. @param answered its requests in this visit */
  isOver(answered: number): boolean {
    if (answered === 0) return false;
    return answered >= SHARE || this.#isLong();
  }

  #isLong(): boolean {
    const now = performance.now();
    if (this.#began === undefined) {
      this.#began = now;
      setImmediate(() => {
        this.#began = undefined;
      });
    }
    return now - this.#began > LONG_MS;
  }

  /** Puts a connection at the end of the queue. It must not be there already. */
  add(waiting: Waiting): void {
    this.#queue.push(waiting);
    this.#schedule();
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => this.#serve());
  }

  #serve(): void {
    this.#isScheduled = false;
    const end = performance.now() + (this.isHurried ? HURRIED_SLICE_MS : SLICE_MS);
    let served = 0;
    while (served < this.#queue.length && performance.now() < end) this.#queue[served++]!.proceed();
    this.#queue.splice(0, served);
    if (this.#queue.length > 0) this.#schedule();
  }
}
