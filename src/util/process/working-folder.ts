/** The working folder, which other programs may delete while this one runs. */

import { isMainThread } from "node:worker_threads";

/**
 * Goes to the root if the working folder was deleted: without one no thread and no child of Node starts. To be called
 * before each start; threads follow the main thread, which alone can do it.
 */
export function leaveDeletedFolder(): void {
  if (!isMainThread) return;
  try {
    // Node remembers the folder until a change.
    process.chdir(".");
    process.cwd();
  } catch {
    try {
      process.chdir("/");
    } catch {
      // Deno forbids it without a permission. The start tells what is wrong.
    }
  }
}
