/** Writing the keys file: one writer at a time, and never half a file. */

import { readFile, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { withLock } from "../cli/file-lock.ts";
import { CommandError } from "../cli/options.ts";
import { removeLeftovers, replaceFile } from "../files/atomic.ts";
import { behindLinks } from "../files/foreign.ts";
import { codeOf, systemErrorText } from "../util/system-error.ts";
import { type KeyRecord, KeysFileError, parseKeys } from "./keys.ts";
import { makeKey, type NewKey } from "./new-key.ts";

/** Replaces a keys file; tells when others could read the old one. */
async function replaceKeys(
  file: string,
  text: string,
  ready: () => Promise<void>,
  tell: ((text: string) => void) | undefined,
): Promise<void> {
  const before = await stat(file).catch(() => undefined);
  // An operator who edits as root must not lock the server's own user out.
  await replaceFile(file, text, { mode: 0o600, keepsOwner: true, ready });
  const mode = before === undefined ? 0 : before.mode & 0o777;
  if ((mode & 0o077) !== 0) {
    tell?.(
      `orrery: warning: ${file} had mode ${mode.toString(8).padStart(4, "0")} and has 0600 now: only its owner can read it\n`,
    );
  }
}

/**
 * The file's text, or undefined when there is none. A device may give text for ever.
 *
 * @param mayBePipe whether it may be what a shell puts for `<(…)`, which is read once and cannot be replaced
 */
async function readIfThere(file: string, mayBePipe: boolean): Promise<string | undefined> {
  try {
    const stats = await stat(file);
    if (!stats.isFile() && !stats.isDirectory() && !(mayBePipe && stats.isFIFO())) {
      throw new CommandError(`${file}: is not a regular file`);
    }
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
    // A missing file is seen to elsewhere.
    if (codeOf(error) === "ENOENT") {
      throw new CommandError(`${dirname(file)}: directory does not exist (ENOENT)`);
    }
    const text = systemErrorText(error);
    if (text !== undefined) throw new CommandError(`${file}: ${text}`);
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
    const text = await readIfThere(file, true);
    if (text === undefined) throw new CommandError(`${file}: file does not exist (ENOENT)`);
    return parseKeys(text);
  });
}

/** How a keys file is to be changed. */
export interface ChangeOptions {
  /** Whether a missing file is made; false when absent. */
  readonly create?: boolean;
  /** Called when the new file is complete on disk, before it comes into force; a throw leaves the old one. */
  readonly ready?: () => Promise<void>;
  /** Receives lines for the user: that the lock has to be waited for, that others can no longer read the file. */
  readonly tell?: (text: string) => void;
}

/**
 * Changes a keys file under its lock. What else stands in the file is kept.
 *
 * @param change gets the records and returns the new ones; called again should the lock be lost under way
 */
export async function changeRecords(
  file: string,
  change: (records: KeyRecord[]) => KeyRecord[],
  { create = false, ready, tell }: ChangeOptions = {},
): Promise<void> {
  await explained(file, async () => {
    // Through a link the file behind it is replaced, not the link.
    const real = await behindLinks(file);
    await withLock(
      real,
      async (assertHeld) => {
        const text = await readIfThere(real, false);
        if (text === undefined && !create) throw new CommandError(`${file}: file does not exist (ENOENT)`);
        const records = text === undefined ? [] : parseKeys(text);
        const rest = text === undefined ? {} : (JSON.parse(text.replace(/^\uFEFF/, "")) as object);
        const changed = `${JSON.stringify({ ...rest, keys: change(records) }, null, 2)}\n`;
        await removeLeftovers(real);
        const confirm = async (): Promise<void> => {
          await ready?.();
          await assertHeld();
        };
        await replaceKeys(real, changed, confirm, tell);
      },
      tell,
    );
  });
}

/** How a new key is to be added. */
export interface AddedKey extends NewKey {
  /**
   * Receives the token, once, before the key comes into force: a key whose token nobody has must not come to be,
   * whenever the process ends. A throw calls the key off.
   */
  readonly show?: (token: string) => Promise<void>;
  /** Receives the new record's id once the key is in force. */
  readonly onId?: (id: string) => void;
  /** Receives lines for the user: that the lock has to be waited for, that others can no longer read the file. */
  readonly tell?: (text: string) => void;
}

/**
 * Makes a key and adds it to a file, which is made when missing.
 *
 * @returns the token; it is stored nowhere
 */
export async function addKey(file: string, key: AddedKey): Promise<string> {
  const { token, record } = makeKey(key);
  let shown: Promise<void> | undefined;
  await changeRecords(file, (records) => [...records, record], {
    create: true,
    ready: async () => {
      shown ??= key.show?.(token);
      await shown;
    },
    ...(key.tell ? { tell: key.tell } : {}),
  });
  key.onId?.(record.id);
  return token;
}
