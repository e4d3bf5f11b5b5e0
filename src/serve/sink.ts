/**
 * Standard error and standard output of a server. Nothing that happens to
 * their reader holds the server up or ends it: writes are asynchronous, what
 * waits for the reader is bounded, lines beyond that are dropped and counted,
 * and whatever error a write meets, it is tried again.
 */

import { isatty } from "node:tty";
import { pino } from "pino";
import { openWithoutBlocking } from "./descriptor.ts";

/** Takes lines for a reader that may be slow or gone. */
export interface Sink {
  /** Whether the reader is a terminal. */
  readonly isTTY: boolean;
  /**
   * Takes one line or more, whole, or drops them.
   *
   * @param isBulk one of very many: dropped earlier, so that there is room for others
   */
  write(text: string, isBulk?: boolean): void;
  /** Calls back, when lines flow again, with the number of those that were dropped. */
  onDropped(listener: (lines: number) => void): void;
  /** Resolves when everything is written, or after so many milliseconds. */
  flush(patienceMs: number): Promise<void>;
}

/** Most bytes that wait for the reader. */
const MAX_BYTES = 4_194_304;
/** Most of them when a bulk line comes. */
const MAX_BULK_BYTES = 3_145_728;
/** Bulk lines that were dropped are taken again below this, so that gaps are few and their counts arrive. */
const RESUME_BYTES = MAX_BULK_BYTES / 2;

/** Between attempts while the reader is slow: in that time it can empty a pipe. */
const SLOW_RETRY_MS = 5;
/** Between attempts while writing fails: nobody reads, or the disk is full. */
const FAILED_RETRY_MS = 500;

/** How long the end of the process waits for the reader. */
export const EXIT_PATIENCE_MS = 500;

/** Makes the sink of standard output or standard error. */
export function createSink(fd: 1 | 2): Sink {
  const own = openWithoutBlocking(fd);
  let deadline = 0;
  const destination = pino.destination({
    dest: own,
    sync: false,
    // With 1, not 0, `flush` tries again what could not be written.
    minLength: 1,
    maxLength: MAX_BYTES,
    // Its own pause between attempts would let a pipe pass no more than 640 kB a second once its reader was slow.
    retryEAGAIN: () => performance.now() < deadline,
  });
  // What it listens with silences it for ever when the reader goes; that of a named pipe may be followed by another.
  destination.removeAllListeners("error");

  let waiting = 0;
  let dropped = 0;
  let skipping = false;
  let listener = (_lines: number): void => {};
  let retrying = false;
  const flushed = new Set<() => void>();

  destination.on("error", ({ code }: NodeJS.ErrnoException) => {
    const pause = code === "EAGAIN" ? SLOW_RETRY_MS : FAILED_RETRY_MS;
    if (retrying) return;
    retrying = true;
    setTimeout(() => {
      retrying = false;
      if (waiting > 0) destination.flush();
    }, pause).unref();
  });
  destination.on("write", (bytes: number) => {
    waiting = Math.max(0, waiting - bytes);
    if (waiting < RESUME_BYTES) tellOfDropped();
    if (waiting > 0) return;
    for (const done of flushed) done();
  });
  // The library's own bound, should its count ever differ from ours.
  destination.on("drop", (text: string) => {
    waiting = Math.max(0, waiting - Buffer.byteLength(text));
    dropped++;
  });

  function tellOfDropped(): void {
    skipping = false;
    if (dropped === 0) return;
    const lines = dropped;
    dropped = 0;
    listener(lines);
  }

  /** At the end of the process, where nothing asynchronous can happen any more. The library calls it, too. */
  const flushSync = destination.flushSync.bind(destination);
  destination.flushSync = () => {
    deadline ||= performance.now() + EXIT_PATIENCE_MS;
    if (waiting === 0) return;
    try {
      flushSync();
    } catch {
      // As far as possible.
    }
  };

  return {
    isTTY: isatty(own),
    write(text, isBulk = false) {
      const bytes = Buffer.byteLength(text);
      if (isBulk ? skipping || waiting + bytes > MAX_BULK_BYTES : waiting + bytes > MAX_BYTES) {
        skipping = true;
        dropped++;
        return;
      }
      waiting += bytes;
      destination.write(text);
    },
    onDropped(newListener) {
      listener = newListener;
    },
    flush(patienceMs) {
      if (waiting === 0) return Promise.resolve();
      return new Promise((resolve) => {
        const done = (): void => {
          clearTimeout(timer);
          flushed.delete(done);
          resolve();
        };
        const timer = setTimeout(() => {
          // The reader had its time: the end of the process asks for no more.
          deadline = performance.now();
          done();
        }, patienceMs);
        flushed.add(done);
      });
    },
  };
}
