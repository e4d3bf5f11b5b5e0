/**
 * Keeps the counts of the current window in a file (`--state`), so that a restart gives no key a new window.
 *
 * The file is read at a start and replaced every few seconds. Counts of windows that have not begun, from before the
 * clock was set back, are set aside: they stay in the file, and are taken up when their window comes.
 *
 * Two servers with one file know nothing of each other: each replaces it with its own counts.
 */

import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import zlib from "node:zlib";
import { removeLeftovers } from "../files/atomic.ts";
import { behindLinks } from "../files/foreign.ts";
import type { Observe } from "../observe/events.ts";
import { codeOf, problemText } from "../util/system-error.ts";
import { type Count, CountsFileError, readCountsFile, versionOf, writeCounts } from "./counts-file.ts";
import { addUsage, type Counters, slotOf, usageOf, windowAt } from "./limit.ts";

/** Interval between two writes. A write takes time, too, and a kill may cost the counts of five seconds. */
const EVERY_MS = 4500;
/** Interval of looks at the clock while counts are set aside: a clock that is corrected jumps into their window. */
const ASIDE_MS = 20;
const LAST_MS = 2000;
const LEFTOVER_MS = 60_000;
/** Most key ids whose counts are kept, including ids that are not in the keys file at the moment. Counts of more ids are dropped. */
const MAX_SLOTS = 1_000_000;

export interface KeepCountsOptions {
  readonly file: string;
  readonly counters: Counters;
  readonly observe: Observe;
  readonly everyMs?: number;
  /** Milliseconds since the epoch by the clock that cuts windows; that of the system when absent. */
  readonly windowClock?: () => number;
}

export class CountsKeeper {
  readonly #file: string;
  readonly #counters: Counters;
  readonly #observe: Observe;
  readonly #everyMs: number;
  readonly #windowClock: () => number;
  /** Counts of windows that have not begun, by window and id. */
  readonly #aside = new Map<string, Count>();
  /** The first of these windows: the clock is compared with it alone, since there may be a million counts. */
  #firstAside = Number.POSITIVE_INFINITY;
  #saved = "";
  #problem = "";
  #timer: NodeJS.Timeout | undefined;
  #asideTimer: NodeJS.Timeout | undefined;
  #isStopped = false;
  #saving: Promise<void> = Promise.resolve();

  /** @internal By {@link keepCounts}. @param file without symbolic links */
  constructor(file: string, options: KeepCountsOptions) {
    const { counters, observe, everyMs = EVERY_MS, windowClock = Date.now } = options;
    this.#file = file;
    this.#counters = counters;
    this.#observe = observe;
    this.#everyMs = everyMs;
    this.#windowClock = windowClock;
  }

  /** @internal Adds the counts of the file. */
  async restore(): Promise<void> {
    const file = this.#file;
    try {
      const keys = await this.#take();
      if (keys > 0 || this.#aside.size === 0) this.#observeRestored(keys);
      if (this.#aside.size === 0) return;
      const begins = this.#firstAside * this.#counters.windowSeconds;
      this.#observe({ kind: "state-set-aside", file, counts: this.#aside.size, begins });
    } catch (error) {
      if (codeOf(error) === "ENOENT") return;
      const isOld = error instanceof CountsFileError && error.isOld;
      this.#observe({
        kind: "state-refused",
        file,
        problem: problemText(error),
        ...(isOld ? { isOld } : {}),
      });
    }
  }

  /** Begins to write the file now and then. */
  begin(): void {
    this.#wait(this.#everyMs);
  }

  /** Writes the file for the last time; call it when all requests were answered. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearInterval(this.#asideTimer);
    clearTimeout(this.#timer);
    if (this.#timer === undefined) return;
    // A disk that hangs must not delay the end.
    await Promise.race([this.#saveNext(), sleep(LAST_MS, undefined, { ref: false })]);
  }

  #window(): number {
    return windowAt(this.#counters, this.#windowClock());
  }

  #observeRestored(keys: number): void {
    const reset = (this.#window() + 1) * this.#counters.windowSeconds;
    this.#observe({ kind: "state-restored", file: this.#file, keys, reset });
  }

  async #tick(): Promise<void> {
    const began = performance.now();
    await this.#saveNext();
    if (!this.#isStopped) this.#wait(Math.max(0, this.#everyMs - (performance.now() - began)));
  }

  #wait(pause: number): void {
    if (this.#aside.size > 0) this.#asideTimer ??= setInterval(() => this.#takeAside(), ASIDE_MS);
    this.#timer = setTimeout(() => this.#tick(), pause);
  }

  #saveNext(): Promise<void> {
    this.#saving = this.#saving
      .then(() => this.#save())
      .catch((error: unknown) => this.#observe({ kind: "defect", where: "state", error }));
    return this.#saving;
  }

  async #save(): Promise<void> {
    const file = this.#file;
    try {
      await this.#replace();
      if (this.#problem !== "") this.#observe({ kind: "state-recovered", file });
      this.#problem = "";
    } catch (error) {
      const before = this.#problem;
      this.#problem = problemText(error);
      if (this.#problem !== before) this.#observe({ kind: "state-failed", file, problem: this.#problem });
    }
  }

  async #replace(): Promise<void> {
    const file = this.#file;
    const { windowSeconds } = this.#counters;
    const window = this.#window();
    const counts = `${window} ${this.#sumOfCells()} ${this.#aside.size}`;
    // A file that is gone, damaged or another server's is written again, too.
    const found = await stat(file).then(versionOf, () => "");
    if (`${counts} ${found}` === this.#saved) return;
    this.#saved = `${counts} ${await writeCounts(file, { windowSeconds, window }, this.#counts())}`;
  }

  *#counts(): Generator<Count> {
    for (const [id, slot] of this.#counters.slots) {
      const usage = usageOf(this.#counters, slot);
      if (usage.used > 0) yield { id, ...usage };
    }
    yield* this.#aside.values();
  }

  /** Adds the counts of the file to the counters, and sets later ones aside. @returns the number of counts that were added */
  async #take(): Promise<number> {
    const current = this.#window();
    const { slots, windowSeconds } = this.#counters;
    const found: Count[] = [];
    let unknown = 0;
    const head = await readCountsFile(
      this.#file,
      (first) => {
        if (first.windowSeconds === windowSeconds) return;
        throw new CountsFileError(`is of windows of ${first.windowSeconds} s, not of ${windowSeconds} s`);
      },
      (count) => {
        if (count.window < current) return;
        if (!slots.has(count.id) && slots.size + ++unknown > MAX_SLOTS) return;
        found.push(count);
      },
    );
    if (found.length === 0 && head.window < current) {
      throw new CountsFileError("is of a window that is over", true);
    }
    let added = 0;
    for (const count of found) {
      // A clock that was set back a little refunds nothing: as in a running server, the next window has begun.
      if (count.window <= current + 1) {
        this.#add(count);
        added++;
      } else this.#setAside(count);
    }
    return added;
  }

  #add({ id, window, used }: Count): void {
    addUsage(this.#counters, slotOf(this.#counters, id), window, used);
  }

  #setAside(count: Count): void {
    this.#aside.set(`${count.window} ${count.id}`, count);
    this.#firstAside = Math.min(this.#firstAside, count.window);
  }

  /** Adds the counts whose window has come, and drops those of windows that were skipped. */
  #takeAside(): void {
    const current = this.#window();
    // A little early, so that no request is the first of its window.
    const soon = windowAt(this.#counters, this.#windowClock() + 2 * ASIDE_MS);
    if (soon < this.#firstAside) return;
    const waiting = [...this.#aside.values()];
    this.#aside.clear();
    this.#firstAside = Number.POSITIVE_INFINITY;
    let added = 0;
    for (const count of waiting) {
      if (count.window > soon) this.#setAside(count);
      else if (count.window >= current) {
        this.#add(count);
        added++;
      }
    }
    if (added > 0) this.#observeRestored(added);
    if (this.#aside.size > 0) return;
    clearInterval(this.#asideTimer);
    this.#asideTimer = undefined;
  }

  /** A checksum of all counts. */
  #sumOfCells(): number {
    const { cells, slots } = this.#counters;
    return zlib.crc32(cells.subarray(0, slots.size));
  }
}

/**
 * Restores the counts of a file and creates its keeper. Never rejects: a counts file that cannot be used is observed
 * and later replaced; any other file is observed and left unchanged.
 */
export async function keepCounts(options: KeepCountsOptions): Promise<CountsKeeper> {
  const file = await behindLinks(options.file).catch(() => resolve(options.file));
  const keeper = new CountsKeeper(file, options);
  await keeper.restore();
  await removeLeftovers(file, LEFTOVER_MS);
  return keeper;
}
