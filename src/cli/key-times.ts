/** Ends of validity and overlaps of tokens, as they are written on the command line. */

import { formatTime, parseTime } from "../model/time.ts";
import { UsageError } from "./options.ts";

const UNIT_MS: Readonly<Record<string, number>> = {
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
};

/** Why a text is no date or time, as far as that can be told. */
function problemWithTime(text: string): string {
  const is = JSON.stringify(text);
  const [, unit] = /^\d+(?:\.\d+)?\s*([a-z]+)$/i.exec(text) ?? [];
  if (unit !== undefined && !Object.hasOwn(UNIT_MS, unit)) {
    return `unknown unit ${JSON.stringify(unit)} in ${is}; the units are m, h, d and w (minutes, hours, days, weeks)`;
  }
  const [, date, rest = ""] = /^(\d{4}-\d\d-\d\d)(.*)$/.exec(text) ?? [];
  if (date !== undefined && Number.isNaN(parseTime(`${date}T00:00:00Z`))) {
    return `there is no day ${JSON.stringify(date)}`;
  }
  if (/^T\d\d:\d\d(:\d\d(\.\d+)?)?$/.test(rest)) return `${is} has no time zone; append Z for UTC, or +01:00`;
  return `${is} is neither a time from now (30m, 12h, 90d, 1w), a date (2030-01-31) nor a time (2030-01-31T12:00:00Z)`;
}

const SPAN = /^(\d+)([mhdw])$/;
const LAST = parseTime("9999-12-31T23:59:59.999Z");

/** Milliseconds of `30m`, `12h`, `90d` or `1w`; undefined for any other text. */
function spanOf(text: string): number | undefined {
  const [, amount, unit] = SPAN.exec(text) ?? [];
  return unit === undefined ? undefined : Number(amount) * UNIT_MS[unit]!;
}

/** End of validity from `30m`, `12h`, `90d`, `1w`, a date, whose first moment in UTC is meant, or a time. */
export function readExpiry(text: string, now: number): string {
  const span = spanOf(text);
  const time = /^\d{4}-\d\d-\d\d$/.test(text) ? `${text}T00:00:00Z` : text;
  const at = span === undefined ? parseTime(time) : now + span;
  if (Number.isNaN(at)) throw new UsageError(`--expires: ${problemWithTime(text)}`);
  if (at > LAST) {
    throw new UsageError(`--expires: ${JSON.stringify(text)} is after the year 9999`);
  }
  // A key that is born expired is a slip: a year mistyped, or a zero too few.
  if (at <= now) throw new UsageError(`--expires: must be in the future, is ${formatTime(at)}`);
  return formatTime(at);
}

/** Milliseconds for which a replaced token goes on working, from `0` or a span. @throws {UsageError} */
export function readOverlap(text: string, now: number): number {
  const span = text === "0" ? 0 : spanOf(text);
  if (span === undefined) {
    const is = JSON.stringify(text);
    throw new UsageError(`--overlap: must be 0 or a span such as 30m, 12h, 90d or 1w, is ${is}`);
  }
  if (now + span > LAST) throw new UsageError(`--overlap: ${JSON.stringify(text)} ends after the year 9999`);
  return span;
}
