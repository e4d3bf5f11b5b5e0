/**
 * Standard error and standard output of a server. Nothing that happens to
 * their reader holds the server up or ends it: writes are asynchronous, what
 * waits for the reader is bounded, lines beyond that are dropped and counted,
 * and whatever error a write meets, it is tried again.
 *
 * The log library's own destination would not do: it is silent for ever behind
 * EPIPE, waits 100 ms whenever a pipe is full, and its last flush never ends
 * where a write fails, so neither would the process.
 */

import { write } from "node:fs";
import { isatty } from "node:tty";
import { openWithoutBlocking, writeWhole } from "./descriptor.ts";

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

/** Lines are written together up to about this size. */
const CHUNK_BYTES = 16_384;
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
  const chunks: string[] = [];
  /** Bytes of the last chunk. */
  let lastBytes = 0;
  /** What is left of the chunk that is being written. */
  let rest = Buffer.alloc(0);
  /** Of the chunks and the rest. */
  let waiting = 0;
  let writing = false;
  let pausing = false;
  let dropped = 0;
  let skipping = false;
  let exitPatience = EXIT_PATIENCE_MS;
  let listener = (_lines: number): void => {};
  const flushed = new Set<() => void>();

  function writeNext(): void {
    if (writing || pausing) return;
    if (rest.length === 0) {
      const chunk = chunks.shift();
      if (chunk === undefined) return;
      rest = Buffer.from(chunk);
    }
    writing = true;
    write(own, rest, onWritten);
  }

  function onWritten(error: NodeJS.ErrnoException | null, bytes: number): void {
    writing = false;
    if (error !== null) {
      pausing = true;
      const pause = error.code === "EAGAIN" ? SLOW_RETRY_MS : FAILED_RETRY_MS;
      setTimeout(() => {
        pausing = false;
        writeNext();
      }, pause).unref();
      return;
    }
    rest = rest.subarray(bytes);
    waiting -= bytes;
    if (waiting < RESUME_BYTES) tellOfDropped();
    if (waiting === 0) for (const done of flushed) done();
    else writeNext();
  }

  function tellOfDropped(): void {
    skipping = false;
    if (dropped === 0) return;
    const lines = dropped;
    dropped = 0;
    listener(lines);
  }

  // Nothing asynchronous happens any more then.
  process.on("exit", () => {
    // What is under way is written by another thread, which the end waits for.
    const left = Buffer.concat([writing ? Buffer.alloc(0) : rest, Buffer.from(chunks.join(""))]);
    if (left.length === 0) return;
    try {
      writeWhole(own, left, exitPatience);
    } catch {
      // As far as possible.
    }
  });

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
      if (chunks.length > 0 && lastBytes + bytes <= CHUNK_BYTES) {
        chunks[chunks.length - 1] += text;
        lastBytes += bytes;
      } else {
        chunks.push(text);
        lastBytes = bytes;
      }
      writeNext();
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
          // The reader had its time: the end of the process gives it no more.
          exitPatience = 0;
          done();
        }, patienceMs);
        flushed.add(done);
      });
    },
  };
}
