/**
 * Shares turns of the event loop among connections. A request that has just arrived is answered at once, unless the turn
 * is already long. The rest of a pipeline gets a share. Then the connection waits in a queue, which each turn serves
 * round-robin for a time slice. Arrived requests have a queue of their own, so that they do not wait for pipelines.
 */

/** A waiter for a turn: a connection with unparsed bytes. */
export interface Waiting {
  /** Answers some requests, at least one of those that arrived. */
  readonly proceed: () => void;
}

const SHARE = 16;

/** After this time in a turn of the event loop, in milliseconds, requests are answered from the queues alone. */
const LONG_MS = 2;

/** Of so many arrived requests one checks the clock, which is not free; so few, even of the dearest, make no turn long. */
const CHECK_EVERY = 8;

const SLICE_MS = 1;
const HURRIED_SLICE_MS = 0.1;

export class Turns {
  readonly #arrived: Waiting[] = [];
  readonly #pipelines: Waiting[] = [];
  #isScheduled = false;
  /** Time of the first check in the current turn; undefined before it. */
  #began: number | undefined;
  /** Whether a check has found the current turn long. */
  #isLong = false;
  /** Requests that arrived while the turn was not hurried. */
  #arrivals = 0;
  /** Calls of {@link hurry} in this turn and the one before. */
  #hurries = 0;

  /** Shortens this turn of the event loop and the next while connections wait: each turn accepts one, so short turns accept more. */
  hurry(): void {
    if (this.#arrived.length + this.#pipelines.length === 0) return;
    this.#hurries++;
    setImmediate(() => setImmediate(() => this.#hurries--));
  }

  get isHurried(): boolean {
    return this.#hurries > 0;
  }

  /** Whether a connection must leave the turn to others. @param taken its requests in this visit */
  isOver(taken: number): boolean {
    if (taken > 0) return taken >= SHARE || this.#looksLong();
    return this.isHurried || this.#isLong || (++this.#arrivals % CHECK_EVERY === 0 && this.#looksLong());
  }

  #looksLong(): boolean {
    const now = performance.now();
    if (this.#began === undefined) {
      this.#began = now;
      setImmediate(() => {
        this.#began = undefined;
        this.#isLong = false;
      });
    }
    this.#isLong ||= now - this.#began > LONG_MS;
    return this.#isLong;
  }

  /** Puts a connection at the end of a queue. It must not be in one already. @param hasArrived whether its visit has had no answer */
  add(waiting: Waiting, hasArrived: boolean): void {
    (hasArrived ? this.#arrived : this.#pipelines).push(waiting);
    this.#schedule();
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => this.#serve());
  }

  #serve(): void {
    this.#isScheduled = false;
    const slice = this.isHurried ? HURRIED_SLICE_MS : SLICE_MS;
    for (const queue of [this.#arrived, this.#pipelines]) {
      const end = performance.now() + slice;
      let served = 0;
      while (served < queue.length && performance.now() < end) queue[served++]!.proceed();
      queue.splice(0, served);
      if (queue.length > 0) this.#schedule();
    }
  }
}
