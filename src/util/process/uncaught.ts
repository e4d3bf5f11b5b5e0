/** Throws an error outside of all promises and callers, so that it is an uncaught one of its thread or program. */
export function throwUncaught(error: unknown): void {
  queueMicrotask(() => {
    throw error;
  });
}
