/** Ends the threads before the process, which would wait for them without a bound. */

import { setTimeout as sleep } from "node:timers/promises";
import { endWorkers } from "./worker-options.ts";

/** How long threads may take to end. */
const PATIENCE_MS = 1000;
const LOOK_MS = 10;

/** Calls that Node makes in a thread. */
const CALL = /^FSReq|^Get(Addr|Name)Info/;

/** Whether this thread waits for a call. Other runtimes do not tell. */
function isCalling(): boolean {
  return process.getActiveResourcesInfo?.().some((name) => CALL.test(name)) ?? false;
}

/** Ends all threads. @returns false if one hangs, in a call that the system does not answer */
export async function endThreads(): Promise<boolean> {
  const deadline = performance.now() + PATIENCE_MS;
  let areEnding = true;
  void endWorkers().then(() => {
    areEnding = false;
  });
  for (await null; areEnding || isCalling(); await sleep(LOOK_MS)) {
    if (performance.now() > deadline) return false;
  }
  return true;
}
