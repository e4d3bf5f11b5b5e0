/**
 * Standard error and standard output of a server. Nothing that happens to
 * their reader holds the server up or ends it: writes are asynchronous, what
 * waits for the reader is bounded, lines beyond that are dropped and counted,
 * and whatever error a write meets, it is tried again.
 */

import { closeSync, write, writeSync } from "node:fs";
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
/** A reader who has taken nothing for so long is not waited for. */
const GONE_MS = 5000;

/** Makes the sink of standard output or standard error. */
export function createSink(fd: 1 | 2): Sink {
  return createSinkTo(openWithoutBlocking(fd));
}

/** A sink whose lines can be sent elsewhere. */
export interface MovableSink extends Sink {
  /** From the next line on all goes to another descriptor; the one before is closed. */
  readonly moveTo: (fd: number) => void;
}

const NEWLINE = 10;

/**
 * Makes a sink.
 *
 * @param own a descriptor that does not block; undefined when there is none yet
 * @param goneMs milliseconds after which a reader who takes nothing counts as gone
 */
export function createSinkTo(own: number | undefined, goneMs = GONE_MS): MovableSink {
  /** The descriptor that takes its place before anything else is written. */
  let next: number | undefined;
  /** Whether a part of the rest's first line is written. */
  let isInLine = false;
  const chunks: string[] = [];
  /** Bytes of the last chunk. */
  let lastBytes = 0;
  /** What is left of the chunk that is being written. */
  let rest = Buffer.alloc(0);
  /** Of the chunks and the rest. */
  let waiting = 0;
  /** Since when nothing of that was taken. */
  let stuckSince = 0;
  let writing = false;
  let pausing = false;
  let dropped = 0;
  let skipping = false;
  let exitPatience = EXIT_PATIENCE_MS;
  let listener = (_lines: number): void => {};
  const flushed = new Set<() => void>();

  /** Ends the line that was begun, if that can be done at once: its end is worth nothing elsewhere. */
  function endLine(fd: number): void {
    if (!isInLine) return;
    isInLine = false;
    const end = rest.subarray(0, rest.indexOf(NEWLINE) + 1);
    rest = rest.subarray(end.length);
    waiting -= end.length;
    try {
      if (writeSync(fd, end) === end.length) return;
    } catch {
      // It is lost.
    }
    dropped++;
  }

  function move(): void {
    if (next === undefined) return;
    const before = own;
    own = next;
    next = undefined;
    if (before === undefined) return;
    endLine(before);
    closeSync(before);
  }

  function writeNext(): void {
    if (writing) return;
    move();
    if (pausing || own === undefined) return;
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
    isInLine = bytes < rest.length && (bytes === 0 ? isInLine : rest[bytes - 1] !== NEWLINE);
    rest = rest.subarray(bytes);
    waiting -= bytes;
    stuckSince = performance.now();
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
    const fd = next ?? own;
    if (left.length === 0 || fd === undefined) return;
    try {
      writeWhole(fd, left, exitPatience);
    } catch {
      // As far as possible.
    }
  });

  return {
    isTTY: own !== undefined && isatty(own),
    moveTo(fd) {
      if (next !== undefined) closeSync(next);
      next = fd;
      // What failed there may be taken here.
      writeNext();
    },
    write(text, isBulk = false) {
      const bytes = Buffer.byteLength(text);
      if (isBulk ? skipping || waiting + bytes > MAX_BULK_BYTES : waiting + bytes > MAX_BYTES) {
        skipping = true;
        dropped++;
        return;
      }
      if (waiting === 0) stuckSince = performance.now();
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
      const isGone = performance.now() - stuckSince > goneMs;
      return new Promise((resolve) => {
        const done = (): void => {
          clearTimeout(timer);
          flushed.delete(done);
          resolve();
        };
        const timer = setTimeout(
          () => {
            // The reader had its time: the end of the process gives it no more.
            exitPatience = 0;
            done();
          },
          isGone ? 0 : patienceMs,
        );
        flushed.add(done);
      });
    },
  };
}
