/**
 * The counts file: its format, and reading and writing it in parts, so that neither delays requests or fills memory. The
 * text is ASCII, one entry per line:
 *
 *     {"format":"orrery-counts/1","windowSeconds":3600,"window":489123,"writer":"…","started":…,"sequence":7,"last":false}
 *     ["key_0123456789abcdef",12]
 *     ["key_fedcba9876543210",3,1]
 *     {"keys":2,"crc32":"0123abcd"}
 *
 * The first line gives the window of the counts, counted from the epoch, and the writer. A third number says how many
 * windows a count is ahead of that window: it appears if the clock was set back. The last line has the checksum of all
 * lines before it. The file contains no data of keys but their ids and counts.
 */

import { constants } from "node:fs";
import { type FileHandle, open, stat } from "node:fs/promises";
import { setImmediate as nextTurn } from "node:timers/promises";
import zlib from "node:zlib";
import { replaceFile } from "../files/atomic.ts";
import { ForeignFileError, isForeign } from "../files/foreign.ts";
import { isCount, isObject, parsedJson } from "../util/json.ts";
import { codeOf } from "../util/system-error.ts";
import { type Counters, usageOf } from "./limit.ts";

const FORMAT = "orrery-counts/1";

/** Every counts file begins like this, in any version. */
const BEGINNING = '{"format":"orrery-counts/';

export interface CountsHead {
  readonly windowSeconds: number;
  /** Counted from the epoch. */
  readonly window: number;
  /** Unique to each run of a server. */
  readonly writer: string;
  /** When that run began, in milliseconds since the epoch. */
  readonly started: number;
  readonly sequence: number;
  /** Whether the writer has stopped and writes no other. */
  readonly last: boolean;
}

interface Count {
  readonly id: string;
  readonly used: number;
  /** Window of the count minus window of the file. */
  readonly ahead: number;
}

/** The file cannot be used; the message says why and quotes nothing of it. */
export class CountsFileError extends Error {
  override name = "CountsFileError";
  /** Whether its age is the only problem. */
  readonly isOld: boolean;

  constructor(message: string, isOld = false) {
    super(message);
    this.isOld = isOld;
  }
}

const MAX_LINE_BYTES = 65_536;

/** Reads the first line. @throws {CountsFileError} if it is invalid or of another version */
function parseHead(line: string): CountsHead {
  const head = parsedJson(line);
  if (!isObject(head) || !Object.hasOwn(head, "format")) throw new CountsFileError("is no file of counts");
  const { format, windowSeconds, window, writer, started, sequence, last } = head;
  if (format !== FORMAT) throw new CountsFileError(`is of another version: ${FORMAT} is needed`);
  const isWhole = [windowSeconds, window, started, sequence].every(isCount);
  if (!isWhole || typeof writer !== "string" || typeof last !== "boolean") {
    throw new CountsFileError("is damaged: its first line");
  }
  return head as unknown as CountsHead;
}

const PLAIN_ID = /^[\w.:-]*$/;
const NOT_ASCII = /[^\x20-\x7e]/g;

function escaped(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

function countLine({ id, used, ahead }: Count): string {
  const text = PLAIN_ID.test(id) ? `"${id}"` : JSON.stringify(id).replace(NOT_ASCII, escaped);
  return ahead === 0 ? `[${text},${used}]\n` : `[${text},${used},${ahead}]\n`;
}

const PLAIN_COUNT = /^\["([\w.:-]*)",([1-9]\d{0,14})\]$/;

function parseCount(line: string): Count {
  const plain = PLAIN_COUNT.exec(line);
  if (plain !== null) return { id: plain[1]!, used: Number(plain[2]), ahead: 0 };
  const value = parsedJson(line);
  if (Array.isArray(value) && (value.length === 2 || value.length === 3)) {
    const [id, used, ahead = 0] = value as unknown[];
    if (typeof id === "string" && isCount(used) && used > 0 && isCount(ahead)) return { id, used, ahead };
  }
  throw new CountsFileError("is damaged: a line that is no count");
}

function endLine(keys: number, crc32: number): string {
  return `${JSON.stringify({ keys, crc32: crc32.toString(16).padStart(8, "0") })}\n`;
}

/** Maximum size of a file: room for about four million keys. */
const MAX_FILE_BYTES = 134_217_728;
const MAX_KEYS = 4_194_304;
const READ_BYTES = 262_144;
const WRITE_BYTES = 65_536;
/** Time slice for collecting counts before requests get a turn. */
const SLICE_MS = 0.5;
const LOOK_KEYS = 64;

/** Opens a file for reading; on a pipe it does not wait for a writer. @throws {CountsFileError} */
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

const MAX_HEAD_BYTES = 1024;

/** Reads the first line alone. @throws {CountsFileError} or the error of the system */
export async function readCountsHead(file: string): Promise<CountsHead> {
  const { handle } = await openFile(file);
  try {
    const { bytesRead, buffer } = await handle.read(Buffer.alloc(MAX_HEAD_BYTES), 0, MAX_HEAD_BYTES, 0);
    const text = buffer.toString("latin1", 0, bytesRead);
    return parseHead(text.slice(0, Math.max(0, text.indexOf("\n"))));
  } finally {
    await handle.close();
  }
}

/**
 * Reads a whole file.
 *
 * @param isWanted checks the first line; may throw to refuse the rest
 * @param onCount receives each count, before the checksum of the file was checked
 * @throws {CountsFileError} or the error of the system
 */
export async function readCountsFile(
  file: string,
  isWanted: (head: CountsHead) => void,
  onCount: (count: Count, head: CountsHead) => void,
): Promise<CountsHead> {
  const { handle, size } = await openFile(file);
  let head: CountsHead | undefined;
  let sum = 0;
  let keys = 0;
  let rest = "";
  let end: string | undefined;
  const take = (line: string): void => {
    if (end !== undefined) throw new CountsFileError("is damaged: it goes on behind its end");
    if (head === undefined) {
      head = parseHead(line);
      isWanted(head);
    } else if (line.startsWith("{")) {
      end = `${line}\n`;
    } else {
      if (++keys > MAX_KEYS) throw new CountsFileError("has too many keys");
      onCount(parseCount(line), head);
    }
  };
  const parts = handle.createReadStream({ encoding: "latin1", highWaterMark: READ_BYTES, end: size });
  for await (const part of parts as AsyncIterable<string>) {
    const lines = `${rest}${part}`.split("\n");
    rest = lines.pop()!;
    if (rest.length > MAX_LINE_BYTES) throw new CountsFileError("is damaged: a line has no end");
    for (const line of lines) take(line);
    // The checksum does not cover the last line, which contains it.
    const summed = (end === undefined ? lines : lines.slice(0, -1)).map((line) => `${line}\n`).join("");
    sum = zlib.crc32(Buffer.from(summed, "latin1"), sum);
  }
  if (head === undefined) throw new CountsFileError(size === 0 ? "is empty" : "is no file of counts");
  if (end === undefined || rest !== "") throw new CountsFileError("is damaged: it has no end");
  if (end !== endLine(keys, sum)) throw new CountsFileError("is damaged: its checksum is wrong");
  return head;
}

async function* countsFor(counters: Counters, window: number): AsyncGenerator<readonly Count[]> {
  let began = performance.now();
  let seen = 0;
  let counts: Count[] = [];
  for (const [id, slot] of counters.slots) {
    const usage = usageOf(counters, slot);
    const ahead = usage.window - window;
    // Counts further ahead come from a clock that was wrong for long; they are not worth keeping.
    if (ahead === 0 || ahead === 1) counts.push({ id, used: usage.used, ahead });
    if (++seen % LOOK_KEYS !== 0 || performance.now() - began < SLICE_MS) continue;
    yield counts;
    counts = [];
    await nextTurn();
    began = performance.now();
  }
  yield counts;
}

/** A number that differs whenever the file of that window would differ: counts only grow. */
export async function sumOfCounts(counters: Counters, window: number): Promise<number> {
  let sum = 0;
  for await (const counts of countsFor(counters, window)) {
    for (const { used, ahead } of counts) sum += used + ahead;
  }
  return sum;
}

async function writeTo(handle: FileHandle, head: CountsHead, counters: Counters): Promise<void> {
  let text = `${JSON.stringify({ format: FORMAT, ...head })}\n`;
  let sum = 0;
  let keys = 0;
  let bytes = 0;
  const flush = async (): Promise<void> => {
    const buffer = Buffer.from(text, "latin1");
    text = "";
    bytes += buffer.length;
    if (bytes > MAX_FILE_BYTES) throw new CountsFileError("would become too large");
    sum = zlib.crc32(buffer, sum);
    await handle.writeFile(buffer);
  };
  for await (const counts of countsFor(counters, head.window)) {
    // A reader would refuse a longer line.
    const lines = counts.map(countLine).filter((line) => line.length < MAX_LINE_BYTES);
    text += lines.join("");
    keys += lines.length;
    if (text.length >= WRITE_BYTES) await flush();
  }
  await flush();
  text = endLine(keys, sum);
  await flush();
}

/**
 * Refuses to replace a file that is neither empty nor a counts file. @throws {ForeignFileError} or the error of the
 * system
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
 * Replaces the file in one step, mode 0600. @throws {ForeignFileError} or the error of the system; the old file stays
 * then
 */
export async function writeCounts(file: string, head: CountsHead, counters: Counters): Promise<void> {
  await refuseForeign(file);
  await replaceFile(file, (handle) => writeTo(handle, head, counters), { mode: 0o600 });
}
