/**
 * The text of a file of counts. ASCII, a line each:
 *
 *     {"format":"orrery-counts/1","windowSeconds":3600,"window":489123,"writer":"…","started":…,"sequence":7,"last":false}
 *     ["key_0123456789abcdef",12]
 *     ["key_fedcba9876543210",3,1]
 *     {"keys":2,"crc32":"0123abcd"}
 *
 * The first line says which window, counted from the epoch, the counts are of, and who wrote it. A third number is how
 * many windows ahead of that one a count is: it is there when the clock was set back. The last line has the checksum of
 * all before it. Ids of keys are all that the file says of them.
 */

import { isObject } from "../util/json.ts";

const FORMAT = "orrery-counts/1";

/** Every file of counts begins like this, whatever its version. */
export const BEGINNING = '{"format":"orrery-counts/';

/** First line. */
export interface CountsHead {
  readonly windowSeconds: number;
  /** Counted from the epoch. */
  readonly window: number;
  /** Different for each run of a server. */
  readonly writer: string;
  /** When that run began, in milliseconds since the epoch. */
  readonly started: number;
  /** Grows with each file of a writer. */
  readonly sequence: number;
  /** Whether the writer has stopped and writes no other. */
  readonly last: boolean;
}

/** Used requests of a key. */
export interface Count {
  readonly id: string;
  readonly used: number;
  /** Windows between that of the file and that of the count. */
  readonly ahead: number;
}

/** The file cannot be used; the message says why and quotes nothing of it. */
export class CountsFileError extends Error {
  override name = "CountsFileError";
  /** Whether nothing is wrong with it but its age. */
  readonly isOld: boolean;

  constructor(message: string, isOld = false) {
    super(message);
    this.isOld = isOld;
  }
}

/** Most bytes of a line. */
export const MAX_LINE_BYTES = 65_536;

export function headLine(head: CountsHead): string {
  return `${JSON.stringify({ format: FORMAT, ...head })}\n`;
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

/**
 * Reads the first line.
 *
 * @throws {CountsFileError} when it is none, or one of another version
 */
export function parseHead(line: string): CountsHead {
  const head = parsed(line);
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

/** A line of a count. */
export function countLine(id: string, used: number, ahead: number): string {
  const text = PLAIN_ID.test(id) ? `"${id}"` : JSON.stringify(id).replace(NOT_ASCII, escaped);
  return ahead === 0 ? `[${text},${used}]\n` : `[${text},${used},${ahead}]\n`;
}

const PLAIN_COUNT = /^\["([\w.:-]*)",([1-9]\d{0,14})\]$/;

/** Reads a line of a count. @throws {CountsFileError} */
export function parseCount(line: string): Count {
  const plain = PLAIN_COUNT.exec(line);
  if (plain !== null) return { id: plain[1]!, used: Number(plain[2]), ahead: 0 };
  const value = parsed(line);
  if (Array.isArray(value) && (value.length === 2 || value.length === 3)) {
    const [id, used, ahead = 0] = value as unknown[];
    if (typeof id === "string" && isCount(used) && used > 0 && isCount(ahead)) return { id, used, ahead };
  }
  throw new CountsFileError("is damaged: a line that is no count");
}

/** @param crc32 of all lines before */
export function endLine(keys: number, crc32: number): string {
  return `${JSON.stringify({ keys, crc32: crc32.toString(16).padStart(8, "0") })}\n`;
}
