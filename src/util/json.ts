/** Parsing JSON, checks of its values, and the position of the fault in a text that is none. */

/** The value of a text; undefined if it is no JSON. */
export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

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

/** Position of the first character that JSON does not allow, or the text's length. No recursion: the nesting may be deep. */
function faultIn(text: string): number {
  const closers: string[] = [];
  let at = 0;

  /** Goes past a match of a pattern, if there is one here. */
  function pass(pattern: RegExp): boolean {
    pattern.lastIndex = at;
    if (!pattern.test(text)) return false;
    at = pattern.lastIndex;
    return true;
  }

  function passString(): boolean {
    if (!pass(QUOTE)) return false;
    do pass(PLAIN);
    while (pass(ESCAPE));
    return pass(QUOTE);
  }

  /** Goes past the key of a value, if the value is in an object. */
  function passKey(): boolean {
    pass(SPACE);
    return closers.at(-1) !== "}" || (passString() && pass(SPACE) && pass(COLON));
  }

  for (;;) {
    pass(SPACE);
    if (pass(OPENING)) {
      closers.push(text[at - 1] === "{" ? "}" : "]");
      pass(SPACE);
      if (text[at] !== closers.at(-1)) {
        if (passKey()) continue;
        return at;
      }
    } else if (!(text[at] === '"' ? passString() : pass(NUMBER_OR_WORD))) return at;
    // Here a value has ended, or an array or object without one.
    for (pass(SPACE); closers.length > 0 && text[at] === closers.at(-1); pass(SPACE)) {
      at++;
      closers.pop();
    }
    if (closers.length === 0 || !pass(COMMA) || !passKey()) return at;
  }
}

/**
 * Says where a text stops being JSON. It quotes nothing of the text, which may be confidential.
 * @param isLine whether it is one line, with a number that the caller reports
 * @returns such as "not valid JSON at line 3, column 14"; columns are counted in UTF-16 units
 */
export function notJson(text: string, isLine = false): string {
  const before = text.slice(0, faultIn(text));
  const column = before.length - before.lastIndexOf("\n");
  return `not valid JSON at ${isLine ? "" : `line ${before.split("\n").length}, `}column ${column}`;
}

/** The kind of a value that messages do not quote. */
export function kindOfObject(value: object): string {
  if (Array.isArray(value)) return "an array";
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? "an invalid Date" : "a Date";
  return "an object";
}
