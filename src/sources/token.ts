/** The token for a source, out of a file. */

import { readToken as readTokenFile, TokenFileError } from "../files/token-file.ts";
import { SourceError } from "./problem.ts";

/** As that of `files/`. @throws {SourceError} when the file cannot be read or holds no token */
export async function readToken(file: string, name: string): Promise<string> {
  return await readTokenFile(file, name).catch((error: unknown) => {
    if (error instanceof TokenFileError) throw new SourceError(error.message, { isLasting: true });
    throw error;
  });
}
