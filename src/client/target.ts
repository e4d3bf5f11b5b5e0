/** Checks of options and ids, and the targets of requests. Nothing is sent before all checks pass. */

/** Options of a call, by name. */
export type Words = Readonly<Record<string, unknown>>;

/** Returns the requirement that a value fails; false when it meets it. */
export type Rule = (value: unknown) => string | false;

const whole: Rule = (value) =>
  !(Number.isSafeInteger(value) && (value as number) >= 0) && "a whole number from 0";

/** Half a surrogate pair would be sent as another character. */
const text: Rule = (value) => (typeof value !== "string" || /\p{Cs}/u.test(value)) && "a well-formed string";

/** The options of all calls. */
const WORDS: Readonly<Record<string, Rule>> = {
  limit: whole,
  offset: whole,
  period: (value) => !["all", "week", "month"].includes(value as string) && "all, week or month",
  match: text,
  worldId: text,
  ifMatch: (value) => !(typeof value === "string" && /^[!-~]+$/.test(value)) && "an ETag",
  onChange: (value) => value !== "error" && value !== "restart" && '"error" or "restart"',
  signal: (value) => !(value as AbortSignal | null)?.throwIfAborted && "an AbortSignal",
};

/** @throws {TypeError} with the name of an option or an id and its requirement, unless it is met */
export function refuse(name: string, wanted: string | false): void {
  if (wanted) throw new TypeError(`${name}: must be ${wanted}`);
}

/** Checks options by rules; each may be undefined. @throws {TypeError} */
export function checkWords<Options extends object>(options: Options, rules = WORDS): Options {
  refuse("options", Object(options) !== options && "an object");
  const known = Object.keys(rules);
  for (const [name, value] of Object.entries(options))
    refuse(name, known.includes(name) ? value !== undefined && rules[name]!(value) : `one of ${known}`);
  return options;
}

/** A path with a query of the words that have a value: JSON leaves the others out. */
export function targetOf(path: string, words: Words): string {
  const query = new URLSearchParams(JSON.parse(JSON.stringify(words)) as Record<string, string>);
  return `${path}?${query}`.replace(/\?$/, "");
}

/** A text to search for. @throws {TypeError} */
export function searched(q: string): { readonly q: string } {
  refuse("q", typeof q !== "string" && "a string");
  return { q };
}

/** An id as a part of a path. @throws {TypeError} for an id that cannot be sent: a URL takes `.` and `..` for steps, even escaped */
export function segment(id: string): string {
  refuse("id", (text(id) || /^\.{0,2}$/.test(id)) && "the id of a resource");
  return encodeURIComponent(id);
}
