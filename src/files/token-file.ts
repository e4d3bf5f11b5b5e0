/** Reads tokens from files. */

import { SourceError } from "../util/source-error.ts";
import { readGiven, whyUnread } from "./given.ts";

const MOST_BYTES = 16_384;

/** The token in the text of a file, without a byte order mark and white space around it. @param text one character per byte */
export function tokenIn(text: string): string {
  return text.replace(/^\xef\xbb\xbf/, "").trim();
}

/**
 * Reads a bearer token; a byte order mark and white space around it are ignored.
 * @param name the option or variable that named the file
 * @throws {SourceError} naming both, when the file cannot be read or holds no token; its contents are not quoted
 */
export async function readToken(file: string, name: string): Promise<string> {
  const bad = (why: string): SourceError => new SourceError(`${name}: ${file}: ${why}`);
  const { bytes } = await readGiven(file, MOST_BYTES).catch((error: unknown) => {
    throw bad(whyUnread(error) ?? String(error));
  });
  const token = tokenIn(bytes.toString("latin1"));
  // Fetch would refuse any other token, and quote it in the message.
  if (!/^[\x21-\x7e]+$/.test(token)) {
    throw bad("must hold one token, of visible ASCII characters");
  }
  return token;
}
