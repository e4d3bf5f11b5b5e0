/** Reading and writing a file of counts, in parts, so that neither holds up requests or fills memory. */

import { constants } from "node:fs";
import { type FileHandle, open, stat } from "node:fs/promises";
import { setImmediate as nextTurn } from "node:timers/promises";
import { crc32 } from "node:zlib";
import { replaceFile } from "../files/atomic.ts";
import { ForeignFileError, isForeign } from "../files/foreign.ts";
import { codeOf } from "../util/system-error.ts";
import {
  BEGINNING,
  type Count,
  CountsFileError,
  type CountsHead,
  countLine,
  endLine,
  headLine,
  MAX_LINE_BYTES,
  parseCount,
  parseHead,
} from "./counts-format.ts";
import { type Counters, type Usage, usageOf } from "./limit.ts";

/** Most bytes of a file: room for some four million keys. */
const MAX_FILE_BYTES = 134_217_728;
/** Most keys in one. */
const MAX_KEYS = 4_194_304;
const READ_BYTES = 262_144;
const WRITE_BYTES = 65_536;
/** How long counts are written out before requests get their turn. */
const SLICE_MS = 0.5;
/** Keys between two looks at the clock. */
const LOOK_KEYS = 64;

/** Opens a file for reading; a pipe does not wait for who writes to it. @throws {CountsFileError} */
async function openFile(file: string): Promise<{ handle: FileHandle; size: number }> {
  const handle = await open(file, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  try {
    const stats = await handle.stat();
    if (!stats.isFile()) throw new CountsFileError("is not a regular file");
    if (stats.size > MAX_FILE_BYTES) throw new CountsFileError("is too large for a file of counts");
    return { handle, size: stats.size };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

async function firstBytes(handle: FileHandle, count: number): Promise<string> {
  const { bytesRead, buffer } = await handle.read(Buffer.alloc(count), 0, count, 0);
  return buffer.toString("latin1", 0, bytesRead);
}

/** Most bytes of a first line. */
const MAX_HEAD_BYTES = 1024;

/**
 * Reads the first line alone.
 *
 * @throws {CountsFileError} or the error of the system
 */
export async function readHead(file: string): Promise<CountsHead> {
  const { handle } = await openFile(file);
  try {
    const text = await firstBytes(handle, MAX_HEAD_BYTES);
    return parseHead(text.slice(0, Math.max(0, text.indexOf("\n"))));
  } finally {
    await handle.close();
  }
}

/**
 * Reads a whole file.
 *
 * @param isWanted looks at the first line; may throw to refuse the rest
 * @param onCount receives each count, before it is known whether the file is whole
 * @throws {CountsFileError} when it cannot be used, or the error of the system
 */
export async function readCounts(
  file: string,
  isWanted: (head: CountsHead) => void,
  onCount: (count: Count, head: CountsHead) => void,
): Promise<CountsHead> {
  const { handle, size } = await openFile(file);
  try {
    let head: CountsHead | undefined;
    let sum = 0;
    let keys = 0;
    let rest = "";
    let end: string | undefined;
    const take = (line: string): void => {
      if (end !== undefined) throw new CountsFileError("is damaged: it goes on behind its end");
      const text = line.slice(0, -1);
      if (head === undefined) {
        head = parseHead(text);
        isWanted(head);
      } else if (text.startsWith("{")) {
        end = line;
        return;
      } else {
        if (++keys > MAX_KEYS) throw new CountsFileError("has too many keys");
        onCount(parseCount(text), head);
      }
    };
    const buffer = Buffer.alloc(READ_BYTES);
    for (let at = 0; at < size; ) {
      const { bytesRead } = await handle.read(buffer, 0, Math.min(READ_BYTES, size - at), at);
      if (bytesRead === 0) break;
      at += bytesRead;
      const text = rest + buffer.toString("latin1", 0, bytesRead);
      let from = 0;
      for (let to = text.indexOf("\n"); to >= 0; to = text.indexOf("\n", from)) {
        take(text.slice(from, to + 1));
        from = to + 1;
      }
      // All that was taken but the last line, which holds the sum.
      const counted = Buffer.from(text.slice(0, from - (end?.length ?? 0)), "latin1");
      sum = crc32(counted, sum);
      rest = text.slice(from);
      if (rest.length > MAX_LINE_BYTES) throw new CountsFileError("is damaged: a line has no end");
    }
    if (head === undefined) throw new CountsFileError(size === 0 ? "is empty" : "is no file of counts");
    if (end === undefined || rest !== "") throw new CountsFileError("is damaged: it has no end");
    if (end !== endLine(keys, sum)) throw new CountsFileError("is damaged: its checksum is wrong");
    return head;
  } finally {
    await handle.close();
  }
}

/** Looks at the counts of all keys, a few at a time, so that requests get their turn. */
async function visitCounts(
  counters: Counters,
  visit: (id: string, usage: Usage) => void,
  onPause: () => Promise<void> | undefined,
): Promise<void> {
  let began = performance.now();
  let seen = 0;
  for (const [id, slot] of counters.slots) {
    visit(id, usageOf(counters, slot));
    if (++seen % LOOK_KEYS !== 0 || performance.now() - began < SLICE_MS) continue;
    await onPause();
    await nextTurn();
    began = performance.now();
  }
}

/** How many windows a count is ahead of a file, or -1 when it is not for that file. */
function aheadOf(head: Pick<CountsHead, "window">, { window }: Usage): number {
  const ahead = window - head.window;
  // Further ahead the clock was wrong for long; such counts are not worth keeping.
  return ahead === 0 || ahead === 1 ? ahead : -1;
}

/** A number that is another one whenever a file of that window would be: counts only grow. */
export async function sumOfCounts(counters: Counters, window: number): Promise<number> {
  let sum = 0;
  await visitCounts(
    counters,
    (_id, usage) => {
      const ahead = aheadOf({ window }, usage);
      if (ahead >= 0) sum += usage.used + ahead;
    },
    () => undefined,
  );
  return sum;
}

/** Writes all counts of a window and the next. */
async function writeTo(handle: FileHandle, head: CountsHead, counters: Counters): Promise<void> {
  let text = headLine(head);
  let sum = 0;
  let keys = 0;
  let bytes = 0;
  const flush = async (): Promise<void> => {
    const buffer = Buffer.from(text, "latin1");
    text = "";
    bytes += buffer.length;
    if (bytes > MAX_FILE_BYTES) throw new CountsFileError("would become too large");
    sum = crc32(buffer, sum);
    await handle.writeFile(buffer);
  };
  await visitCounts(
    counters,
    (id, usage) => {
      const ahead = aheadOf(head, usage);
      if (ahead < 0) return;
      const line = countLine(id, usage.used, ahead);
      // Not even read again.
      if (line.length >= MAX_LINE_BYTES) return;
      text += line;
      keys++;
    },
    () => (text.length < WRITE_BYTES ? undefined : flush()),
  );
  await flush();
  text = endLine(keys, sum);
  await flush();
}

/**
 * Finds out whether a file may be replaced: only an empty file or one of counts is, even if that is damaged.
 *
 * @throws {ForeignFileError} or the error of the system
 */
export async function refuseForeign(file: string): Promise<void> {
  const stats = await stat(file).catch((error: unknown) => {
    if (codeOf(error) !== "ENOENT") throw error;
  });
  if (stats !== undefined && !stats.isFile())
    throw new ForeignFileError("is not a regular file, and is not replaced");
  if (await isForeign(file, BEGINNING))
    throw new ForeignFileError("is no file of counts, and is not replaced");
}

/**
 * Replaces the file in one step, mode 0600.
 *
 * @param file without symbolic links
 * @throws {ForeignFileError} or the error of the system; the old file stays then
 */
export async function writeCounts(file: string, head: CountsHead, counters: Counters): Promise<void> {
  await refuseForeign(file);
  await replaceFile(file, (handle) => writeTo(handle, head, counters), { mode: 0o600 });
}
