/** Reads tokens from files. */

import { open } from "node:fs/promises";
import { SourceError } from "../util/source-error.ts";
import { problemText } from "../util/system-error.ts";

const MOST_BYTES = 16_384;

/**
 * The token in the text of a file, without a byte order mark and white space around it.
 *
 * @param text one character per byte
 */
export function tokenIn(text: string): string {
  return text.replace(/^\xef\xbb\xbf/, "").trim();
}

/**
 * Reads a bearer token; a byte order mark and white space around it are ignored.
 *
 * @param name the option or variable that named the file
 * @throws {SourceError} naming both, when the file cannot be read or holds no token; its contents are not quoted
 */
export async function readToken(file: string, name: string): Promise<string> {
  const bad = (why: string): SourceError => new SourceError(`${name}: ${file}: ${why}`, { isLasting: true });
  const buffer = Buffer.alloc(MOST_BYTES);
  let bytes = 0;
  try {
    const handle = await open(file);
    try {
      ({ bytesRead: bytes } = await handle.read(buffer, 0, MOST_BYTES, 0));
    } finally {
      await handle.close();
    }
  } catch (error) {
    throw bad(`cannot be read: ${problemText(error)}`);
  }
  const token = tokenIn(buffer.toString("latin1", 0, bytes));
  // Fetch would refuse any other token, and quote it in the message.
  if (!/^[\x21-\x7e]+$/.test(token) || bytes === MOST_BYTES) {
    throw bad("must hold one token, of visible ASCII characters");
  }
  return token;
}
