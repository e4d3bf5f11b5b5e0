/**
 * The counts file: its format, and reading and writing it in parts, so that neither delays requests or fills memory. One
 * entry per line:
 *
 *     {"format":"orrery-counts/1","windowSeconds":3600,"window":489123}
 *     ["key_0123456789abcdef",12]
 *     ["key_fedcba9876543210",3,1]
 *     {"keys":2,"crc32":"0123abcd"}
 *
 * The first line gives the window of the counts, counted from the epoch. A third number says how many windows a count is ahead of that window: it appears if the clock was set back. The last line has the checksum
 * of all lines before it. The file contains no data of keys but their ids and counts.
 */

import type { Stats } from "node:fs";
import { type FileHandle, stat } from "node:fs/promises";
import { setImmediate as nextTurn } from "node:timers/promises";
import zlib from "node:zlib";
import { replaceFile } from "../files/atomic.ts";
import { isForeign } from "../files/foreign.ts";
import { openRegular } from "../files/given.ts";
import { isCount, isObject, parsedJson } from "../util/json.ts";
import { codeOf } from "../util/system-error.ts";
import { PlaceError } from "../util/told-error.ts";

const FORMAT = "orrery-counts/1";

/** Every counts file begins like this, in any version. */
const BEGINNING = '{"format":"orrery-counts/';

export interface CountsHead {
  readonly windowSeconds: number;
  /** Counted from the epoch. */
  readonly window: number;
}

export interface Count {
  readonly id: string;
  readonly used: number;
  readonly window: number;
}

/** The file cannot be used; the message says why and quotes nothing of it. */
export class CountsFileError extends PlaceError {
  override name = "CountsFileError";
  /** Whether its age is the only problem. */
  readonly isOld: boolean;

  constructor(message: string, isOld = false) {
    super(message);
    this.isOld = isOld;
  }
}

/** Maximum size of a file: room for about four million keys. */
const MAX_FILE_BYTES = 134_217_728;
const MAX_LINE_LENGTH = 65_536;

/** Reads the first line. @throws {CountsFileError} if it is invalid or of another version */
function parseHead(line: string): CountsHead {
  const head = parsedJson(line);
  if (!isObject(head) || !Object.hasOwn(head, "format")) throw new CountsFileError("is no file of counts");
  const { format, windowSeconds, window } = head;
  if (format !== FORMAT) throw new CountsFileError(`is of another version: ${FORMAT} is needed`);
  if (!isCount(windowSeconds) || !isCount(window)) throw new CountsFileError("is damaged: its first line");
  return { windowSeconds, window };
}

function parseCount(line: string, head: CountsHead): Count {
  const value = parsedJson(line);
  if (Array.isArray(value) && (value.length === 2 || value.length === 3)) {
    const [id, used, ahead = 0] = value as unknown[];
    if (typeof id === "string" && isCount(used) && used > 0 && isCount(ahead))
      return { id, used, window: head.window + ahead };
  }
  throw new CountsFileError("is damaged: a line that is no count");
}

function endLine(keys: number, crc32: number): string {
  return `${JSON.stringify({ keys, crc32: crc32.toString(16).padStart(8, "0") })}\n`;
}

/** Reads a file's lines in parts. @throws {CountsFileError} or the error of the system */
async function* readLines(file: string): AsyncGenerator<readonly string[]> {
  const { handle, stats } = await openRegular(file);
  const size = Number(stats.size);
  if (size === 0 || size > MAX_FILE_BYTES) {
    await handle.close();
    throw new CountsFileError(size === 0 ? "is empty" : "is too large for a file of counts");
  }
  let rest = "";
  for await (const part of handle.createReadStream({ encoding: "utf8", end: size })) {
    const lines = `${rest}${part}`.split("\n");
    rest = lines.pop()!;
    if (rest.length > MAX_LINE_LENGTH) throw new CountsFileError("is damaged: a line has no end");
    yield lines;
  }
  if (rest !== "") throw new CountsFileError("is damaged: it has no end");
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
  onCount: (count: Count) => void,
): Promise<CountsHead> {
  let head: CountsHead | undefined;
  let end: string | undefined;
  let sum = 0;
  let keys = 0;
  for await (const lines of readLines(file)) {
    for (const line of lines) {
      if (end !== undefined) throw new CountsFileError("is damaged: there is text after its last line");
      if (head === undefined) {
        head = parseHead(line);
        isWanted(head);
      } else if (line.startsWith("{")) {
        end = `${line}\n`;
        continue;
      } else {
        onCount(parseCount(line, head));
        keys++;
      }
      sum = zlib.crc32(`${line}\n`, sum);
    }
  }
  if (head === undefined || end === undefined) throw new CountsFileError("is damaged: it has no end");
  if (end !== endLine(keys, sum)) throw new CountsFileError("is damaged: its checksum is wrong");
  return head;
}

/** Counts that are collected before requests get a turn. */
const COUNTS_PER_TURN = 1000;

async function writeTo(handle: FileHandle, head: CountsHead, counts: Iterable<Count>): Promise<void> {
  let text = `${JSON.stringify({ format: FORMAT, ...head })}\n`;
  let sum = 0;
  let keys = 0;
  let bytes = 0;
  let seen = 0;
  const flush = async (): Promise<void> => {
    const buffer = Buffer.from(text);
    text = "";
    bytes += buffer.length;
    if (bytes > MAX_FILE_BYTES) throw new CountsFileError("would become too large");
    sum = zlib.crc32(buffer, sum);
    await handle.writeFile(buffer);
  };
  for (const { id, window, used } of counts) {
    const ahead = window - head.window;
    const line = JSON.stringify(ahead === 0 ? [id, used] : [id, used, ahead]);
    // A reader would refuse a longer line.
    if (ahead >= 0 && line.length <= MAX_LINE_LENGTH) {
      text += `${line}\n`;
      keys++;
    }
    if (++seen % COUNTS_PER_TURN !== 0) continue;
    await flush();
    await nextTurn();
  }
  await flush();
  text = endLine(keys, sum);
  await flush();
}

/**
 * Refuses to replace a file that is neither empty nor a counts file. @throws {PlaceError} or the error of the
 * system
 */
export async function refuseForeign(file: string): Promise<void> {
  const stats = await stat(file).catch((error: unknown) => {
    if (codeOf(error) !== "ENOENT") throw error;
  });
  if (stats !== undefined && !stats.isFile())
    throw new PlaceError("is not a regular file, and is not replaced");
  if (await isForeign(file, BEGINNING)) throw new PlaceError("is no file of counts, and is not replaced");
}

/** Tells a file from one that replaced it, or from its changed self. */
export function versionOf({ ino, size, mtimeMs }: Stats): string {
  return `${ino} ${size} ${mtimeMs}`;
}

/**
 * Replaces the file in one step, mode 0600; counts of windows before the head's are left out.
 *
 * @returns the version of the new file, read before it has its name: a moment later another server may replace it
 * @throws {PlaceError} or the error of the system; the old file stays then
 */
export async function writeCounts(file: string, head: CountsHead, counts: Iterable<Count>): Promise<string> {
  await refuseForeign(file);
  let written = "";
  const contents = async (handle: FileHandle): Promise<void> => {
    await writeTo(handle, head, counts);
    written = versionOf(await handle.stat());
  };
  await replaceFile(file, contents, { mode: 0o600 });
  return written;
}
