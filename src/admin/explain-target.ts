/** The query of `/explain`: which request target, for which key. */

/** What is asked. */
export interface ExplainQuestion {
  readonly target: string;
  /** Id of a key. */
  readonly key: string | undefined;
}

/** Longest target; a URL of the API up to this length always works. */
const MAX_TARGET = 8192;

const ORIGIN_OR_ABSOLUTE = /^(\/|https?:\/\/)/i;
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const CONTROL = /[\u0000-\u001f\u007f]/;
/** What a client would encode before it sends it. */
const TO_ENCODE = /[^\x21-\x7e]+/gu;

/** Decodes a name or value; undefined when it is no form encoding of UTF-8. */
function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    return undefined;
  }
}

/** The two parameters, each at most once and nothing else; or what is wrong. */
function readQuery(query: string): Map<string, string> | string {
  const values = new Map<string, string>();
  for (const part of query.split("&")) {
    if (part === "") continue;
    const mark = part.indexOf("=");
    const name = mark < 0 ? part : part.slice(0, mark);
    if (name !== "target" && name !== "key") {
      return "Only target and key are parameters; & within the target is written as %26";
    }
    const value = mark < 0 ? "" : decode(part.slice(mark + 1));
    if (value === undefined) return `${name} is not percent-encoded UTF-8`;
    if (values.has(name)) return `${name} is given twice`;
    values.set(name, value);
  }
  return values;
}

/**
 * Reads the question.
 *
 * @param query the text after the first `?`, as it was sent
 * @returns what is wrong with it, in a sentence that quotes nothing, if anything is
 */
export function readExplainQuestion(query: string): ExplainQuestion | string {
  const values = readQuery(query);
  if (typeof values === "string") return values;
  const given = values.get("target") ?? "";
  const key = values.get("key");
  if (given === "") return "target is required: a path of the API with its query, percent-encoded";
  if (CONTROL.test(given)) return "target holds control characters";
  if (!ORIGIN_OR_ABSOLUTE.test(given)) return "target must begin with /, http:// or https://";
  // As a client does it that is given such a text.
  const target = given.replace(TO_ENCODE, encodeURIComponent);
  if (target.length > MAX_TARGET) return `target is longer than ${MAX_TARGET} characters`;
  if (key === "") return "key must be the id of a key";
  return { target, key };
}
