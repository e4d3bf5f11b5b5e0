/** Writing the keys file: one writer at a time, and never half a file. */

import { randomBytes } from "node:crypto";
import { chown, mkdir, open, readFile, realpath, rename, rm, rmdir, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { hashToken, type KeyKind, type KeyRecord, KeysFileError, parseKeys } from "../gate/keys.ts";
import { SCOPES } from "../model.ts";
import { CommandError } from "./options.ts";

const LOCK_PATIENCE_MS = 10_000;
const LOCK_RETRY_MS = 15;

function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException).code;
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Whether the lock's owner, named in it, is gone. An empty lock is one that is being made. */
async function isAbandoned(lock: string): Promise<boolean> {
  const owner = Number(await readFile(lock, "utf8").catch(() => ""));
  if (!Number.isSafeInteger(owner) || owner <= 0) return false;
  try {
    process.kill(owner, 0);
    return false;
  } catch (error) {
    return codeOf(error) === "ESRCH";
  }
}

/** Removes the lock of a process that is gone. A folder keeps two from doing so at once. */
async function breakLock(lock: string): Promise<void> {
  const breaking = `${lock}.breaking`;
  try {
    await mkdir(breaking);
  } catch {
    return;
  }
  try {
    if (await isAbandoned(lock)) await rm(lock, { force: true });
  } finally {
    await rmdir(breaking);
  }
}

/** Runs something while no other process does the same for this file. */
async function withLock<T>(file: string, run: () => Promise<T>): Promise<T> {
  const lock = `${file}.lock`;
  const began = performance.now();
  for (;;) {
    try {
      const handle = await open(lock, "wx", 0o600);
      await handle.writeFile(String(process.pid));
      await handle.close();
      break;
    } catch (error) {
      if (codeOf(error) !== "EEXIST") throw error;
      if (await isAbandoned(lock)) await breakLock(lock);
      if (performance.now() - began > LOCK_PATIENCE_MS) {
        throw new CommandError(`${file}: another command holds ${lock}; delete it if there is none`);
      }
      await sleep(LOCK_RETRY_MS);
    }
  }
  try {
    return await run();
  } finally {
    await rm(lock, { force: true });
  }
}

/** Replaces a file in one step, mode 0600, keeping its owner. */
async function replaceFile(file: string, text: string): Promise<void> {
  const temporary = `${file}.${process.pid}.tmp`;
  const handle = await open(temporary, "w", 0o600);
  try {
    await handle.chmod(0o600);
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
  const before = await stat(file).catch(() => undefined);
  // An operator who edits as root must not lock the server's own user out.
  if (before !== undefined && process.getuid?.() === 0) await chown(temporary, before.uid, before.gid);
  await rename(temporary, file);
  const folder = await open(dirname(file), "r");
  await folder.sync().catch(() => {});
  await folder.close();
}

/** The file's text, or undefined when there is none. */
async function readIfThere(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  }
}

/** Turns the errors that a user can do something about into one clear line. */
async function explained<T>(file: string, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (error instanceof KeysFileError) throw new CommandError(`${file}: ${error.message}`);
    const { code, syscall } = error as NodeJS.ErrnoException;
    if (code !== undefined && syscall !== undefined) throw new CommandError(`${file}: ${code} in ${syscall}`);
    throw error;
  }
}

/**
 * Reads the records of a keys file.
 *
 * @throws {CommandError} when it is missing or cannot be used
 */
export function readRecords(file: string): Promise<KeyRecord[]> {
  return explained(file, async () => {
    const text = await readIfThere(file);
    if (text === undefined) throw new CommandError(`${file}: no such file`);
    return parseKeys(text);
  });
}

/**
 * Changes a keys file under its lock. What else stands in the file is kept.
 *
 * @param change gets the records and returns the new ones
 * @param create whether a missing file is made
 */
export async function changeRecords(
  file: string,
  change: (records: KeyRecord[]) => KeyRecord[],
  create = false,
): Promise<void> {
  await explained(file, async () => {
    // Through a link the file behind it is replaced, not the link.
    const real = await realpath(file).catch(() => file);
    await withLock(real, async () => {
      const text = await readIfThere(real);
      if (text === undefined && !create) throw new CommandError(`${file}: no such file`);
      const records = text === undefined ? [] : parseKeys(text);
      const rest = text === undefined ? {} : (JSON.parse(text.replace(/^\uFEFF/, "")) as object);
      await replaceFile(real, `${JSON.stringify({ ...rest, keys: change(records) }, null, 2)}\n`);
    });
  });
}

/** What a new key is to be. */
export interface NewKey {
  readonly name: string;
  readonly kind: KeyKind;
  readonly prefix: string;
  /** All three read scopes when absent. */
  readonly scopes?: readonly string[];
  readonly limit?: number | null;
  readonly expiresAt?: string | null;
  /** Receives the new record's id. */
  readonly onId?: (id: string) => void;
}

/**
 * Makes a key and adds it to a file, which is made when missing.
 *
 * @returns the token; it is stored nowhere
 */
export async function addKey(file: string, key: NewKey): Promise<string> {
  const token = key.prefix + randomBytes(32).toString("base64url");
  const record: KeyRecord = {
    id: `key_${randomBytes(8).toString("hex")}`,
    kind: key.kind,
    name: key.name,
    sha256: hashToken(token),
    scopes: [...(key.scopes ?? SCOPES)],
    limit: key.limit ?? null,
    active: true,
    expiresAt: key.expiresAt ?? null,
    createdAt: new Date().toISOString(),
  };
  await changeRecords(file, (records) => [...records, record], true);
  key.onId?.(record.id);
  return token;
}
