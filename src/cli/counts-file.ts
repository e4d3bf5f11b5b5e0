/** The file of counts on the command line. */

import { systemErrorText } from "../system-error.ts";
import { CommandError, type Options } from "./options.ts";

/**
 * Reads where counts are kept.
 *
 * @returns undefined where they are not
 * @throws {CommandError} naming the setting, when nothing can be written there: it would fail for as long as the server runs
 */
export async function readCountsFile(options: Options): Promise<string | undefined> {
  const file = options.optional("state");
  if (file === undefined) return undefined;
  // Imported when it is needed, as what keeps the file.
  const { tryCountsPlace } = await import("../serve/state/counts-place.ts");
  try {
    await tryCountsPlace(file);
  } catch (error) {
    const words = systemErrorText(error);
    if (words === undefined) throw error;
    throw new CommandError(`${options.nameOf("state")}: ${file} cannot be written: ${words}`);
  }
  return file;
}
