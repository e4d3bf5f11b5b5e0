/** The token for a source, out of a file. */

import { open } from "node:fs/promises";
import { SourceError } from "../util/source-error.ts";
import { systemErrorText } from "../util/system-error.ts";

const MOST_BYTES = 16_384;

/**
 * Reads a bearer token; white space around it does not count.
 *
 * @param name what named the file: an option or a variable
 * @throws {SourceError} naming both, when the file cannot be read or holds no token; what it holds is not quoted
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
    throw bad(`cannot be read: ${systemErrorText(error) ?? String(error)}`);
  }
  const token = buffer.toString("latin1", 0, bytes).trim();
  // Anything else would be refused by fetch, with the token in the message.
  if (!/^[\x21-\x7e]+$/.test(token) || bytes === MOST_BYTES) {
    throw bad("must hold one token, of visible ASCII characters");
  }
  return token;
}
