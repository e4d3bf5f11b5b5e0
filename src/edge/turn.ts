/** How long the current turn of the event loop has lasted for those who ask. */

const LONG_MS = 2;

let began: number | undefined;

/** Whether it is more than two milliseconds since this was first asked in the current turn of the event loop. */
export function isTurnLong(): boolean {
  const now = performance.now();
  if (began === undefined) {
    began = now;
    setImmediate(() => {
      began = undefined;
    });
  }
  return now - began > LONG_MS;
}
