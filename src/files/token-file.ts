/** Reads the token for a source from a file. */

import { SourceError } from "../util/source-error.ts";
import { readGiven, whyUnread } from "./given.ts";

const MOST_BYTES = 16_384;

/**
 * Reads a bearer token; white space around it is ignored.
 *
 * @param name the option or variable that named the file
 * @throws {SourceError} naming both, when the file cannot be read or holds no token; its contents are not quoted
 */
export async function readToken(file: string, name: string): Promise<string> {
  const bad = (why: string): SourceError => new SourceError(`${name}: ${file}: ${why}`, { isLasting: true });
  const { bytes } = await readGiven(file, MOST_BYTES).catch((error: unknown) => {
    throw bad(whyUnread(error) ?? String(error));
  });
  const token = bytes.toString("latin1").trim();
  // Fetch would refuse any other token, and quote it in the message.
  if (!/^[\x21-\x7e]+$/.test(token)) {
    throw bad("must hold one token, of visible ASCII characters");
  }
  return token;
}
