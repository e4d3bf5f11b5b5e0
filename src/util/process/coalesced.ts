/** One run at a time. All requests that come during a run lead to a single one after it. */
export class Coalesced {
  readonly #run: () => Promise<void>;
  #running: Promise<void> | undefined;
  #queued: Promise<void> | undefined;

  /** @param run does the work; it must not reject */
  constructor(run: () => Promise<void>) {
    this.#run = run;
  }

  get isRunning(): boolean {
    return this.#running !== undefined;
  }

  /** Resolves when a run is over that began no sooner than now. */
  ask(): Promise<void> {
    if (this.#running === undefined) {
      this.#running = this.#run().finally(() => {
        this.#running = undefined;
      });
      return this.#running;
    }
    this.#queued ??= this.#running.then(() => {
      this.#queued = undefined;
      return this.ask();
    });
    return this.#queued;
  }

  /** Resolves when all that was asked for by now is done. */
  settled(): Promise<void> {
    return this.#queued ?? this.#running ?? Promise.resolve();
  }
}
