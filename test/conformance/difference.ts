/** Where two bodies first differ, in a few words: a whole body is too long to be read in a failure. */

import { parsedJson } from "../../src/util/json.ts";

const MOST_SHOWN = 120;

/** The beginning of a text that is too long to be shown. */
export function brief(text: string, most = MOST_SHOWN): string {
  return text.length > most ? `${text.slice(0, most)}…` : text;
}

const shown = (value: unknown): string =>
  value === undefined ? "nothing" : brief(JSON.stringify(value) ?? String(value));

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null;

/** The first difference of two JSON values, such as `data[3].name: expected "a", got "b"`; undefined if they are equal. */
function differenceOfValues(expected: unknown, actual: unknown, path: string): string | undefined {
  if (Object.is(expected, actual)) return undefined;
  const areAlike =
    isObject(expected) && isObject(actual) && Array.isArray(expected) === Array.isArray(actual);
  if (!areAlike) return `${path || "the whole"}: expected ${shown(expected)}, got ${shown(actual)}`;
  for (const name of new Set([...Object.keys(expected), ...Object.keys(actual)])) {
    const below = Array.isArray(expected) ? `${path}[${name}]` : `${path}${path === "" ? "" : "."}${name}`;
    const found = differenceOfValues(expected[name], actual[name], below);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The first difference of two unequal texts: by the path of a value if both are JSON, else by the place of a character. */
export function differenceOf(expected: string, actual: string): string {
  const [wanted, got] = [parsedJson(expected), parsedJson(actual)];
  const areJson = wanted !== undefined && got !== undefined;
  const byPath = areJson ? differenceOfValues(wanted, got, "") : undefined;
  if (byPath !== undefined) return byPath;
  let at = 0;
  while (at < expected.length && expected[at] === actual[at]) at++;
  const from = Math.max(0, at - MOST_SHOWN / 4);
  const part = (text: string): string => shown(text.slice(from));
  return `character ${at}: expected ${part(expected)}, got ${part(actual)}, from character ${from} on`;
}
