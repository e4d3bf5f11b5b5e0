/** Where `keys create` and `keys rotate` put a new token: standard output, or the file of `--token-out`. */

import { hashToken, type KeyRecord } from "../auth/keys.ts";
import { changeRecords } from "../auth/keys-file.ts";
import { type Access, type NewFile, removeLeftovers, writeNewFile } from "../files/atomic.ts";
import { behindLinks } from "../files/foreign.ts";
import { answered, readGiven, whyUnread } from "../files/given.ts";
import { tokenIn } from "../files/token-file.ts";
import { codeOf, problemText } from "../util/system-error.ts";
import { ToldError } from "../util/told-error.ts";
import type { CommandIo } from "./command.ts";
import { CommandError, type Options } from "./options.ts";

/** Far more than a token has. */
const MOST_BYTES = 16_384;

/** A file for a token. */
interface TokenFile {
  /** Without symbolic links. */
  readonly path: string;
  /** Of the token of the same key that it holds: whoever could read that one may read the next. */
  readonly like?: Access;
}

/** @returns undefined for a file that holds something else than a token of the key @throws errors of {@link readGiven} */
async function replaceable(path: string, key: KeyRecord | undefined): Promise<TokenFile | undefined> {
  const given = await readGiven(path, MOST_BYTES).catch((error: unknown) => {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  });
  const token = tokenIn(given?.bytes.toString("latin1") ?? "");
  if (given === undefined || token === "") return { path };
  const hashes = key ? [key, ...(key.previous ?? [])].map(({ sha256 }) => sha256.toLowerCase()) : [];
  const { uid, gid } = given.stats;
  return hashes.includes(hashToken(token)) ? { path, like: { mode: 0o600n, uid, gid } } : undefined;
}

/**
 * The file of `--token-out`; undefined without the option.
 *
 * @param key whose token the file may hold
 * @throws {CommandError} when the file holds something else or cannot be read
 */
export async function tokenFileOf(
  { values, names }: Options<"keys create" | "keys rotate">,
  key?: KeyRecord,
): Promise<TokenFile | undefined> {
  const { tokenOut } = values;
  if (tokenOut === undefined) return undefined;
  const refuse = (why: string): never => {
    throw new CommandError(`${names.tokenOut}: ${tokenOut}: ${why}`);
  };
  try {
    const file = await replaceable(await answered(tokenOut, () => behindLinks(tokenOut)), key);
    if (file !== undefined) return file;
  } catch (error) {
    return refuse(whyUnread(error) ?? String(error));
  }
  return refuse(`exists and does not hold a token of ${key?.id ?? "the new key"}; it is not replaced`);
}

export interface NewToken {
  readonly text: () => string;
  /** The file to write it to; undefined for standard output. */
  readonly file: TokenFile | undefined;
  /** Whether a missing keys file is created. */
  readonly create?: boolean;
  /** Ends the message when the token cannot be written. */
  readonly undone: string;
}

/**
 * Changes a keys file, and writes the new token before it takes effect, so that no valid token is lost unseen. A file with
 * the token gets its name after the change.
 */
export async function changeWithToken(
  keysFile: string,
  io: CommandIo,
  { text, file, create = false, undone }: NewToken,
  change: (records: KeyRecord[]) => KeyRecord[],
): Promise<void> {
  let isWritten = false;
  let made: NewFile | undefined;
  const where = file?.path ?? "standard output";
  const ready = async (): Promise<void> => {
    if (isWritten) return;
    try {
      if (file === undefined) await io.deliver(`${text()}\n`);
      else made = await writeNewFile(file.path, `${text()}\n`, { mode: 0o600, like: file.like });
      isWritten = true;
    } catch (error) {
      throw new CommandError(`the token cannot be written to ${where}: ${problemText(error)}; ${undone}`);
    }
  };
  if (file !== undefined) await removeLeftovers(file.path);
  try {
    await changeRecords(keysFile, change, { create, ready, tell: io.complain });
  } catch (error) {
    await made?.discard();
    const isPrinted = isWritten && file === undefined;
    if (isPrinted && error instanceof ToldError) error.message += "; the printed token is not valid";
    throw error;
  }
  await made?.commit().catch(async (error: unknown) => {
    await made?.discard();
    throw new CommandError(
      `the key has a new token, but ${where} cannot be replaced: ${problemText(error)}; rotate the key`,
    );
  });
}
