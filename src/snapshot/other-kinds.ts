/** Tells files that hold no rows by their first bytes, so that one line names the kind in place of many bad rows. */

import { isRowWithComma } from "./lines.ts";

const KIND_BYTES = 65_536;

const GZIP = "is compressed by gzip; its name must end with .gz";

/** First bytes, one character each, and the kind of file that begins with them. */
const MAGIC: readonly (readonly [start: string, kind: string])[] = [
  ["\x1f\x8b", GZIP],
  ["\x28\xb5\x2f\xfd", "is compressed by Zstandard; must be plain or compressed by gzip"],
  ["BZh", "is compressed by bzip2; must be plain or compressed by gzip"],
  ["\xfd7zXZ\0", "is compressed by xz; must be plain or compressed by gzip"],
  ["7z\xbc\xaf", "is a 7z archive"],
  ["PK\x03\x04", "is a ZIP archive or a spreadsheet"],
  ["PAR1", "is a Parquet file"],
  ["Obj\x01", "is an Avro file"],
  ["ARROW1", "is an Arrow file"],
  ["SQLite format 3\0", "is an SQLite database"],
  ["PGDMP", "is a dump of pg_dump"],
];
const TAR_AT = 257;

/** The same for the first characters of a text. */
const TEXTS: readonly (readonly [start: RegExp, kind: string])[] = [
  [/^<(?:!doctype|html|\?xml|[a-z]+[ >])/i, "is HTML or XML"],
  [/^(?:-- |SET |INSERT INTO |COPY |CREATE )/i, "is SQL"],
  [/^"?\w+"?(?:[,;\t]"?\w+"?)+\r?\n/, "is a table with separators (CSV)"],
  [/^\[/, "is a JSON array"],
];

const WANTED = "must be one JSON object a line";

/** What a file is that as a whole has no rows, by its first bytes; undefined for rows, good or bad. */
export function otherKind(start: Buffer): string | undefined {
  const [first, second] = start;
  const hasMark = (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff);
  // Without a mark, every second byte of an ASCII character is 0.
  if (hasMark || (start.length > 1 && (first === 0) !== (second === 0))) return "is UTF-16; must be UTF-8";
  const bytes = start.toString("latin1", 0, 512);
  if (bytes.startsWith("ustar", TAR_AT)) return `is a tar archive; ${WANTED}`;
  const [, magic] = MAGIC.find(([begin]) => bytes.startsWith(begin)) ?? [];
  if (magic !== undefined) return magic.includes("must") ? magic : `${magic}; ${WANTED}`;
  const text = start.toString("utf8", 0, KIND_BYTES).replace(/^\uFEFF?\s*/, "");
  const [, kind] = TEXTS.find(([pattern]) => pattern.test(text)) ?? [];
  if (kind !== undefined)
    return `${kind}; ${WANTED}${kind.endsWith("array") ? ", without commas between them" : ""}`;
  const [line = "", next] = text.split("\n", 2);
  if (next !== undefined && /^\{.*[{[,:]\s*$|^\{\s*$/.test(line) && !isRowWithComma(line))
    return `is JSON over several lines; ${WANTED}`;
  return undefined;
}

/** What is wrong with the first bytes of a file whose name ends with `.gz`; undefined if it is compressed by gzip. */
export function notGzip(start: Buffer): string | undefined {
  const kind = otherKind(start);
  if (kind === GZIP) return undefined;
  return kind ?? "is not compressed by gzip; its name must not end with .gz";
}

/** What is wrong with the first unpacked bytes of such a file. */
export function otherKindInGzip(start: Buffer): string | undefined {
  const kind = otherKind(start);
  return kind === GZIP ? "is compressed by gzip twice" : kind;
}
