/** What replies say of a limit, in milliseconds from now. */

/** Without a `Date` the end of a window is known only as well as the two clocks agree. */
const MOST_GUESSED_MS = 3_600_000;
/** A server is asked again after a day, whatever it says: one request, where a window is longer or a header lied. */
const MOST_MS = 86_400_000;
/** A reset from this value on is in milliseconds, though it should be in seconds. */
const MILLISECONDS_FROM = 1e11;

/** A whole number; undefined where there is none. */
export function numberOf(headers: Headers, name: string): number | undefined {
  const text = headers.get(name)?.trim() ?? "";
  return /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}

/** A moment that a header gives in seconds, or in milliseconds, as milliseconds. */
function momentOf(time: number): number {
  return time < MILLISECONDS_FROM ? time * 1000 : time;
}

/** Milliseconds from the end of a window to that of the next; undefined where one of them is not to be believed. */
export function lengthOfWindow(reset: number, next: number): number | undefined {
  const ms = momentOf(next) - momentOf(reset);
  return reset > 0 && ms > 0 && ms <= MOST_MS ? ms : undefined;
}

/** Milliseconds from a reply until a moment of the server's clock; a day at most. */
export function untilServerTime(seconds: number, headers: Headers, wallNow: number): number {
  const date = Date.parse(headers.get("date") ?? "");
  const moment = momentOf(seconds);
  if (!Number.isNaN(date)) return Math.min(moment - date, MOST_MS);
  return Math.min(moment - wallNow, MOST_GUESSED_MS);
}

/** What `Retry-After` says, in milliseconds: seconds, or a date of the server's clock; a day at most. */
export function retryAfterOf(headers: Headers, wallNow = Date.now()): number | undefined {
  const seconds = numberOf(headers, "retry-after");
  if (seconds !== undefined) return Math.min(seconds * 1000, MOST_MS);
  const date = Date.parse(headers.get("retry-after") ?? "");
  return Number.isNaN(date) ? undefined : Math.max(0, untilServerTime(date / 1000, headers, wallNow));
}
