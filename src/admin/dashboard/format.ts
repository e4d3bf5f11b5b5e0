/** Formats figures for people: few digits, a unit, the same width from one second to the next. */

/** No-break space between a figure and its unit. */
const SPACE = "\u00a0";

/** In place of a missing figure. */
export const NONE = "–";

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const tenths = new Intl.NumberFormat("en", { minimumFractionDigits: 1, maximumFractionDigits: 1 });
const hundredths = new Intl.NumberFormat("en", { minimumFractionDigits: 2, maximumFractionDigits: 2 });
const clock = new Intl.DateTimeFormat("en-GB", { timeStyle: "medium" });
const dayAndClock = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "medium" });

type Figure = number | null | undefined;

function isFigure(value: Figure): value is number {
  return typeof value === "number" && Number.isFinite(value);
}

/** Three significant digits below a hundred, whole numbers above. */
function digits(value: number): string {
  const size = Math.abs(value);
  if (size === 0 || size >= 99.95) return whole.format(value);
  return size >= 9.995 ? tenths.format(value) : hundredths.format(value);
}

/** "12,345" */
export function count(value: Figure): string {
  return isFigure(value) ? whole.format(value) : NONE;
}

/** "1 problem", "2 problems" */
export function counted(value: number, noun: string): string {
  return `${whole.format(value)}${SPACE}${noun}${value === 1 ? "" : "s"}`;
}

/** Requests a second: "0", "0.25", "12.4", "8,120". */
export function rate(value: Figure): string {
  return isFigure(value) ? digits(value) : NONE;
}

/** A part of a whole between 0 and 1: "97.3 %". */
export function percent(value: Figure): string {
  if (!isFigure(value)) return NONE;
  return `${value === 0 || value === 1 ? whole.format(value * 100) : tenths.format(value * 100)}${SPACE}%`;
}

/** Milliseconds: "0.14 ms", "12.0 ms", "1.20 s". */
export function millis(value: Figure): string {
  if (!isFigure(value)) return NONE;
  if (value < 1000) return `${digits(value)}${SPACE}ms`;
  return value < 120_000 ? `${digits(value / 1000)}${SPACE}s` : duration(value / 1000);
}

/** Bytes in decimal units, as disks and `--…-bytes` settings count them: "12.3 MB". */
export function bytes(value: Figure): string {
  if (!isFigure(value)) return NONE;
  const units = ["B", "kB", "MB", "GB", "TB"];
  const power = value < 1000 ? 0 : Math.min(units.length - 1, Math.floor(Math.log10(value) / 3));
  const scaled = value / 1000 ** power;
  return `${power === 0 ? whole.format(scaled) : digits(scaled)}${SPACE}${units[power]}`;
}

const PARTS: readonly (readonly [unit: string, seconds: number])[] = [
  ["d", 86_400],
  ["h", 3600],
  ["min", 60],
  ["s", 1],
];

/** Seconds in their two largest units: "3 d 4 h", "2 min 10 s", "8 s". */
export function duration(seconds: Figure): string {
  if (!isFigure(seconds)) return NONE;
  const total = Math.max(0, Math.floor(seconds));
  const first = PARTS.findIndex(([, size]) => total >= size);
  if (first < 0) return `0${SPACE}s`;
  const [unit, size] = PARTS[first]!;
  const large = `${Math.floor(total / size)}${SPACE}${unit}`;
  const next = PARTS[first + 1];
  const rest = next === undefined ? 0 : Math.floor((total % size) / next[1]);
  return rest === 0 ? large : `${large} ${rest}${SPACE}${next![0]}`;
}

/** A time of today as "14:02:11", of another day with its date; "–" if invalid. */
export function moment(time: Date, now: Date): string {
  if (Number.isNaN(time.getTime())) return NONE;
  return (time.toDateString() === now.toDateString() ? clock : dayAndClock).format(time);
}
