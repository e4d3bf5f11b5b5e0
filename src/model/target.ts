/** Targets of requests. */

const ABSOLUTE = /^https?:\/\/[^/?#]*/i;

/** Splits a request target at its first `?`; an absolute form loses its authority. */
export function splitTarget(target: string): { path: string; query: string } {
  const local = target.startsWith("/") ? target : target.replace(ABSOLUTE, "");
  const mark = local.indexOf("?");
  return mark < 0 ? { path: local, query: "" } : { path: local.slice(0, mark), query: local.slice(mark + 1) };
}
