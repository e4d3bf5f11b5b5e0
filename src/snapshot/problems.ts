import { escaped } from "../util/escaped.ts";
import { kindOfObject } from "../util/json.ts";

const MOST_PROBLEMS = 20;

/** The problems of a snapshot, one line each: keeps the first {@link MOST_PROBLEMS} and counts the rest. */
export class Problems {
  readonly #lines: string[] = [];
  count = 0;

  /** Adds `file: what`. @param file or a place in one, such as `users.ndjson:4` */
  file(file: string, what: string): void {
    this.count++;
    if (this.#lines.length < MOST_PROBLEMS) this.#lines.push(`${file}: ${what}`);
  }

  lines(): string[] {
    const more = this.count - this.#lines.length;
    return more > 0 ? [...this.#lines, `… and ${more} more`] : [...this.#lines];
  }
}

const LONGEST_VALUE = 60;

/** A bad value as a problem quotes it: short, on one line. */
export function showValue(value: unknown): string {
  if (value === null) return "null";
  if (typeof value === "object") return kindOfObject(value);
  if (typeof value === "bigint") return `the BigInt ${value}n`;
  if (typeof value !== "string") return String(value);
  const short = value.length > LONGEST_VALUE ? `${value.slice(0, LONGEST_VALUE)}…` : value;
  return escaped(JSON.stringify(short));
}
