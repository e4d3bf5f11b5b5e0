/**
 * Takes a token out of texts that another server sent: the token itself, and the forms in which servers echo what they
 * received: percent-encoded, escaped as in JSON or HTML, in base64 (of the whole header, too) or hexadecimal, in another
 * case, with white space in between.
 */

/** What stands in its place. */
const MARK = "…";
/** How often a text is decoded: a URL within a URL is encoded twice. */
const MOST_DECODINGS = 3;
/** Longer texts are cut off here, in UTF-16 units. */
const MOST_UNITS = 131_072;
/** Shorter ones in base64 or hexadecimal stand in other texts by chance. */
const LEAST_ENCODED = 8;

/** A text, and the position of each of its UTF-16 units in the original. */
interface Traced {
  readonly text: string;
  readonly starts: readonly number[];
  /** Where the unit ends. */
  readonly ends: readonly number[];
}

/** A form of the token. */
interface Needle {
  readonly text: string;
  /** What beside it belongs to the same encoded text and is hidden, too. */
  readonly around: RegExp | undefined;
  readonly isBase64: boolean;
}

const BLANK = /[\s\p{C}]+/gu;
const ENCODED =
  /%([0-9a-f]{2})|\\u([0-9a-f]{4})|\\x([0-9a-f]{2})|&#x([0-9a-f]{1,6});|&#(\d{1,7});|&(amp|lt|gt|quot|apos);|\\(["'\\/])/gi;
const ENTITIES: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };

/** ASCII alone: other letters may change the number of units. */
function lowered(text: string): string {
  return text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

function decodedUnit([whole, percent, unit, byte, hex, decimal, entity, escaped]: RegExpMatchArray): string {
  if (entity !== undefined) return ENTITIES[entity.toLowerCase()]!;
  if (escaped !== undefined) return escaped;
  const code =
    decimal === undefined ? Number.parseInt((percent ?? unit ?? byte ?? hex)!, 16) : Number(decimal);
  // A token is ASCII: what is not cannot be a part of one, and stays encoded.
  return code < 0x80 ? String.fromCharCode(code) : whole!;
}

/** Replaces what a pattern finds, and keeps the positions. */
function rewrite(
  { text, starts, ends }: Traced,
  pattern: RegExp,
  replacement: (match: RegExpMatchArray) => string,
): Traced {
  let result = "";
  const newStarts: number[] = [];
  const newEnds: number[] = [];
  let at = 0;
  const copy = (to: number): void => {
    result += text.slice(at, to);
    for (; at < to; at++) {
      newStarts.push(starts[at]!);
      newEnds.push(ends[at]!);
    }
  };
  for (const match of text.matchAll(pattern)) {
    copy(match.index);
    at += match[0].length;
    const units = replacement(match);
    result += units;
    for (let unit = 0; unit < units.length; unit++) {
      newStarts.push(starts[match.index]!);
      newEnds.push(ends[at - 1]!);
    }
  }
  copy(text.length);
  return { text: result, starts: newStarts, ends: newEnds };
}

/**
 * Letters of base64 that depend on the token alone.
 *
 * @param before bytes in front of it: 0 to 2, as base64 takes three at a time
 */
function base64Of(token: string, before: number): string {
  const bytes = Buffer.concat([Buffer.alloc(before), Buffer.from(token, "latin1")]);
  return bytes.toString("base64").slice(Math.ceil((before * 8) / 6), Math.floor((bytes.length * 8) / 6));
}

function needlesOf(token: string): readonly Needle[] {
  const encoded = [
    ...[0, 1, 2].map((before) => ({ text: base64Of(token, before), around: /[\w+/=-]/, isBase64: true })),
    { text: Buffer.from(token, "latin1").toString("hex"), around: /[0-9a-f]/i, isBase64: false },
  ].filter(({ text }) => text.length >= LEAST_ENCODED);
  const plain = { text: token, around: undefined, isBase64: false };
  return [plain, ...encoded].map((needle) => ({ ...needle, text: lowered(needle.text) }));
}

/** Marks the units of the original that hold a form of the token. */
function mark({ text, starts, ends }: Traced, needles: readonly Needle[], hidden: Uint8Array): void {
  const plain = lowered(text);
  const base64 = plain.replaceAll("-", "+").replaceAll("_", "/");
  for (const { text: needle, around, isBase64 } of needles) {
    const hay = isBase64 ? base64 : plain;
    for (let from = hay.indexOf(needle); from >= 0; ) {
      let to = from + needle.length;
      // Only as far as no white space was removed.
      while (from > 0 && ends[from - 1] === starts[from] && around?.test(hay[from - 1]!)) from--;
      while (to < hay.length && ends[to - 1] === starts[to] && around?.test(hay[to]!)) to++;
      hidden.fill(1, starts[from]!, ends[to - 1]!);
      from = hay.indexOf(needle, to);
    }
  }
}

/**
 * Makes a function that takes a token out of messages. It must be given texts before they are cut short: a part of a
 * token is not recognized.
 *
 * @param token visible ASCII
 */
export function createHider(token: string): (text: string) => string {
  const needles = needlesOf(token);
  return (text) => {
    // No form is shorter than the token.
    if (text.length < token.length) return text;
    const original = text.length > MOST_UNITS ? text.slice(0, MOST_UNITS) + MARK : text;
    const hidden = new Uint8Array(original.length);
    const starts = Array.from(hidden, (_, at) => at);
    let traced: Traced = { text: original, starts, ends: starts.map((at) => at + 1) };
    traced = rewrite(traced, BLANK, () => "");
    mark(traced, needles, hidden);
    for (let times = 0; times < MOST_DECODINGS; times++) {
      const before = traced.text;
      traced = rewrite(traced, ENCODED, decodedUnit);
      if (traced.text === before) break;
      mark(traced, needles, hidden);
    }
    if (!hidden.includes(1)) return original;
    let result = "";
    for (let at = 0; at < original.length; at++) {
      if (hidden[at] === 0) result += original[at];
      else if (hidden[at - 1] !== 1) result += MARK;
    }
    return result;
  };
}
