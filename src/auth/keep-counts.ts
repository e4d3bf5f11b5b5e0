/**
 * Keeps the counts of the current window in a file (`--state`), so that a restart gives no key a new window.
 *
 * Two servers may share the file for a moment, when one replaces the other. Then the server that started first writes
 * it. The other follows: it adds the first server's new counts to its own, and writes as soon as the file is marked as
 * the last, or no longer changes. So every count is handed over exactly once, and no lock outlives a process.
 *
 * States: opened → following (another server writes) ⇄ writing → stopped.
 */

import { randomBytes } from "node:crypto";
import { resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import zlib from "node:zlib";
import { removeLeftovers } from "../files/atomic.ts";
import { behindLinks } from "../files/foreign.ts";
import type { Observe } from "../observe/events.ts";
import { codeOf, problemText } from "../util/system-error.ts";
import {
  type Count,
  CountsFileError,
  type CountsHead,
  readCountsFile,
  readCountsHead,
  writeCounts,
} from "./counts-file.ts";
import { type Counters, slotOf, takeUsage, windowAt } from "./limit.ts";

/** Interval between two writes. A write takes time, too, and a kill may cost the counts of five seconds. */
const EVERY_MS = 4500;
/** Short: this server takes the file over before a third one can find it. */
const FOLLOW_MS = 50;
const LAST_MS = 2000;
const LEFTOVER_MS = 60_000;
/**
 * Most key ids whose counts are kept, including ids that are not in the keys file at the moment. Counts of more ids are
 * dropped.
 */
const MAX_SLOTS = 1_000_000;

export interface KeepCountsOptions {
  readonly file: string;
  readonly counters: Counters;
  readonly observe: Observe;
  readonly everyMs?: number;
  readonly now?: () => number;
  /** Milliseconds since the epoch by the clock that cuts windows; `now` when absent. */
  readonly windowClock?: () => number;
}

export class CountsKeeper {
  readonly #file: string;
  readonly #counters: Counters;
  readonly #observe: Observe;
  readonly #everyMs: number;
  /** Interval between two checks of the file while another server writes it. */
  readonly #followMs: number;
  readonly #windowClock: () => number;
  readonly #self: Pick<CountsHead, "writer" | "started">;
  #sequence = 0;
  /** First line of another server's newest file whose counts were added. */
  #seen: CountsHead | undefined;
  #seenAt = 0;
  #saved = "";
  #problem = "";
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;
  /** Whether another server writes the file, or may be about to. */
  #isFollowing = false;
  #saving: Promise<void> = Promise.resolve();

  /** @internal By {@link keepCounts}. @param file without symbolic links */
  constructor(file: string, options: KeepCountsOptions) {
    const { counters, observe, everyMs = EVERY_MS, now = Date.now, windowClock = now } = options;
    this.#file = file;
    this.#counters = counters;
    this.#observe = observe;
    this.#everyMs = everyMs;
    this.#followMs = Math.min(FOLLOW_MS, everyMs);
    this.#windowClock = windowClock;
    this.#self = { writer: randomBytes(8).toString("hex"), started: now() };
  }

  /** @internal Adds the counts of the file. */
  async restore(): Promise<void> {
    const file = this.#file;
    try {
      const { head, keys } = await this.#take();
      this.#seen = head;
      this.#seenAt = performance.now();
      this.#isFollowing = !head.last;
      const reset = (this.#window() + 1) * this.#counters.windowSeconds;
      this.#observe({ kind: "state-restored", file, keys, reset });
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

  begin(): void {
    this.#timer = setTimeout(() => this.#tick(), this.#isFollowing ? this.#followMs : 0);
  }

  /** Writes the file for the last time; call it when all requests were answered. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    if (this.#timer === undefined) return;
    // A disk that hangs must not delay the end.
    await Promise.race([this.#saveNext(true), sleep(LAST_MS, undefined, { ref: false })]);
  }

  #window(): number {
    return windowAt(this.#counters, this.#windowClock());
  }

  async #tick(): Promise<void> {
    const began = performance.now();
    await this.#saveNext(false);
    const pause = this.#isFollowing ? this.#followMs : this.#everyMs - (performance.now() - began);
    if (!this.#isStopped) this.#timer = setTimeout(() => this.#tick(), Math.max(0, pause));
  }

  #saveNext(last: boolean): Promise<void> {
    this.#saving = this.#saving
      .then(() => this.#save(last))
      .catch((error: unknown) => this.#observe({ kind: "defect", where: "state", error }));
    return this.#saving;
  }

  async #save(last: boolean): Promise<void> {
    const file = this.#file;
    try {
      this.#isFollowing = await this.#follow();
      if (this.#isFollowing && !last) return;
      await this.#write(last);
      if (this.#problem !== "") this.#observe({ kind: "state-recovered", file });
      this.#problem = "";
    } catch (error) {
      const before = this.#problem;
      this.#problem = problemText(error);
      if (this.#problem !== before) this.#observe({ kind: "state-failed", file, problem: this.#problem });
    }
  }

  /** Adds the counts of a server that started earlier. @returns whether that server continues to write */
  async #follow(): Promise<boolean> {
    const head = await readCountsHead(this.#file).catch(() => undefined);
    // If the file is gone, damaged or another server's, it must be written again.
    if (head?.writer !== this.#self.writer) this.#saved = "";
    if (head === undefined || head.started >= this.#self.started) return false;
    if (this.#seen?.writer !== head.writer || this.#seen.sequence !== head.sequence) {
      this.#seenAt = performance.now();
      const taken = await this.#take().catch(() => undefined);
      this.#seen = taken?.head;
    }
    return this.#seen?.last === false && performance.now() - this.#seenAt < this.#everyMs;
  }

  /** Adds the counts of the file to the counters. @returns its first line, and the number of counts that apply */
  async #take(): Promise<{ readonly head: CountsHead; readonly keys: number }> {
    const current = this.#window();
    const { slots } = this.#counters;
    const found: Count[] = [];
    let unknown = 0;
    const head = await readCountsFile(
      this.#file,
      (first) => this.#checkHead(first, current),
      (count) => {
        if (count.window !== current && count.window !== current + 1) return;
        if (!slots.has(count.id) && slots.size + ++unknown > MAX_SLOTS) return;
        found.push(count);
      },
    );
    if (found.length === 0 && head.window < current) {
      throw new CountsFileError("is of a window that is over", true);
    }
    for (const { id, window, used } of found)
      takeUsage(this.#counters, slotOf(this.#counters, id), window, used);
    return { head, keys: found.length };
  }

  #checkHead({ windowSeconds, window }: CountsHead, current: number): void {
    const ours = this.#counters.windowSeconds;
    if (windowSeconds !== ours) {
      throw new CountsFileError(`is of windows of ${windowSeconds} s, not of ${ours} s`);
    }
    // A count may be one window ahead of its file.
    if (window < current - 1) throw new CountsFileError("is of a window that is over", true);
    // A clock that was set back a little refunds nothing. If it was set back further, it was wrong before.
    if (window > current + 1) throw new CountsFileError("is of a window that is far from having begun");
  }

  /** A number that differs when the file would: counts only grow. */
  #sumOfCells(): number {
    const { cells, slots } = this.#counters;
    return zlib.crc32(cells.subarray(0, slots.size));
  }

  async #write(last: boolean): Promise<void> {
    const window = this.#window();
    const sum = `${window} ${this.#sumOfCells()} ${last}`;
    if (sum === this.#saved) return;
    const { windowSeconds } = this.#counters;
    const head = { windowSeconds, window, ...this.#self, sequence: ++this.#sequence, last };
    await writeCounts(this.#file, head, this.#counters);
    this.#saved = sum;
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
