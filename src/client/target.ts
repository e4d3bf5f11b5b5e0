/** Targets of requests, and what is refused as a part of them: a wrong one would be sent as something else. */

/** What a query says, by name; also `signal` and `onChange`, which it does not. */
export type Words = Readonly<Record<string, unknown>>;

/** Refuses an option or an id. */
export function refuse(name: string, wanted: string): never {
  throw new TypeError(`${name}: must be ${wanted}`);
}

/** A text as a part of a URL. @throws {TypeError} for anything else, half a surrogate pair included */
export function encode(name: string, text: unknown): string {
  try {
    // Any text can be searched for: in a query, half a surrogate pair is sent as another character.
    if (typeof text === "string") return name === "q" ? text : encodeURIComponent(text);
  } catch {}
  return refuse(name, "a well-formed string");
}

/** A path with a query of what is defined. @throws {TypeError} for a value that is not of its type */
export function targetOf(path: string, words: Words): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(words)) {
    if ((value === undefined && name !== "q") || name === "signal") continue;
    if (name !== "limit" && name !== "offset") encode(name, value);
    else if (!Number.isSafeInteger(value) || (value as number) < 0) refuse(name, "a whole number from 0");
    if (name !== "onChange") query.set(name, String(value));
  }
  const text = String(query);
  return text ? `${path}?${text}` : path;
}
