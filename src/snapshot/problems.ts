const MOST_PROBLEMS = 20;

/** What is wrong with a snapshot, a line a problem: remembers the first {@link MOST_PROBLEMS} and counts the rest. */
export class Problems {
  readonly #lines: string[] = [];
  /** Problems in all. */
  count = 0;

  /** `file: what` */
  file(file: string, what: string): void {
    this.#add(`${file}: ${what}`);
  }

  /** `file:line: what` */
  line(file: string, line: number, what: string): void {
    this.#add(`${file}:${line}: ${what}`);
  }

  /** `file:line: field: what` */
  field(file: string, line: number, field: string, what: string): void {
    this.#add(`${file}:${line}: ${field}: ${what}`);
  }

  /** The lines to print. */
  lines(): string[] {
    const more = this.count - this.#lines.length;
    return more > 0 ? [...this.#lines, `… and ${more} more`] : [...this.#lines];
  }

  #add(line: string): void {
    this.count++;
    if (this.#lines.length < MOST_PROBLEMS) this.#lines.push(line);
  }
}

const LONGEST_VALUE = 60;

/** What JSON leaves as it is, but could break a line or command a terminal: DEL, C1, the line separators. */
const UNSAFE = /[\u007f-\u009f\u2028\u2029]/g;

function escapeUnit(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

/** A bad value as a problem shows it: short, on one line. */
export function showValue(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  if (typeof value === "object") return "an object";
  if (typeof value !== "string") return String(value);
  const short = value.length > LONGEST_VALUE ? `${value.slice(0, LONGEST_VALUE)}…` : value;
  return JSON.stringify(short).replace(UNSAFE, escapeUnit);
}
