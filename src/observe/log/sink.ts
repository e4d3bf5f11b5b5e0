/**
 * Writes to standard error or standard output of a server, without waiting: waiting lines are bounded, further lines are
 * dropped and counted, and a failed write is retried.
 */

import { constants, fstatSync, openSync, statSync, write, writeSync } from "node:fs";
import { devNull } from "node:os";
import { isatty } from "node:tty";
import { problemText } from "../../util/system-error.ts";
import type { Observe } from "../events.ts";

/** Maximum size of a write, unless a single text is longer. */
const CHUNK_BYTES = 262_144;
/** Most bytes of a UTF-16 unit in UTF-8. */
const UNIT_BYTES = 3;
/** Maximum number of bytes that wait for the reader, and the one at which bulk lines are dropped. */
const MAX_BYTES = 4_194_304;
export const MAX_BULK_BYTES = 3_145_728;
/** After a drop, bulk lines are accepted again below this, so that gaps are few and their counts arrive. */
const RESUME_BYTES = MAX_BULK_BYTES / 2;

/** How long bulk lines wait for more: one write per line would cost as much as the request that it reports. */
const GATHER_MS = 50;
/** Retry interval while the reader is slow: enough time to empty a pipe. */
const SLOW_RETRY_MS = 5;
/** Retry interval while writes fail: the pipe has no reader, or the disk is full. */
const FAILED_RETRY_MS = 500;

const EXIT_PATIENCE_MS = 500;
/** A flush does not wait for a reader that has taken nothing for this time. */
const GONE_MS = 5000;

/** A descriptor of the same file, pipe or terminal that never blocks: a blocked write would keep the process from ending. */
export function openWithoutBlocking(fd: 1 | 2): number {
  const file = fstatSync(fd);
  if (!file.isFIFO() && !file.isSocket() && !isatty(fd)) return fd;
  if (!file.isSocket()) {
    try {
      // A new descriptor: every process that has the old one shares its mode.
      const { O_WRONLY, O_NONBLOCK, O_NOCTTY } = constants;
      return openSync(`/proc/self/fd/${fd}`, O_WRONLY | O_NONBLOCK | O_NOCTTY);
    } catch {
      // No such folder, another user's pipe, or a pipe without a reader.
    }
  }
  // Node makes pipes and sockets non-blocking when it creates their streams.
  void (fd === 1 ? process.stdout : process.stderr);
  return fd;
}

/** Whether writes are lost. If a descriptor was closed at the start of the process, Node opens the null device. */
export function leadsNowhere(fd: number): boolean {
  const file = fstatSync(fd);
  if (!file.isCharacterDevice()) return false;
  const nowhere = statSync(devNull, { throwIfNoEntry: false });
  return nowhere?.isCharacterDevice() === true && nowhere.rdev === file.rdev;
}

/** Encoded lines in a buffer; from `start` to `end` they wait. */
interface Chunk {
  readonly buffer: Buffer;
  start: number;
  end: number;
}

const sleeper = new Int32Array(new SharedArrayBuffer(4));

/** Writes a whole text synchronously. @param patienceMs timeout for a slow reader @throws the error of the system */
export function writeWhole(fd: number, text: string | Buffer, patienceMs = Number.POSITIVE_INFINITY): void {
  let rest = typeof text === "string" ? Buffer.from(text) : text;
  const deadline = performance.now() + patienceMs;
  while (rest.length > 0) {
    try {
      rest = rest.subarray(writeSync(fd, rest));
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code !== "EAGAIN" || performance.now() >= deadline) throw error;
      Atomics.wait(sleeper, 0, 0, SLOW_RETRY_MS);
    }
  }
}

/**
 * Takes lines for a reader that may be slow or gone. It is `idle` while no lines wait, `gathering` while bulk lines wait for
 * more, `writing` while the system has the first `#handed` bytes, and `pausing` between a failed write and the next one.
 */
export class Sink {
  readonly isTTY: boolean;
  readonly #goneMs: number;
  #state: "idle" | "gathering" | "writing" | "pausing" = "idle";
  readonly #fd: number;
  /** Waiting lines, oldest first. Each is encoded at once: joining texts first would cost more. */
  readonly #chunks: Chunk[] = [];
  /** Whether any of them must be written at once. */
  #isUrgent = false;
  #handed = 0;
  #waiting = 0;
  #stuckSince = 0;
  #dropped = 0;
  #skipsBulk = false;
  #exitPatienceMs = EXIT_PATIENCE_MS;
  /** Why the last write failed, until one succeeds. */
  #problem: string | undefined;
  #onDropped = (_lines: number): void => {};
  readonly #watchers: Observe[] = [];
  readonly #flushed = new Set<() => void>();

  /** @param fd does not block @param goneMs after which a reader that takes nothing counts as gone */
  constructor(fd: number, goneMs = GONE_MS) {
    this.#fd = fd;
    this.#goneMs = goneMs;
    this.isTTY = isatty(fd);
    process.on("exit", () => this.#writeAtExit());
  }

  /** Takes whole lines, or drops them. @param isBulk one of very many lines: dropped earlier, and written a moment later */
  write(text: string, isBulk = false): void {
    const most = isBulk ? MAX_BULK_BYTES : MAX_BYTES;
    if ((isBulk && this.#skipsBulk) || this.#waiting + text.length > most) {
      this.#skipsBulk = true;
      const lines = text.split("\n").length - 1;
      this.#dropped += lines;
      this.#tell({ kind: "log-lines-dropped", count: lines });
      // While lines wait, the end of their write reports it.
      if (this.#waiting === 0) this.#reportDropped();
      return;
    }
    if (this.#waiting === 0) this.#stuckSince = performance.now();
    this.#append(text);
    this.#isUrgent ||= !isBulk;
    if (this.#state === "idle" || this.#state === "gathering") this.#writeSoon();
  }

  /** @param listener called after each gap, with its number of dropped lines */
  onDropped(listener: (lines: number) => void): void {
    this.#onDropped = listener;
  }

  /** Observes dropped lines and failed writes at once, while they may not be written to the log yet. */
  watch(observe: Observe): void {
    this.#watchers.push(observe);
    if (this.#problem !== undefined) observe({ kind: "log-failed", problem: this.#problem });
  }

  readonly #tell: Observe = (observation) => {
    for (const observe of this.#watchers) observe(observation);
  };

  /** Tells why a write failed, once per reason, or that one succeeded again. */
  #judge(problem: string | undefined): void {
    if (problem === this.#problem) return;
    this.#problem = problem;
    this.#tell(problem === undefined ? { kind: "log-recovered" } : { kind: "log-failed", problem });
  }

  /** Resolves when everything is written, or after `patienceMs`. */
  flush(patienceMs = EXIT_PATIENCE_MS): Promise<void> {
    if (this.#waiting === 0) return Promise.resolve();
    this.#isUrgent = true;
    this.#writeNext();
    const isGone = performance.now() - this.#stuckSince > this.#goneMs;
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        this.#flushed.delete(done);
        resolve();
      };
      const giveUp = (): void => {
        // The reader had its time: the exit of the process waits no longer.
        this.#exitPatienceMs = 0;
        done();
      };
      const timer = setTimeout(giveUp, isGone ? 0 : patienceMs);
      this.#flushed.add(done);
    });
  }

  #append(text: string): void {
    const most = text.length * UNIT_BYTES;
    let chunk = this.#chunks.at(-1);
    if (chunk === undefined || chunk.end + most > chunk.buffer.length) {
      chunk = { buffer: Buffer.allocUnsafeSlow(Math.max(most, CHUNK_BYTES)), start: 0, end: 0 };
      this.#chunks.push(chunk);
    }
    const bytes = chunk.buffer.write(text, chunk.end);
    chunk.end += bytes;
    this.#waiting += bytes;
  }

  /** Writes, or waits for more lines if all waiting lines are bulk and fit into one chunk. */
  #writeSoon(): void {
    if (this.#isUrgent || this.#chunks.length > 1) this.#writeNext();
    else if (this.#state === "idle") {
      this.#state = "gathering";
      setTimeout(() => this.#writeNext(), GATHER_MS).unref();
    }
  }

  #writeNext(): void {
    if (this.#state === "writing" || this.#state === "pausing") return;
    const [chunk] = this.#chunks;
    this.#state = chunk === undefined ? "idle" : "writing";
    if (chunk === undefined) return;
    if (this.#chunks.length === 1) this.#isUrgent = false;
    this.#handed = chunk.end - chunk.start;
    write(this.#fd, chunk.buffer, chunk.start, this.#handed, null, (error, bytes) =>
      this.#written(chunk, error, bytes),
    );
  }

  #written(chunk: Chunk, error: NodeJS.ErrnoException | null, bytes: number): void {
    if (error !== null) {
      const isSlow = error.code === "EAGAIN";
      this.#pause(isSlow ? SLOW_RETRY_MS : FAILED_RETRY_MS);
      if (!isSlow) this.#judge(problemText(error));
      return;
    }
    this.#judge(undefined);
    this.#state = "idle";
    const isPart = bytes < this.#handed;
    chunk.start += bytes;
    this.#waiting -= bytes;
    if (chunk.start === chunk.end) this.#chunks.shift();
    this.#stuckSince = performance.now();
    if (this.#waiting < RESUME_BYTES) this.#reportDropped();
    if (this.#waiting === 0) for (const done of this.#flushed) done();
    else if (isPart) this.#writeNext();
    else this.#writeSoon();
  }

  #pause(ms: number): void {
    this.#state = "pausing";
    setTimeout(() => {
      this.#state = "idle";
      this.#writeNext();
    }, ms).unref();
  }

  #reportDropped(): void {
    this.#skipsBulk = false;
    if (this.#dropped === 0) return;
    const lines = this.#dropped;
    this.#dropped = 0;
    this.#onDropped(lines);
  }

  /** Writes the rest synchronously: an exiting process runs nothing asynchronous. */
  #writeAtExit(): void {
    const waiting = Buffer.concat(this.#chunks.map(({ buffer, start, end }) => buffer.subarray(start, end)));
    // In `writing`, another thread writes the first bytes, and the exit waits for it.
    const left = this.#state === "writing" ? waiting.subarray(this.#handed) : waiting;
    if (left.length === 0) return;
    try {
      writeWhole(this.#fd, left, this.#exitPatienceMs);
    } catch {
      // The rest is lost.
    }
  }
}
