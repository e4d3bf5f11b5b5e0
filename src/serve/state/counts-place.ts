/** The place of the file of counts: whether anything can be written there. */

import { open, rm } from "node:fs/promises";
import { isPassing } from "../../system-error.ts";
import { behindLinks, temporaryOf } from "./counts-file.ts";

/**
 * Makes a file where counts will be written, and removes it. What may pass, such as a full disk, is left to the keeper,
 * which tries again.
 *
 * @throws the error of the system when nothing can be made there: the folder is missing, say, or is somebody else's
 */
export async function tryCountsPlace(file: string): Promise<void> {
  const temporary = temporaryOf(await behindLinks(file));
  try {
    await (await open(temporary, "wx", 0o600)).close();
  } catch (error) {
    if (!isPassing(error)) throw error;
  } finally {
    await rm(temporary, { force: true }).catch(() => {});
  }
}
