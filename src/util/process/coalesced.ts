/** Runs a job, one run at a time. All requests that arrive during a run share a single run after it. */
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

  /** Resolves at the end of a run that begins now or later. */
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
}
