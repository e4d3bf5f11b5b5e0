/** Converts times of the snapshot and the keys file to milliseconds and back. */

const DAYS_IN_MONTH = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/** Milliseconds since the epoch of 0000-01-01T00:00:00.000Z. */
const FIRST = -62_167_219_200_000;
/** Milliseconds since the epoch of 9999-12-31T23:59:59.999Z. */
const LAST = 253_402_300_799_999;

const SHAPE = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d)(?::(\d\d)(?:\.(\d+))?)?(?:Z|([+-])(\d\d):(\d\d))$/;

/** Days from 1970-01-01 to a civil date (proleptic Gregorian); Howard Hinnant's algorithm. */
function daysFromCivil(year: number, month: number, day: number): number {
  const y = month <= 2 ? year - 1 : year;
  const era = Math.floor(y / 400);
  const yearOfEra = y - era * 400;
  const dayOfYear = Math.floor((153 * (month > 2 ? month - 3 : month + 9) + 2) / 5) + day - 1;
  const dayOfEra = yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear;
  return era * 146_097 + dayOfEra - 719_468;
}

function isRealDate(year: number, month: number, day: number): boolean {
  if (!(month >= 1 && month <= 12 && day >= 1)) return false;
  const leap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  return day <= (month === 2 && leap ? 29 : DAYS_IN_MONTH[month - 1]!);
}

/** Two decimal digits as a number; 1000 if either is no digit. */
function twoDigits(bytes: Uint8Array, at: number): number {
  const tens = bytes[at]! - 48;
  const ones = bytes[at + 1]! - 48;
  return tens >= 0 && tens <= 9 && ones >= 0 && ones <= 9 ? tens * 10 + ones : 1000;
}

/** Bytes of a time from {@link formatTime}. */
const TIME_BYTES = 24;

/** Reads `YYYY-MM-DDTHH:MM:SS.mmmZ`, the form of most exports and of replies, in milliseconds since the epoch; NaN for others. */
export function parseServedTime(bytes: Uint8Array, from: number, to: number): number {
  if (to - from !== TIME_BYTES || bytes[from + 19] !== 46 || bytes[from + 23] !== 90) return Number.NaN;
  if (bytes[from + 4] !== 45 || bytes[from + 7] !== 45 || bytes[from + 10] !== 84) return Number.NaN;
  if (bytes[from + 13] !== 58 || bytes[from + 16] !== 58) return Number.NaN;
  const century = twoDigits(bytes, from);
  const years = twoDigits(bytes, from + 2);
  const month = twoDigits(bytes, from + 5);
  const day = twoDigits(bytes, from + 8);
  const hour = twoDigits(bytes, from + 11);
  const minute = twoDigits(bytes, from + 14);
  const second = twoDigits(bytes, from + 17);
  const hundredths = twoDigits(bytes, from + 20);
  const last = bytes[from + 22]! - 48;
  if (century > 99 || years > 99 || hour > 23 || minute > 59 || second > 59) return Number.NaN;
  if (hundredths > 99 || last < 0 || last > 9) return Number.NaN;
  const year = century * 100 + years;
  if (!isRealDate(year, month, day)) return Number.NaN;
  const seconds = daysFromCivil(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second;
  return seconds * 1000 + hundredths * 10 + last;
}

/**
 * Reads `YYYY-MM-DDTHH:MM[:SS[.f…]](Z|±HH:MM)`, real dates of the UTC years 0000–9999 alone; cuts fractions to milliseconds.
 * @returns milliseconds since the epoch, or NaN when the text is no such time
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { parseTime } from "./time.ts";
 * assert.equal(parseTime("1970-01-01T01:00:00.0019+01:00"), 1);
 * assert.ok(Number.isNaN(parseTime("2026-02-31T00:00:00Z")));
 * ```
 */
export function parseTime(text: string): number {
  const found = SHAPE.exec(text);
  if (found === null) return Number.NaN;
  const [, year, month, day, hour, minute, second = "0", fraction = "", sign, offsetHour, offsetMinute] =
    found;
  if (!isRealDate(Number(year), Number(month), Number(day))) return Number.NaN;
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second) > 59) return Number.NaN;
  let minutes = Number(hour) * 60 + Number(minute);
  if (sign !== undefined) {
    if (Number(offsetHour) > 23 || Number(offsetMinute) > 59) return Number.NaN;
    const offset = Number(offsetHour) * 60 + Number(offsetMinute);
    minutes += sign === "+" ? -offset : offset;
  }
  const milliseconds = Number(fraction.slice(0, 3).padEnd(3, "0"));
  const days = daysFromCivil(Number(year), Number(month), Number(day));
  const at = days * 86_400_000 + minutes * 60_000 + Number(second) * 1000 + milliseconds;
  return at >= FIRST && at <= LAST ? at : Number.NaN;
}

/** Writes milliseconds since the epoch as ISO 8601 UTC with three decimals. */
export function formatTime(milliseconds: number): string {
  return new Date(milliseconds).toISOString();
}

/** Clocks of machines may differ by so many seconds. */
const MOST_AHEAD = 300;

/** By how many seconds a time is ahead of this machine's clock; 0 up to five minutes, and for no valid time. */
export function secondsAhead(time: string | undefined, now: number = Date.now()): number {
  const seconds = Math.round((parseTime(time ?? "") - now) / 1000);
  return seconds > MOST_AHEAD ? seconds : 0;
}
