/** Handles signals that arrive while the server is still being imported: from the start on, each has a listener. */

/** Without a listener they would end a server without a message, or open a debugger's port. */
export const IGNORED_SIGNALS = ["SIGUSR1", "SIGUSR2", "SIGQUIT"] as const;

export const STOP_SIGNALS = ["SIGINT", "SIGTERM"] as const;

let handle = (_signal: NodeJS.Signals): void => {};

/** From now on a stop signal ends the process at once, and other signals are ignored. */
export function deferSignals(exit: (status: number) => never): void {
  handle = (signal) => {
    if (STOP_SIGNALS.some((stop) => stop === signal)) exit(0);
  };
  for (const signal of [...STOP_SIGNALS, "SIGHUP", ...IGNORED_SIGNALS] as const) {
    // Replaces the listeners of `launch.mjs`: adds first, then removes. Without any listener node closes the signal's handle
    // and loses a signal that is already on its way.
    const earlier = process.listeners(signal);
    process.on(signal, () => handle(signal));
    for (const one of earlier) process.off(signal, one);
  }
}

/** Hands signals to another function from now on. */
export function releaseSignals(to: typeof handle): void {
  handle = to;
}
