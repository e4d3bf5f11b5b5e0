/** Limits in words, for documents for users. */

const UNITS: readonly (readonly [seconds: number, one: string, many: string])[] = [
  [604_800, "a week", "weeks"],
  [86_400, "a day", "days"],
  [3600, "an hour", "hours"],
  [60, "a minute", "minutes"],
  [1, "a second", "seconds"],
];

/** A limit of requests and its window in seconds: "1,000 an hour", "50 in 90 seconds". */
export function limitText(limit: number, windowSeconds: number): string {
  const [seconds, one, many] = UNITS.find(([unit]) => windowSeconds % unit === 0)!;
  const count = windowSeconds / seconds;
  return `${limit.toLocaleString("en-US")} ${count === 1 ? one : `in ${count} ${many}`}`;
}
