/**
 * The replies that a mirror has received so far, on disk: a line a reply, appended when it is there, each with a checksum. So a process that is
 * killed loses only what was under way, and the next one goes on behind it.
 *
 * A last line that was cut off is dropped. Any other damage, or another server's name at the top, begins the journal afresh:
 * nothing in it cannot be asked for again.
 */

import { createHash } from "node:crypto";
import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { join } from "node:path";
import { removeLeftovers, replaceFile } from "../../files/atomic.ts";
import { isObject } from "../../util/json.ts";
import { SourceError } from "../../util/source-error.ts";
import { codeOf } from "../../util/system-error.ts";

/** A reply as it is kept. */
export interface Entry {
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** Of which generation it is; undefined where the server does not say. */
  readonly etag: string | undefined;
  /** What it says; null where there is no such resource. */
  readonly value: unknown;
}

/** Replies by their targets. Every change is on its way to the disk when the call resolves. */
export interface Journal {
  readonly entries: ReadonlyMap<string, Entry>;
  /** When the last request was noted; 0 when none was. */
  readonly lastAt: () => number;
  /** When requests were sent, in milliseconds since the epoch: those of an hour before the last one and later. */
  readonly sentAt: readonly number[];
  readonly put: (target: string, entry: Entry) => Promise<void>;
  /** Forgets replies. */
  readonly drop: (targets: readonly string[]) => Promise<void>;
  /** Forgets everything. */
  readonly clear: () => Promise<void>;
  readonly close: () => Promise<void>;
}

const FILE = "journal.ndjson";
const FORMAT = "orrery-mirror/2";
const HOUR_MS = 3_600_000;
const NEWLINE = 10;
const DIGITS = 16;
/** Times that a fresh journal takes over from the one before. */
const MOST_TIMES = 10_000;

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

function readJournal(bytes: Buffer, from: string): Read {
  const entries = new Map<string, Entry>();
  let sentAt: number[] = [];
  const refuse = (problem: string): Read => ({ entries: new Map(), sentAt: [], bytes: 0, problem });
  let start = 0;
  let lines = 0;
  for (let end = bytes.indexOf(NEWLINE); end >= 0; end = bytes.indexOf(NEWLINE, start)) {
    const line = readLine(bytes.subarray(start, end));
    start = end + 1;
    if (line === undefined) return refuse("it is damaged");
    if (lines++ === 0) {
      if (line.format !== FORMAT) return refuse("it is of another version");
      if (line.from !== from) return refuse(`it is of ${String(line.from)}`);
      if (Array.isArray(line.sentAt)) sentAt.push(...line.sentAt.map(Number));
      continue;
    }
    const { target, at, etag, value, dropped } = line;
    if (Array.isArray(dropped)) {
      for (const gone of dropped) entries.delete(String(gone));
    } else if (typeof target === "string" && typeof at === "number") {
      entries.set(target, { at, etag: typeof etag === "string" ? etag : undefined, value });
      sentAt.push(at);
    }
  }
  if (lines === 0) return refuse(bytes.length === 0 ? "" : "it is damaged");
  const last = sentAt.reduce((latest, at) => Math.max(latest, at), 0);
  sentAt = sentAt.filter((at) => at > last - HOUR_MS);
  return { entries, sentAt, bytes: start };
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

/**
 * Opens the journal in a folder.
 *
 * @param from the server that it is of
 * @param tell receives a sentence when what was there cannot be used
 * @throws {SourceError} when something else than a file is there; errors of the file system
 */
export async function openJournal(
  folder: string,
  from: string,
  tell: (sentence: string) => void,
): Promise<Journal> {
  const path = join(folder, FILE);
  const before = await readWhole(path);
  const { entries, sentAt, bytes, problem } = readJournal(before, from);
  let lastAt = sentAt.reduce((latest, at) => Math.max(latest, at), 0);
  let handle: FileHandle | undefined;

  /** Puts an empty one in the place of what is there. */
  async function begin(): Promise<void> {
    await handle?.close();
    handle = undefined;
    await removeLeftovers(path);
    await replaceFile(path, lineOf({ format: FORMAT, from, sentAt: sentAt.slice(-MOST_TIMES) }));
    handle = await open(path, "a");
  }

  /** Lines are written one behind the other. */
  let writing: Promise<unknown> = Promise.resolve();
  function inTurn(work: () => Promise<unknown>): Promise<void> {
    const done = writing.then(work);
    writing = done.catch(() => {});
    return done.then(() => {});
  }
  const append = (value: unknown): Promise<void> => inTurn(() => handle!.appendFile(lineOf(value)));

  if (problem === undefined) {
    handle = await open(path, "r+");
    await handle.truncate(bytes);
    await handle.close();
    handle = await open(path, "a");
  } else {
    if (problem !== "") tell(`${path}: ${problem}; beginning afresh`);
    await begin();
  }
  return {
    entries,
    lastAt: () => lastAt,
    sentAt,
    async put(target, entry) {
      entries.set(target, entry);
      lastAt = Math.max(lastAt, entry.at);
      sentAt.push(entry.at);
      if (sentAt.length > 2 * MOST_TIMES) sentAt.splice(0, MOST_TIMES);
      await append({ target, ...entry });
    },
    async drop(targets) {
      for (const target of targets) entries.delete(target);
      await append({ dropped: targets });
    },
    async clear() {
      entries.clear();
      await inTurn(begin);
    },
    close: () => inTurn(async () => handle?.close()),
  };
}
