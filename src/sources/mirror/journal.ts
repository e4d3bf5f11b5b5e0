/**
 * The replies that a mirror has received so far, on disk: a line a reply, appended when it is there, each with a checksum. So
 * the next process goes on after the last line of one that was killed.
 *
 * A last line that was cut off is dropped. Any other damage, or another server's name at the top, begins the journal afresh:
 * nothing in it cannot be asked for again.
 */

import { createHash } from "node:crypto";
import { type FileHandle, open, readFile, stat, truncate } from "node:fs/promises";
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

function checksum(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, DIGITS);
}

function lineOf(value: unknown): string {
  const text = JSON.stringify(value);
  return `${checksum(text)} ${text}\n`;
}

/** Each whole line; undefined for a damaged one. */
function* linesOf(bytes: Buffer): Generator<Record<string, unknown> | undefined> {
  let start = 0;
  for (let end = bytes.indexOf(NEWLINE); end >= 0; end = bytes.indexOf(NEWLINE, start)) {
    const line = bytes.toString("utf8", start, end);
    const text = line.slice(DIGITS + 1);
    const value: unknown = line === `${checksum(text)} ${text}` ? JSON.parse(text) : undefined;
    yield isObject(value) ? value : undefined;
    start = end + 1;
  }
}

/** Nothing where nothing is. A pipe is not opened, which would wait for its writer. */
async function readWhole(path: string): Promise<Buffer> {
  try {
    if ((await stat(path)).isFile()) return await readFile(path);
  } catch (error) {
    if (codeOf(error) !== "ENOENT") throw error;
    return Buffer.alloc(0);
  }
  throw new SourceError(`${path}: is not a regular file`, { isLasting: true });
}

/** Replies by their targets. Every change is on its way to the disk when the call resolves. */
export class Journal {
  readonly #path: string;
  readonly #from: string;
  readonly #entries = new Map<string, Entry>();
  /** When requests were sent, in milliseconds since the epoch: those of an hour before the last one and later. */
  sentAt: number[] = [];
  #handle: FileHandle | undefined;
  /** Lines are written one after the other. */
  #writing: Promise<unknown> = Promise.resolve();

  private constructor(path: string, from: string) {
    this.#path = path;
    this.#from = from;
  }

  /** Opens the journal of a server. @param tell receives a sentence when the old journal cannot be used */
  static async open(folder: string, from: string, tell: (sentence: string) => void): Promise<Journal> {
    const path = join(folder, FILE);
    const journal = new Journal(path, from);
    const bytes = await readWhole(path);
    const problem = bytes.length === 0 ? "" : journal.#load(bytes);
    if (problem === undefined) {
      await truncate(path, bytes.lastIndexOf(NEWLINE) + 1);
      journal.#handle = await open(path, "a");
    } else {
      if (problem !== "") tell(`${path}: ${problem}; beginning afresh`);
      journal.#entries.clear();
      journal.sentAt = [];
      await journal.#begin();
    }
    return journal;
  }

  /** Takes up a file. @returns why it cannot be used */
  #load(bytes: Buffer): string | undefined {
    const [head, ...lines] = linesOf(bytes);
    if (head === undefined) return "it is damaged";
    if (head.format !== FORMAT) return "it is of another version";
    if (head.from !== this.#from) return `it is of ${String(head.from)}`;
    if (Array.isArray(head.sentAt)) this.sentAt = head.sentAt.map(Number);
    for (const line of lines) {
      if (line === undefined) return "it is damaged";
      const { target, at, etag, value, dropped } = line;
      if (Array.isArray(dropped)) {
        for (const gone of dropped) this.#entries.delete(String(gone));
      } else if (typeof target === "string" && typeof at === "number") {
        this.#entries.set(target, { at, etag: typeof etag === "string" ? etag : undefined, value });
        this.sentAt.push(at);
      }
    }
    const last = this.lastAt;
    this.sentAt = this.sentAt.filter((at) => at > last - HOUR_MS);
    return undefined;
  }

  get entries(): ReadonlyMap<string, Entry> {
    return this.#entries;
  }

  /** When the last request was noted; 0 when none was. */
  get lastAt(): number {
    return this.sentAt.reduce((latest, at) => Math.max(latest, at), 0);
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
