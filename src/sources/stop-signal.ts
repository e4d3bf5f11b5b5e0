/** The signal that stops a command of this folder. */

import { CommandError } from "../cli/options.ts";
import { STOP_SIGNALS } from "../util/process/early-signals.ts";

/** Aborts when a signal stops the process; the reason is a {@link CommandError}. */
export function stopSignal(): AbortSignal {
  const stop = new AbortController();
  for (const signal of STOP_SIGNALS) {
    process.once(signal, () => stop.abort(new CommandError(`stopped by ${signal}`)));
  }
  return stop.signal;
}
