/**
 * A small first snapshot is loaded, and its long searches done, on the serving
 * thread: nobody is served yet, and to start a thread and its own copy of the
 * program takes longer, and more memory, than there is to do.
 */

import { stat } from "node:fs/promises";
import { join } from "node:path";
import { ROW_FILES } from "../model.ts";
import type { Loader } from "./loader.ts";

/** Most bytes of row files, together, that are small: some 20,000 users. Their longest searches take a few milliseconds. */
const MOST_BYTES = 8 * 1_048_576;

/** Whether a folder holds few rows. How many are in a compressed file is not known; to say what is wrong is the load's matter. */
async function isSmall(folder: string): Promise<boolean> {
  try {
    const files = await Promise.all(ROW_FILES.map((name) => stat(join(folder, name))));
    return files.reduce((bytes, { size }) => bytes + size, 0) <= MOST_BYTES;
  } catch {
    return false;
  }
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
