/** Long work in parts, with turns of the event loop between them, in which requests are answered. */

import { setImmediate as nextTurn } from "node:timers/promises";

/** Longest part, in milliseconds, if the work pauses often enough. */
const MOST_MS = 2;

/** Makes a function that gives other work a turn, if the last turn began long ago. */
export function createPauses(): () => Promise<void> | undefined {
  let since = performance.now();
  return () => {
    if (performance.now() - since < MOST_MS) return undefined;
    return nextTurn().then(() => {
      since = performance.now();
    });
  };
}
