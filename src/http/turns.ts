/**
 * Shares turns of the event loop among connections.
 *
 * A request that has just arrived is answered at once. The rest of a pipeline gets a share; after that the connection
 * waits in a queue, from which each turn serves connections round-robin for a short time. So nobody waits for the
 * pipelines of others, whatever they ask for and however many they are.
 */

/** What waits for a turn: a connection with bytes that are not parsed. */
export interface Waiting {
  /** Answers some requests, one at least. */
  readonly proceed: () => void;
}

const SHARE = 16;

/** Longer than this, in milliseconds, is long for a turn of the event loop: of each connection one request is answered. */
const LONG_MS = 2;

const SLICE_MS = 1;

export class Turns {
  #queue: Waiting[] = [];
  #first = 0;
  #isScheduled = false;
  /** When the current turn was first asked for; unknown in a turn in which nobody asked. */
  #began: number | undefined;

  /** Whether a connection that has answered so many requests in this visit leaves the turn to others. */
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
    const end = performance.now() + SLICE_MS;
    while (this.#first < this.#queue.length && performance.now() < end) {
      this.#queue[this.#first++]!.proceed();
    }
    if (this.#first === this.#queue.length) {
      this.#queue = [];
      this.#first = 0;
      return;
    }
    // The served part is dropped once it is the larger one, so that each entry is moved once on average.
    if (this.#first * 2 > this.#queue.length) {
      this.#queue = this.#queue.slice(this.#first);
      this.#first = 0;
    }
    this.#schedule();
  }
}
