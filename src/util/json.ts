/** What JSON.parse may have given. */

/** Whether a value is an object with fields: no array and not null. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Whether a value is a whole number from 0. */
export function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const WORDS = ["true", "false", "null"];
const SPACE = /[\t\n\r ]*/y;
const ESCAPE = /\\(?:["\\/bfnrt]|u[\da-fA-F]{4})/y;
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what a string cannot hold
const PLAIN = /[^"\\\u0000-\u001f]*/y;

/** The place after what a pattern finds here, or -1. */
function after(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : -1;
}

/** From the quote of a string to the place after it; where it is none, the place of its fault and false. */
function passString(text: string, from: number): [at: number, isGood: boolean] {
  let at = from + 1;
  for (;;) {
    at = after(PLAIN, text, at);
    if (text[at] === '"') return [at + 1, true];
    const next = text[at] === "\\" ? after(ESCAPE, text, at) : -1;
    if (next < 0) return [at, false];
    at = next;
  }
}

/** As {@link passString}, of a string, number or word. */
function passScalar(text: string, at: number): [at: number, isGood: boolean] {
  if (text[at] === '"') return passString(text, at);
  const word = WORDS.find((one) => text.startsWith(one, at));
  const end = word === undefined ? after(NUMBER, text, at) : at + word.length;
  return end < 0 ? [at, false] : [end, true];
}

/** What may come next: a value, the same or the end of an array, a key, the same or the end of an object, or what follows. */
type Next = "value" | "first value" | "key" | "first key" | "colon" | "more";

/** A step in a text: the place after it and what may come there, or the place of a fault. */
type Step = readonly [at: number, next: Next | "fault"];

/** @param closers of the arrays and objects that are open */
function stepAt(text: string, at: number, next: Next, closers: string[]): Step {
  const char = text[at];
  const closer = closers.at(-1);
  const mayEnd = next === "more" || next.startsWith("first");
  if (mayEnd && char !== undefined && char === closer) {
    closers.pop();
    return [at + 1, "more"];
  }
  switch (next) {
    case "more":
      if (char !== "," || closer === undefined) return [at, "fault"];
      return [at + 1, closer === "}" ? "key" : "value"];
    case "colon":
      return char === ":" ? [at + 1, "value"] : [at, "fault"];
    case "key":
    case "first key":
      return char === '"' ? stepOver(passString(text, at), "colon") : [at, "fault"];
    default:
      return stepInto(text, at, closers);
  }
}

function stepInto(text: string, at: number, closers: string[]): Step {
  const char = text[at];
  if (char !== "{" && char !== "[") return stepOver(passScalar(text, at), "more");
  closers.push(char === "{" ? "}" : "]");
  return [at + 1, char === "{" ? "first key" : "first value"];
}

function stepOver([at, isGood]: [at: number, isGood: boolean], next: Next): Step {
  return [at, isGood ? next : "fault"];
}

/** The place of the first character of a text that cannot be JSON there; the length where its end comes too soon. */
function faultAt(text: string): number {
  const closers: string[] = [];
  let at = 0;
  for (let next: Next | "fault" = "value"; next !== "fault"; )
    [at, next] = stepAt(text, after(SPACE, text, at), next, closers);
  return at;
}

/**
 * Says where a text stops being JSON, and quotes nothing of it: it may hold what is nobody's to see.
 *
 * @param text that `JSON.parse` refused
 * @param isLine whether it is one line, whose number is known elsewhere
 * @returns such as "not valid JSON at line 3, column 14"; columns are counted in UTF-16 units
 */
export function notJson(text: string, isLine = false): string {
  const before = text.slice(0, faultAt(text));
  const column = before.length - before.lastIndexOf("\n");
  return `not valid JSON at ${isLine ? "" : `line ${before.split("\n").length}, `}column ${column}`;
}
