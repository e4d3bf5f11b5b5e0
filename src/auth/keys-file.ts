/** Makes keys and writes the keys file: one writer at a time, and never half a file. */

import { randomBytes } from "node:crypto";
import { readlink, realpath } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { removeLeftovers, replaceFile } from "../files/atomic.ts";
import { type Given, readGiven } from "../files/given.ts";
import { withLock } from "../files/lock.ts";
import { formatTime, parseTime } from "../model/time.ts";
import { codeOf, systemErrorText } from "../util/system-error.ts";
import { PlaceError } from "../util/user-error.ts";
import { type GivenKey, recordOf } from "./given-keys.ts";
import { hashToken, type KeyRecord, KeysFileError, MOST_KEYS_BYTES, parseKeys } from "./keys.ts";

export interface NewKey extends Omit<GivenKey, "id" | "token" | "sha256" | "hint" | "owner" | "note"> {
  readonly prefix: string;
  readonly owner?: string | undefined;
  readonly note?: string | undefined;
}

/** Enough to recognise a token by, too little to guess it. */
const hintOf = (token: string): string => token.slice(-4);

export const makeToken = (prefix: string): string => prefix + randomBytes(32).toString("base64url");

/** Makes a key: its token, which is not stored, and its record for a keys file. */
export function makeKey({ prefix, owner, note, ...key }: NewKey) {
  const token = makeToken(prefix);
  const made = recordOf({ ...key, id: `key_${randomBytes(8).toString("hex")}`, token });
  const record: KeyRecord = { ...made, hint: hintOf(token), owner, note };
  return { token, record };
}

/** The path without symbolic links, also of a missing file. @throws other errors of the file system */
async function behindLinks(file: string): Promise<string> {
  try {
    return await realpath(file);
  } catch (error) {
    if (codeOf(error) !== "ENOENT") throw error;
    const target = await readlink(file).catch(() => undefined);
    return target === undefined ? resolve(file) : behindLinks(resolve(dirname(file), target));
  }
}

async function readIfThere(file: string): Promise<Given | undefined> {
  try {
    return await readGiven(file, MOST_KEYS_BYTES);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  }
}

/** Turns errors that a user can fix into one clear line. */
async function explained<T>(file: string, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    // Other code handles a missing file.
    if (codeOf(error) === "ENOENT") {
      throw new KeysFileError(`${dirname(file)}: directory does not exist (ENOENT)`);
    }
    const isPlain = error instanceof KeysFileError || error instanceof PlaceError;
    const text = isPlain ? error.message : systemErrorText(error);
    if (text === undefined) throw error;
    throw new KeysFileError(`${file}: ${text}`);
  }
}

/** Reads the records of a keys file. @throws {KeysFileError} naming the file, if it is missing or cannot be used */
export function readRecords(file: string): Promise<KeyRecord[]> {
  return explained(file, async () => {
    const given = await readIfThere(file);
    if (given === undefined) throw new KeysFileError("file does not exist (ENOENT)");
    return parseKeys(given.bytes.toString()).records;
  });
}

function foundIn(records: readonly KeyRecord[], id: string): KeyRecord {
  const found = records.find((record) => record.id === id);
  if (found !== undefined) return found;
  const named = records.find(({ name }) => name === id);
  if (named !== undefined)
    throw new KeysFileError(`${JSON.stringify(id)} is the name of ${named.id}; give the id`);
  // A whole token, pasted by mistake, must not end up in a log.
  const shown = id.startsWith("key_") || id.length <= 8 ? id : `${id.slice(0, 8)}…`;
  throw new KeysFileError(`there is no key ${JSON.stringify(shown)}`);
}

/** Reads one record. @throws {KeysFileError} naming the file, if no record has the id, and as {@link readRecords} */
export async function readRecord(file: string, id: string): Promise<KeyRecord> {
  const records = await readRecords(file);
  return explained(file, async () => foundIn(records, id));
}

function withoutExpired(record: KeyRecord, now: number): KeyRecord {
  const { previous, ...rest } = record;
  if (previous === undefined) return record;
  const left = previous.filter(({ expiresAt }) => parseTime(expiresAt) > now);
  return left.length === 0 ? rest : { ...record, previous: left };
}

export interface ChangeOptions {
  /** Whether a missing file is created; false when absent. */
  readonly create?: boolean;
  /** Called when the new file is complete on disk, before it takes effect, perhaps again; a throw keeps the old one. */
  readonly ready?: () => Promise<void>;
}

/**
 * Changes a keys file under its lock. Keeps all other content, but removes expired previous tokens.
 * @param change gets the records and returns the new ones; called again if the lock is lost meanwhile
 * @throws {KeysFileError} naming the file, if it is missing, cannot be used or is held by another command for a minute
 */
export async function changeRecords(
  file: string,
  change: (records: KeyRecord[]) => KeyRecord[],
  { create = false, ready }: ChangeOptions = {},
): Promise<void> {
  await explained(file, async () => {
    // A link is followed: its target is replaced, not the link.
    const real = await behindLinks(file);
    await withLock(real, async (assertHeld) => {
      const given = await readIfThere(real);
      if (given === undefined && !create) throw new KeysFileError("file does not exist (ENOENT)");
      const before = given?.bytes.toString() ?? '{"keys":[]}';
      const { records } = parseKeys(before);
      const rest = JSON.parse(before.replace(/^\uFEFF/, "")) as object;
      const keys = change(records).map((record) => withoutExpired(record, Date.now()));
      const changed = `${JSON.stringify({ ...rest, keys }, null, 2)}\n`;
      await removeLeftovers(real);
      await replaceFile(real, changed, {
        mode: 0o600,
        // An operator who edits as root must lock nobody out.
        like: given?.stats,
        async ready() {
          await ready?.();
          await assertHeld();
        },
      });
    });
  });
}

/** Changes one record. @param change returns undefined to delete it @throws {KeysFileError} if no record has the id */
export function changeRecord(
  records: readonly KeyRecord[],
  id: string,
  change: (record: KeyRecord) => KeyRecord | undefined,
): KeyRecord[] {
  const found = foundIn(records, id);
  return records.flatMap((record) => (record === found ? (change(record) ?? []) : record));
}

/** The record with another token. @param overlapMs time for which the one before still works; 0 ends all earlier ones at once */
export function rotatedRecord(old: KeyRecord, token: string, overlapMs: number): KeyRecord {
  const { sha256, hint, previous = [] } = old;
  const ended = { sha256, hint, expiresAt: formatTime(Date.now() + overlapMs) };
  return {
    ...old,
    sha256: hashToken(token),
    hint: hintOf(token),
    previous: overlapMs === 0 ? [] : [...previous, ended],
  };
}
