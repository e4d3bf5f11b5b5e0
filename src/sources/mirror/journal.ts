/**
 * The replies that a mirror has received so far, on disk: a line a reply, appended when it is there, each with a checksum. So a process that is
 * killed loses only the replies that were not there yet, and the next one goes on after the last line.
 *
 * A last line that was cut off is dropped. Any other damage, or another server's name at the top, begins the journal afresh:
 * nothing in it cannot be asked for again.
 */

import { createHash } from "node:crypto";
import { constants } from "node:fs";
import { type FileHandle, open, truncate } from "node:fs/promises";
import { join } from "node:path";
import { removeLeftovers, replaceFile } from "../../files/atomic.ts";
import { isObject } from "../../util/json.ts";
import { SourceError } from "../../util/source-error.ts";
import { codeOf } from "../../util/system-error.ts";

/** A reply as it is kept. */
export interface Entry {
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** The generation that it is of; undefined where the server does not say. */
  readonly etag: string | undefined;
  /** What it says; null where there is no such resource. */
  readonly value: unknown;
}

const FILE = "journal.ndjson";
const FORMAT = "orrery-mirror/2";
const HOUR_MS = 3_600_000;
const NEWLINE = 10;
const DIGITS = 16;
/** Times that a fresh journal takes over from the one before. */
const MOST_TIMES = 10_000;

function lastOf(times: readonly number[]): number {
  return times.reduce((latest, at) => Math.max(latest, at), 0);
}

function checksum(text: string | Buffer): string {
  return createHash("sha256").update(text).digest("hex").slice(0, DIGITS);
}

function lineOf(value: unknown): string {
  const text = JSON.stringify(value);
  return `${checksum(text)} ${text}\n`;
}

/** What a line says, or undefined when it is damaged. */
function readLine(line: Buffer): Record<string, unknown> | undefined {
  const text = line.subarray(DIGITS + 1);
  if (line[DIGITS] !== 0x20 || line.toString("latin1", 0, DIGITS) !== checksum(text)) return undefined;
  const value: unknown = JSON.parse(text.toString("utf8"));
  return isObject(value) ? value : undefined;
}

/** What was read of a file. */
interface Read {
  readonly entries: Map<string, Entry>;
  readonly sentAt: number[];
  /** Bytes up to the end of the last whole line. */
  readonly bytes: number;
  /** Why it cannot be used. */
  readonly problem?: string;
}

/** What each whole line says; undefined for a damaged one. */
function linesOf(bytes: Buffer): (Record<string, unknown> | undefined)[] {
  const lines: (Record<string, unknown> | undefined)[] = [];
  let start = 0;
  for (let end = bytes.indexOf(NEWLINE); end >= 0; end = bytes.indexOf(NEWLINE, start)) {
    lines.push(readLine(bytes.subarray(start, end)));
    start = end + 1;
  }
  return lines;
}

/** Takes up what a line after the first says. */
function takeUp({ target, at, etag, value, dropped }: Record<string, unknown>, read: Read): void {
  if (Array.isArray(dropped)) {
    for (const gone of dropped) read.entries.delete(String(gone));
  } else if (typeof target === "string" && typeof at === "number") {
    read.entries.set(target, { at, etag: typeof etag === "string" ? etag : undefined, value });
    read.sentAt.push(at);
  }
}

function readJournal(bytes: Buffer, from: string): Read {
  const refuse = (problem: string): Read => ({ entries: new Map(), sentAt: [], bytes: 0, problem });
  const [head, ...lines] = linesOf(bytes);
  if (head === undefined) return refuse(bytes.length === 0 ? "" : "it is damaged");
  if (head.format !== FORMAT) return refuse("it is of another version");
  if (head.from !== from) return refuse(`it is of ${String(head.from)}`);
  const sentAt = Array.isArray(head.sentAt) ? head.sentAt.map(Number) : [];
  const read = { entries: new Map(), sentAt, bytes: bytes.lastIndexOf(NEWLINE) + 1 };
  for (const line of lines) {
    if (line === undefined) return refuse("it is damaged");
    takeUp(line, read);
  }
  const last = lastOf(sentAt);
  return { ...read, sentAt: sentAt.filter((at) => at > last - HOUR_MS) };
}

/** What is there, without waiting for who writes to a pipe; nothing where nothing is. */
async function readWhole(path: string): Promise<Buffer> {
  let handle: FileHandle | undefined;
  try {
    handle = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
    if (!(await handle.stat()).isFile())
      throw new SourceError(`${path}: is not a regular file`, { isLasting: true });
    return await handle.readFile();
  } catch (error) {
    if (codeOf(error) !== "ENOENT") throw error;
    return Buffer.alloc(0);
  } finally {
    await handle?.close();
  }
}

/** Replies by their targets. Every change is on its way to the disk when the call resolves. */
export class Journal {
  readonly #path: string;
  readonly #from: string;
  readonly #entries: Map<string, Entry>;
  /** When requests were sent, in milliseconds since the epoch: those of an hour before the last one and later. */
  readonly sentAt: number[];
  #handle: FileHandle | undefined;
  /** Lines are written one after the other. */
  #writing: Promise<unknown> = Promise.resolve();

  private constructor(path: string, from: string, { entries, sentAt }: Read) {
    this.#path = path;
    this.#from = from;
    this.#entries = entries;
    this.sentAt = sentAt;
  }

  /**
   * Opens the journal in a folder.
   *
   * @param from the server that it is of
   * @param tell receives a sentence when what was there cannot be used
   * @throws {SourceError} when something else than a file is there; errors of the file system
   */
  static async open(folder: string, from: string, tell: (sentence: string) => void): Promise<Journal> {
    const path = join(folder, FILE);
    const before = readJournal(await readWhole(path), from);
    const journal = new Journal(path, from, before);
    const { bytes, problem } = before;
    if (problem === undefined) {
      await truncate(path, bytes);
      journal.#handle = await open(path, "a");
    } else {
      if (problem !== "") tell(`${path}: ${problem}; beginning afresh`);
      await journal.#begin();
    }
    return journal;
  }

  get entries(): ReadonlyMap<string, Entry> {
    return this.#entries;
  }

  /** When the last request was noted; 0 when none was. */
  get lastAt(): number {
    return lastOf(this.sentAt);
  }

  async put(target: string, entry: Entry): Promise<void> {
    this.#entries.set(target, entry);
    this.sentAt.push(entry.at);
    if (this.sentAt.length > 2 * MOST_TIMES) this.sentAt.splice(0, MOST_TIMES);
    await this.#append({ target, ...entry });
  }

  /** Forgets replies. */
  async drop(targets: readonly string[]): Promise<void> {
    for (const target of targets) this.#entries.delete(target);
    await this.#append({ dropped: targets });
  }

  /** Forgets everything. */
  async clear(): Promise<void> {
    this.#entries.clear();
    await this.#inTurn(() => this.#begin());
  }

  async close(): Promise<void> {
    await this.#inTurn(async () => this.#handle?.close());
  }

  #append(value: unknown): Promise<void> {
    return this.#inTurn(() => this.#handle!.appendFile(lineOf(value)));
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    const done = this.#writing.then(work);
    this.#writing = done.catch(() => {});
    return done;
  }

  /** Puts an empty one in the place of what is there. */
  async #begin(): Promise<void> {
    await this.#handle?.close();
    this.#handle = undefined;
    await removeLeftovers(this.#path);
    const sentAt = this.sentAt.slice(-MOST_TIMES);
    await replaceFile(this.#path, lineOf({ format: FORMAT, from: this.#from, sentAt }));
    this.#handle = await open(this.#path, "a");
  }
}
