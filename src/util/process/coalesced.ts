/** Runs a job, one run at a time. All requests that arrive during a run share a single run after it. */
export class Coalesced<Result = void> {
  readonly #run: () => Promise<Result>;
  #running: Promise<Result> | undefined;
  #queued: Promise<Result> | undefined;

  constructor(run: () => Promise<Result>) {
    this.#run = run;
  }

  get isRunning(): boolean {
    return this.#running !== undefined;
  }

  /** Settles with a run that begins now or later. */
  ask(): Promise<Result> {
    if (this.#running === undefined) {
      this.#running = this.#run().finally(() => {
        this.#running = undefined;
      });
      return this.#running;
    }
    this.#queued ??= Promise.allSettled([this.#running]).then(() => {
      this.#queued = undefined;
      return this.ask();
    });
    return this.#queued;
  }
}
