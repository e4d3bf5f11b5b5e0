/**
 * Signals that come while the server is still being imported. One without a listener would end the process with a status of
 * its own, or, for SIGUSR1, open node's inspector.
 */

/** Ignored: they would end a server without a word, or open a debugger's port. */
export const IGNORED_SIGNALS = ["SIGUSR1", "SIGUSR2", "SIGQUIT"] as const;

/** The signal that opens the log's file again, where there is one. */
export const REOPEN_SIGNAL = "SIGUSR2";

/** What stops a server. */
export const STOP_SIGNALS = ["SIGINT", "SIGTERM"] as const;

/** What was ignored before there was a log to say so. */
let ignored: NodeJS.Signals[] = [];
let letGo = (): void => {};

/** From now on a signal to stop does so at once, and others are ignored. */
export function holdSignals(exit: (status: number) => never): void {
  const stop = (): never => exit(0);
  // There is nothing to read again yet.
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
    // The listeners of `launch.mjs`. Added first, then removed: without any listener node closes the signal's handle, and
    // a signal that is already on its way to it is lost.
    const earlier = process.listeners(signal);
    process.on(signal, listener);
    for (const one of earlier) process.off(signal, one);
  }
  letGo = () => {
    for (const [signal, listener] of listeners) process.off(signal, listener);
    letGo = () => {};
  };
}

/** Ends that; to be called when others listen already. Returns what was ignored. */
export function releaseSignals(): readonly NodeJS.Signals[] {
  letGo();
  const all = ignored;
  ignored = [];
  return all;
}
