/**
 * Keeping the generation current: when to load. At the start, on request, when a watch sees another snapshot, and again
 * after a load that failed although its files may be good. All requests during a load become one more load after it. A stop ends
 * a running load, and none begins after it.
 */

import { TABLES } from "../../model/schema.ts";
import { Coalesced } from "../../util/process/coalesced.ts";
import { GrowingPauses } from "../../util/process/pauses.ts";
import { SourceError } from "../../util/source-error.ts";
import { problemText } from "../../util/system-error.ts";
import { SnapshotError } from "../../util/user-error.ts";
import type { ServedGeneration, TakeGeneration } from "./served.ts";
import {
  type LoadOutcome,
  refused,
  SnapshotLoads,
  type SnapshotOptions,
  type SnapshotOutcome,
} from "./snapshot-loads.ts";

/** The first backoff, in milliseconds, before a load that failed is tried again although the files are unchanged. */
const RETRY_MS = 5000;

export class SnapshotKeeper {
  readonly #options: SnapshotOptions;
  readonly #loads: SnapshotLoads;
  readonly #stopping = new AbortController();
  readonly #loading = new Coalesced(() => this.#loadAgain());
  readonly #pauses = new GrowingPauses(RETRY_MS);
  #allowsShrinkOnce = false;
  /** Whether somebody asked for the load: then a URL is asked even while its watch pauses, and a round is run. */
  #isAsked = false;
  /** Whether a refusal was told, and not its end. */
  #isRefusalTold = false;
  #watch: NodeJS.Timeout | undefined;
  #retry: NodeJS.Timeout | undefined;
  /** Fingerprint of the files at the last check, or why it failed. */
  #lastSeen: string | undefined;

  private constructor(options: SnapshotOptions, onGeneration: TakeGeneration) {
    this.#options = options;
    this.#loads = new SnapshotLoads(options, this.#stopping.signal, onGeneration);
  }

  /** @throws {SnapshotError} when the first load fails */
  static async open(options: SnapshotOptions, onGeneration: TakeGeneration): Promise<SnapshotKeeper> {
    const keeper = new SnapshotKeeper(options, onGeneration);
    await keeper.#load();
    return keeper;
  }

  get served(): ServedGeneration {
    return this.#loads.served;
  }

  /** Loads again; resolves with the outcome of that load. @param allowShrink whether it may accept a shrunk snapshot */
  async reload(allowShrink = false): Promise<SnapshotOutcome> {
    this.#allowsShrinkOnce ||= allowShrink;
    this.#isAsked = true;
    const { result, problems } = await this.#loading.ask();
    const { sourceProblem } = this.#loads;
    // Who asks for a reload must learn that its source cannot be used.
    const isUnused = result !== "refused" && sourceProblem !== undefined;
    return { result, problems: isUnused ? [sourceProblem] : problems };
  }

  watch(everyMs: number): void {
    this.#watch = setTimeout(() => {
      void this.#check().finally(() => {
        if (this.#watch !== undefined) this.watch(everyMs);
      });
    }, everyMs);
  }

  /** Stops the watch and the retries, and ends a running load and a round of the source. */
  stop(): void {
    this.#stopping.abort();
    clearTimeout(this.#watch);
    clearTimeout(this.#retry);
    this.#watch = undefined;
  }

  /** Stops, and releases the resources of the generation's search. */
  close(): void {
    this.stop();
    this.served.similar?.retire();
  }

  async #loadAgain(): Promise<SnapshotOutcome> {
    const late = refused("the server is stopping: nothing is loaded any more");
    if (this.#stopping.signal.aborted) return late;
    const outcome = await this.#load().catch((error: unknown) => {
      this.#options.observe({ kind: "defect", where: "reload", error });
      return refused("the load ended without a result; see the log");
    });
    // A load that the stop ended has changed nothing either.
    return this.#stopping.signal.aborted ? late : outcome;
  }

  /** @throws {SnapshotError} when nothing is served */
  async #load(): Promise<SnapshotOutcome> {
    clearTimeout(this.#retry);
    const allowShrink = this.#allowsShrinkOnce;
    const isAsked = this.#isAsked;
    this.#allowsShrinkOnce = false;
    this.#isAsked = false;
    const outcome = await this.#loads.load(allowShrink, isAsked ? "reload" : "watch");
    if (this.#stopping.signal.aborted) return outcome;
    if (outcome.failed) {
      // The files may be good: the load failed, not its input.
      this.#allowsShrinkOnce ||= allowShrink;
      const retryMs = this.#pauses.next();
      this.#tellRefused(outcome, retryMs);
      this.#retry = setTimeout(() => void this.#loading.ask(), retryMs).unref();
      return outcome;
    }
    this.#pauses.reset();
    if (outcome.result === "refused") this.#tellRefused(outcome);
    else this.#isRefusalTold = false;
    return outcome;
  }

  /** @throws {SnapshotError} when nothing is served */
  #tellRefused({ problems, changed }: Pick<LoadOutcome, "problems" | "changed">, retryMs?: number): void {
    const { generation } = this.served;
    if (generation === undefined) throw new SnapshotError(problems);
    this.#isRefusalTold = true;
    this.#options.observe({
      kind: "snapshot-refused",
      problems,
      serving: generation.store.id,
      ...(retryMs === undefined ? {} : { retryMs }),
      // Without a watch no further check follows.
      ...(changed && this.#watch !== undefined ? { changing: true } : {}),
    });
  }

  /** Loads when two checks in a row see the same new fingerprint: the writer is done. */
  async #check(): Promise<void> {
    const isLoading = (): boolean => this.#loading.isRunning;
    if (isLoading()) return;
    let seen: string;
    let isCurrent: boolean;
    try {
      seen = await this.#loads.check();
      // A load may have begun meanwhile.
      if (isLoading()) return;
      isCurrent = await this.#loads.noteServed(seen, isLoading);
    } catch (error) {
      if (!this.#stopping.signal.aborted) this.#tellUnreadable(error);
      return;
    }
    // A source delivers whole snapshots only.
    const settled = seen === this.#lastSeen || this.#options.source !== undefined;
    this.#lastSeen = seen;
    if (isCurrent) this.#tellBack();
    else if (settled && !isLoading() && !this.#loads.isOfNewestLoad(seen)) await this.#loading.ask();
  }

  /** Tells the end of a refusal: the served files are back, so that nothing is read. */
  #tellBack(): void {
    if (!this.#isRefusalTold) return;
    this.#isRefusalTold = false;
    const generation = this.served.generation!.store.id;
    this.#options.observe({ kind: "snapshot-unchanged", generation, ms: 0, read: [], kept: [...TABLES] });
  }

  /** Reports once why the folder cannot be read. */
  #tellUnreadable(error: unknown): void {
    const unread = `${this.#loads.folder}: cannot be read: ${problemText(error)}`;
    const problem = error instanceof SourceError ? error.message : unread;
    if (this.#lastSeen !== problem) this.#tellRefused({ problems: [problem] });
    this.#lastSeen = problem;
  }
}
