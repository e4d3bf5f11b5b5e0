/**
 * Handles signals that arrive while the server is still being imported. Without a listener, a signal would end the process
 * with a status of its own, or, for SIGUSR1, open node's inspector.
 */

/** Ignored: they would end a server without a message, or open a debugger's port. */
export const IGNORED_SIGNALS = ["SIGUSR1", "SIGUSR2", "SIGQUIT"] as const;

/** The signal that reopens the log file, if there is one. */
export const REOPEN_SIGNAL = "SIGUSR2";

/** Signals that stop a server. */
export const STOP_SIGNALS = ["SIGINT", "SIGTERM"] as const;

/** Signals that were ignored before a log could report them. */
let ignored: NodeJS.Signals[] = [];
let letGo = (): void => {};

/** From now on a stop signal ends the process at once, and other signals are ignored. */
export function holdSignals(exit: (status: number) => never): void {
  const stop = (): never => exit(0);
  // Nothing is loaded yet that could be reloaded.
  const ignore = (): void => {};
  const note = (signal: NodeJS.Signals): void => {
    ignored.push(signal);
  };
  const listeners: [NodeJS.Signals, (signal: NodeJS.Signals) => void][] = [
    ...STOP_SIGNALS.map((signal): [NodeJS.Signals, () => never] => [signal, stop]),
    ["SIGHUP", ignore],
    ...IGNORED_SIGNALS.map((signal): [NodeJS.Signals, typeof note] => [signal, note]),
  ];
  for (const [signal, listener] of listeners) {
    // Replaces the listeners of `launch.mjs`: adds first, then removes. Without any listener node closes the signal's handle
    // and loses a signal that is already on its way.
    const earlier = process.listeners(signal);
    process.on(signal, listener);
    for (const one of earlier) process.off(signal, one);
  }
  letGo = () => {
    for (const [signal, listener] of listeners) process.off(signal, listener);
    letGo = () => {};
  };
}

/** Ends {@link holdSignals}; to be called when other listeners are set. @returns the signals that were ignored */
export function releaseSignals(): readonly NodeJS.Signals[] {
  letGo();
  const all = ignored;
  ignored = [];
  return all;
}
