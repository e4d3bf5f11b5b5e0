/**
 * A small first snapshot is loaded, and its long searches done, on the serving
 * thread: nobody is served yet, and to start a thread and its own copy of the
 * program takes longer, and more memory, than there is to do.
 */

import { stat } from "node:fs/promises";
import { join } from "node:path";
import { ROW_FILES } from "../../model/model.ts";
import { PREPARED } from "../../snapshot/files.ts";
import type { Loader } from "./loader.ts";

/** Most bytes of row files, together, that are small: some 20,000 users. Their longest searches take a few milliseconds. */
const MOST_BYTES = 8 * 1_048_576;
/** As many rows, prepared. */
const MOST_PREPARED_BYTES = 3 * MOST_BYTES;

/** Bytes of files in a folder together; NaN when one cannot be looked at. */
async function bytesOf(folder: string, names: readonly string[]): Promise<number> {
  const sizes = names.map(async (name) => (await stat(join(folder, name))).size);
  return (await Promise.all(sizes).catch(() => [Number.NaN])).reduce((bytes, size) => bytes + size, 0);
}

/** Whether a folder holds few rows. How many are in a compressed file is not known; to say what is wrong is the load's matter. */
async function isSmall(folder: string): Promise<boolean> {
  return (
    (await bytesOf(folder, ROW_FILES)) <= MOST_BYTES ||
    (await bytesOf(folder, [PREPARED])) <= MOST_PREPARED_BYTES
  );
}

/**
 * Makes a loader whose first load is done here if it is small.
 *
 * @param elsewhere does all others: later ones must not hold up requests
 * @param importHere gives the one for the calling thread
 */
export function createFirstLoader(elsewhere: Loader, importHere: () => Promise<Loader>): Loader {
  let isFirst = true;
  return async (folder, options) => {
    const isHere = isFirst && (await isSmall(folder));
    isFirst = false;
    return (isHere ? await importHere() : elsewhere)(folder, options);
  };
}
