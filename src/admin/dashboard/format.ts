/** Formats figures for people: few digits, a unit, the same width from one second to the next. */

/** No-break space between a figure and its unit. */
const SPACE = "\u00a0";

/** In place of a missing figure. */
export const NONE = "–";

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
export const clock = new Intl.DateTimeFormat("en-GB", { timeStyle: "medium" });
/** Names the browser's time zone, in which all times are. */
export const zoned = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "long" });
const dayAndClock = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "medium" });

/** Makes a formatter that writes {@link NONE} for a missing figure. */
function formatter(write: (value: number) => string) {
  return (value: number | null | undefined): string =>
    typeof value === "number" && Number.isFinite(value) ? write(value) : NONE;
}

/** Three significant digits below a hundred, whole numbers above. */
function digits(value: number): string {
  if (value === 0 || value >= 99.95) return whole.format(value);
  return value.toFixed(value >= 9.995 ? 1 : 2);
}

/** "12,345" */
export const count = formatter((value) => whole.format(value));

/** "1 problem", "2 problems" */
export function counted(value: number, noun: string): string {
  return `${whole.format(value)}${SPACE}${noun}${value === 1 ? "" : "s"}`;
}

/** "2 users, 1 world, 0 instances" */
export function rowsText(users: number, worlds: number, instances: number): string {
  return `${counted(users, "user")}, ${counted(worlds, "world")}, ${counted(instances, "instance")}`;
}

/** Requests a second: "0", "0.25", "12.4", "8,120". */
export const rate = formatter(digits);

/** A part of a whole between 0 and 1: "97.3 %". */
export const percent = formatter(
  (share) => `${(share * 100).toFixed(share === 0 || share === 1 ? 0 : 1)}${SPACE}%`,
);

/** Milliseconds: "0.14 ms", "12.0 ms", "1.20 s". */
export const millis = formatter((ms) => {
  if (ms < 1000) return `${digits(ms)}${SPACE}ms`;
  return ms < 120_000 ? `${digits(ms / 1000)}${SPACE}s` : duration(ms / 1000);
});

/** Bytes in decimal units, as disks and `--…-bytes` settings count them: "12.3 MB". */
export const bytes = formatter((value) => {
  const units = ["B", "kB", "MB", "GB", "TB"];
  const power = value < 1000 ? 0 : Math.min(units.length - 1, Math.floor(Math.log10(value) / 3));
  const scaled = value / 1000 ** power;
  return `${power === 0 ? whole.format(scaled) : digits(scaled)}${SPACE}${units[power]}`;
});

const PARTS = { d: 86_400, h: 3600, min: 60, s: 1 };

/** Seconds in their two largest units: "3 d 4 h", "2 min 10 s", "8 s". */
export const duration = formatter((seconds) => {
  let rest = Math.max(0, Math.floor(seconds));
  const parts = Object.entries(PARTS).map(([unit, size]) => {
    const times = Math.floor(rest / size);
    rest %= size;
    return times === 0 ? "" : `${times}${SPACE}${unit}`;
  });
  const first = parts.findIndex((part) => part !== "");
  if (first < 0) return `0${SPACE}s`;
  const [larger, smaller = ""] = parts.slice(first);
  return `${larger} ${smaller}`.trimEnd();
});

/** The duration between two ISO times. */
export function between(from: string, to: string): string {
  return duration((Date.parse(to) - Date.parse(from)) / 1000);
}

/** A time of today as "14:02:11", of another day with its date; "–" if invalid. */
export function moment(time: Date | string, now = new Date()): string {
  const date = new Date(time);
  if (Number.isNaN(date.getTime())) return NONE;
  return (date.toDateString() === now.toDateString() ? clock : dayAndClock).format(date);
}
