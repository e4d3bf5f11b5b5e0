/** What JSON.parse may have given. */

/** Whether a value is an object with fields: no array and not null. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Whether a value is a whole number from 0. */
export function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

const SPACE = /[\t\n\r ]*/y;
const OPENING = /[{[]/y;
const COLON = /:/y;
const COMMA = /,/y;
const QUOTE = /"/y;
const ESCAPE = /\\(?:["\\/bfnrt]|u[\da-fA-F]{4})/y;
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what a string cannot hold
const PLAIN = /[^"\\\u0000-\u001f]*/y;
const NUMBER_OR_WORD = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;

/** Walks over a text as long as it can be JSON; without recursion, since a text may be deep. */
class Walk {
  readonly #text: string;
  /** The characters that close the arrays and objects that are open. */
  readonly #closers: string[] = [];
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  /** The place of the first character that cannot be there; the length where the end comes too soon. */
  faultAt(): number {
    while (this.#value() && this.#next());
    return this.#at;
  }

  /** Goes past what a pattern finds here. */
  #pass(pattern: RegExp): boolean {
    pattern.lastIndex = this.#at;
    if (!pattern.test(this.#text)) return false;
    this.#at = pattern.lastIndex;
    return true;
  }

  #string(): boolean {
    if (!this.#pass(QUOTE)) return false;
    do this.#pass(PLAIN);
    while (this.#pass(ESCAPE));
    return this.#pass(QUOTE);
  }

  /** The key of a value, where one is due. */
  #key(): boolean {
    this.#pass(SPACE);
    if (this.#closers.at(-1) !== "}") return true;
    return this.#string() && this.#pass(SPACE) && this.#pass(COLON);
  }

  #isAtCloser(): boolean {
    return this.#closers.length > 0 && this.#text[this.#at] === this.#closers.at(-1);
  }

  /** A string, number or word, or an array or object up to the first in it or to its end. */
  #value(): boolean {
    do {
      this.#pass(SPACE);
      const char = this.#text[this.#at];
      if (char === '"') return this.#string();
      if (!this.#pass(OPENING)) return this.#pass(NUMBER_OR_WORD);
      this.#closers.push(char === "{" ? "}" : "]");
      this.#pass(SPACE);
      if (this.#isAtCloser()) return true;
    } while (this.#key());
    return false;
  }

  /** From the end of a value to the next one. */
  #next(): boolean {
    for (this.#pass(SPACE); this.#isAtCloser(); this.#pass(SPACE)) {
      this.#at++;
      this.#closers.pop();
    }
    return this.#closers.length > 0 && this.#pass(COMMA) && this.#key();
  }
}

/**
 * Says where a text stops being JSON, and quotes nothing of it: it may hold what is nobody's to see.
 *
 * @param text that `JSON.parse` refused
 * @param isLine whether it is one line, whose number is known elsewhere
 * @returns such as "not valid JSON at line 3, column 14"; columns are counted in UTF-16 units
 */
export function notJson(text: string, isLine = false): string {
  const before = text.slice(0, new Walk(text).faultAt());
  const column = before.length - before.lastIndexOf("\n");
  return `not valid JSON at ${isLine ? "" : `line ${before.split("\n").length}, `}column ${column}`;
}
