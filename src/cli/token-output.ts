/** Where `keys create` and `keys rotate` put a new token: standard output, or the file of `--token-out`. */

import { rename } from "node:fs/promises";
import { hashToken, type KeyRecord } from "../auth/keys.ts";
import { changeRecords } from "../auth/keys-file.ts";
import { type Access, leftoversOf, type NewFile, removeLeftovers, writeNewFile } from "../files/atomic.ts";
import { behindLinks } from "../files/foreign.ts";
import { readGiven, whyUnread } from "../files/given.ts";
import { tokenIn } from "../files/token-file.ts";
import { codeOf, problemText } from "../util/system-error.ts";
import { ToldError } from "../util/told-error.ts";
import type { CommandIo } from "./command.ts";
import { CommandError } from "./options.ts";

/** Far more than a token has. */
const MOST_BYTES = 16_384;

/** The token in a file; empty where there is none, undefined without a file. @throws errors of {@link readGiven} */
async function readTokenFile(path: string) {
  const given = await readGiven(path, MOST_BYTES).catch((error: unknown) => {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  });
  return given && { stats: given.stats, token: tokenIn(given.bytes.toString("latin1")) };
}

/** The key of a token, which may be an earlier one of it. */
function keyOf(token: string, records: readonly KeyRecord[]): KeyRecord | undefined {
  const hash = hashToken(token);
  return records.find(({ sha256, previous = [] }) =>
    [sha256, ...previous.map((earlier) => earlier.sha256)].some((one) => one.toLowerCase() === hash),
  );
}

/** Gives a token its file if the command that made it was killed after the key had it: nothing else holds it. */
async function finishKilled(path: string, records: readonly KeyRecord[]): Promise<void> {
  for (const temporary of await leftoversOf(path)) {
    const { token = "" } = (await readTokenFile(temporary).catch(() => undefined)) ?? {};
    const isCurrent = keyOf(token, records)?.sha256.toLowerCase() === hashToken(token);
    if (isCurrent) await rename(temporary, path);
  }
  await removeLeftovers(path);
}

/**
 * Writes a token beside its file.
 *
 * @param id key whose token the file may hold, current or earlier: whoever could read that one may read the next
 * @throws {CommandError} when the file holds something else or cannot be read; errors of the file system
 */
async function writeToken(
  tokenOut: string,
  token: string,
  records: readonly KeyRecord[],
  id: string | undefined,
): Promise<NewFile> {
  const refuse = (why: string): never => {
    throw new CommandError(`--token-out: ${tokenOut}: ${why}`);
  };
  const unread = (error: unknown): never => refuse(whyUnread(error) ?? String(error));
  const path = await behindLinks(tokenOut).catch(unread);
  await finishKilled(path, records);
  const found = await readTokenFile(path).catch(unread);
  let like: Access | undefined;
  if (found !== undefined && found.token !== "") {
    const owner = keyOf(found.token, records);
    const what = owner === undefined ? "something else than a token of a key" : `a token of ${owner.id}`;
    if (owner === undefined || owner.id !== id) refuse(`exists and holds ${what}; it is not replaced`);
    const { uid, gid } = found.stats;
    like = { mode: 0o600n, uid, gid };
  }
  return await writeNewFile(path, `${token}\n`, { mode: 0o600, like });
}

export interface NewToken {
  readonly text: () => string;
  /** Path of the file to write it to; undefined for standard output. */
  readonly tokenOut: string | undefined;
  /** The key that it replaces a token of. */
  readonly id?: string;
  /** Ends the message when the token cannot be written. */
  readonly undone: string;
}

/**
 * Changes a keys file, and writes the new token before it takes effect, so that no valid token is lost unseen. A file with
 * the token gets its name after the change, under the lock of the keys file. A missing keys file is created for a new key.
 */
export async function changeWithToken(
  keysFile: string,
  io: CommandIo,
  { text, tokenOut, id, undone }: NewToken,
  change: (records: KeyRecord[]) => KeyRecord[],
): Promise<void> {
  let before: readonly KeyRecord[] = [];
  let isPrinted = false;
  let made: NewFile | undefined;
  const ready = async (): Promise<void> => {
    if (isPrinted || made !== undefined) return;
    try {
      if (tokenOut !== undefined) made = await writeToken(tokenOut, text(), before, id);
      else {
        await io.deliver(`${text()}\n`);
        isPrinted = true;
      }
    } catch (error) {
      if (error instanceof CommandError) throw error;
      const where = tokenOut ?? "standard output";
      throw new CommandError(`the token cannot be written to ${where}: ${problemText(error)}; ${undone}`);
    }
  };
  const done = async (): Promise<void> => {
    await made?.commit().catch((error: unknown) => {
      throw new CommandError(
        `the key has a new token, but ${tokenOut} cannot be replaced: ${problemText(error)}; rotate the key`,
      );
    });
  };
  const changeThem = (records: KeyRecord[]): KeyRecord[] => {
    before = records;
    return change(records);
  };
  try {
    await changeRecords(keysFile, changeThem, { create: id === undefined, ready, done, tell: io.complain });
  } catch (error) {
    await made?.discard();
    if (isPrinted && error instanceof ToldError) error.message += "; the printed token is not valid";
    throw error;
  }
}
