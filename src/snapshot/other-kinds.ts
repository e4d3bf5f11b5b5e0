/** Tells files that hold no rows by their first bytes, so that one line names the kind in place of many bad rows. */

const KIND_BYTES = 65_536;

const WANTED = "must be one JSON object a line";

/** What archives, databases and compressed files have before the first brace, which begins a row. */
const NO_TEXT = /^[^{]*[^\P{Cc}\s]/u;

/** First characters of a text, and the kind of file that begins with them. */
const TEXTS: readonly (readonly [start: RegExp, kind: string])[] = [
  [NO_TEXT, `is no text; ${WANTED}, or these compressed by gzip, in a file whose name ends with .gz`],
  [/^<(?:!doctype|html|\?xml|[a-z]+[ >])/i, `is HTML or XML; ${WANTED}`],
  [/^(?:-- |SET |INSERT INTO |COPY |CREATE )/i, `is SQL; ${WANTED}`],
  [/^"?\w+"?(?:[,;\t]"?\w+"?)+\r?\n/, `is a table with separators (CSV); ${WANTED}`],
  [/^\[/, `is a JSON array; ${WANTED}, without commas between them`],
  // The first line is the beginning of an object; a whole one may have a comma behind it.
  [/^\{(?:.*(?:[{[:]|[^}],))?[^\S\n]*\n/, `is JSON over several lines; ${WANTED}`],
];

/** What a file is that as a whole has no rows, by its first bytes; undefined for rows, good or bad. */
export function otherKind(start: Buffer): string | undefined {
  const [first, second] = start;
  const hasMark = (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff);
  // Without a mark, every second byte of an ASCII character is 0.
  if (hasMark || (start.length > 1 && (first === 0) !== (second === 0))) return "is UTF-16; must be UTF-8";
  const text = start.toString("utf8", 0, KIND_BYTES).replace(/^\uFEFF?\s*/, "");
  return TEXTS.find(([pattern]) => pattern.test(text))?.[1];
}
