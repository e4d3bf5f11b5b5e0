/** Checks of values from JSON.parse, and the position of the fault in a text that it refused. */

/** Whether a value is an object with fields: neither an array nor null. */
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
// biome-ignore lint/suspicious/noControlCharactersInRegex: a JSON string cannot hold them
const PLAIN = /[^"\\\u0000-\u001f]*/y;
const NUMBER_OR_WORD = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;

/** Walks over a text as long as it can be JSON; without recursion, since the nesting may be deep. */
class Walk {
  readonly #text: string;
  /** The closing characters of the open arrays and objects. */
  readonly #closers: string[] = [];
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  /** Position of the first character that JSON does not allow; the text's length if it ends too soon. */
  faultAt(): number {
    while (this.#value() && this.#next());
    return this.#at;
  }

  /** Goes past a match of a pattern, if there is one here. */
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

  /** Goes past the key of a value, if the value is in an object. */
  #key(): boolean {
    this.#pass(SPACE);
    if (this.#closers.at(-1) !== "}") return true;
    return this.#string() && this.#pass(SPACE) && this.#pass(COLON);
  }

  #isAtCloser(): boolean {
    return this.#closers.length > 0 && this.#text[this.#at] === this.#closers.at(-1);
  }

  /** Goes past a string, number or word; enters arrays and objects to reach one, up to the end of an empty one. */
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

  /** Goes from the end of a value to the next one. */
  #next(): boolean {
    for (this.#pass(SPACE); this.#isAtCloser(); this.#pass(SPACE)) {
      this.#at++;
      this.#closers.pop();
    }
    return this.#closers.length > 0 && this.#pass(COMMA) && this.#key();
  }
}

/**
 * Says where a text stops being JSON. It quotes nothing of the text, which may be confidential.
 *
 * @param text that `JSON.parse` refused
 * @param isLine whether it is one line, with a number that the caller reports
 * @returns such as "not valid JSON at line 3, column 14"; columns are counted in UTF-16 units
 */
export function notJson(text: string, isLine = false): string {
  const before = text.slice(0, new Walk(text).faultAt());
  const column = before.length - before.lastIndexOf("\n");
  return `not valid JSON at ${isLine ? "" : `line ${before.split("\n").length}, `}column ${column}`;
}
