/**
 * The replies that a mirror has received so far, on disk: one line per reply with a checksum, appended on arrival. So the next
 * process continues after the last line of a killed one.
 *
 * A last line that was cut off is dropped. Any other damage, or another server's name at the top, starts a new journal: everything
 * in it can be requested again.
 */

import { createHash } from "node:crypto";
import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { join } from "node:path";
import { removeLeftovers, replaceFile } from "../../files/atomic.ts";
import { isObject } from "../../util/json.ts";
import { SourceError } from "../../util/source-error.ts";
import { codeOf } from "../../util/system-error.ts";

export interface Entry<Value = unknown> {
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** Its generation; undefined when the server names none. */
  readonly etag: string | undefined;
  /** Its value; null when the resource does not exist. */
  readonly value: Value;
}

const FILE = "journal.ndjson";
const FORMAT = "orrery-mirror/2";
const HOUR_MS = 3_600_000;
const NEWLINE = 10;
const DIGITS = 16;
/** Maximum number of request times that a new journal takes over from the previous one. */
const MOST_TIMES = 10_000;

function checksum(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, DIGITS);
}

function lineOf(value: unknown): string {
  const text = JSON.stringify(value);
  return `${checksum(text)} ${text}\n`;
}

/** Each complete line; undefined for a damaged one. */
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

/** Opens a file, if it exists. A pipe does not wait for its writer. @throws {SourceError} unless it is a regular file */
async function openIfThere(path: string): Promise<FileHandle | undefined> {
  const { O_RDWR, O_APPEND, O_NONBLOCK = 0 } = constants;
  const handle = await open(path, O_RDWR | O_APPEND | O_NONBLOCK).catch((error: unknown) => {
    if (codeOf(error) === "ENOENT") return undefined;
    if (codeOf(error) !== "EISDIR") throw error;
    return "folder";
  });
  if (handle === undefined) return undefined;
  if (handle !== "folder") {
    if ((await handle.stat()).isFile()) return handle;
    await handle.close();
  }
  throw new SourceError(`${path}: is not a regular file`, { isLasting: true });
}

/** Replies by target. A call that resolves has written its change, but perhaps not synced it to disk. */
export class Journal {
  readonly #path: string;
  readonly #from: string;
  readonly entries = new Map<string, Entry>();
  /** Times of requests, in milliseconds since the epoch; a load keeps the last hour before the latest one. */
  sentAt: number[] = [];
  #handle: FileHandle | undefined;
  /** Lines are written one at a time. */
  #writing: Promise<unknown> = Promise.resolve();

  private constructor(path: string, from: string) {
    this.#path = path;
    this.#from = from;
  }

  /** Opens the journal of a server. @param tell receives a sentence when the old journal is unusable */
  static async open(folder: string, from: string, tell: (sentence: string) => void): Promise<Journal> {
    const path = join(folder, FILE);
    const journal = new Journal(path, from);
    const handle = await openIfThere(path);
    const bytes = (await handle?.readFile()) ?? Buffer.alloc(0);
    const problem = bytes.length === 0 ? "" : journal.#load(bytes);
    if (problem === undefined) {
      await handle!.truncate(bytes.lastIndexOf(NEWLINE) + 1);
      journal.#handle = handle!;
    } else {
      await handle?.close();
      if (problem !== "") tell(`${path}: ${problem}; beginning afresh`);
      journal.entries.clear();
      journal.sentAt = [];
      await journal.#begin();
    }
    return journal;
  }

  /** Loads a file. @returns why it is unusable */
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
        for (const gone of dropped) this.entries.delete(String(gone));
      } else if (typeof target === "string" && typeof at === "number") {
        this.entries.set(target, { at, etag: typeof etag === "string" ? etag : undefined, value });
        this.sentAt.push(at);
      }
    }
    const last = this.lastAt;
    this.sentAt = this.sentAt.filter((at) => at > last - HOUR_MS);
    return undefined;
  }

  /** Time of the latest request; 0 without any. */
  get lastAt(): number {
    return this.sentAt.reduce((latest, at) => Math.max(latest, at), 0);
  }

  async put(target: string, entry: Entry): Promise<void> {
    this.entries.set(target, entry);
    this.sentAt.push(entry.at);
    if (this.sentAt.length > 2 * MOST_TIMES) this.sentAt.splice(0, MOST_TIMES);
    await this.#append({ target, ...entry });
  }

  async drop(targets: readonly string[]): Promise<void> {
    for (const target of targets) this.entries.delete(target);
    await this.#append({ dropped: targets });
  }

  async clear(): Promise<void> {
    this.entries.clear();
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

  /** Replaces the journal with an empty one, which keeps the times of requests. */
  async #begin(): Promise<void> {
    await this.#handle?.close();
    this.#handle = undefined;
    await removeLeftovers(this.#path);
    const sentAt = this.sentAt.slice(-MOST_TIMES);
    await replaceFile(this.#path, lineOf({ format: FORMAT, from: this.#from, sentAt }));
    this.#handle = await open(this.#path, "a");
  }
}
