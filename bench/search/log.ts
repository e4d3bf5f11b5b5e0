/** The query log: the same for every engine, drawn from the indexed texts with a fixed seed. */

import { fold } from "../../src/search/fold.ts";
import { createRandom } from "../../src/util/random.ts";

/** Queries of one class, folded. */
export type QueryLog = Readonly<Record<QueryClass, readonly string[]>>;

/** Classes of queries, as the table shows them. */
export const CLASSES = [
  "1 unit",
  "2 units",
  "3+ units",
  "common",
  "CJK",
  "Cyrillic",
  "Arabic",
  "two terms",
  "miss",
] as const;
export type QueryClass = (typeof CLASSES)[number];

/** Runs of letters. */
const CJK = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}]+/gu;
const CYRILLIC = /\p{sc=Cyrillic}+/gu;
const ARABIC = /\p{sc=Arabic}+/gu;

/** Cuts a substring of some code units out of a word of a text. */
function cut(text: string, units: number, draw: (below: number) => number): string {
  const words = text.split(/\s+/u).filter((word) => word.length >= units);
  const word = words[draw(words.length)];
  if (word === undefined) return "";
  const from = draw(word.length - units + 1);
  return word.slice(from, from + units);
}

/**
 * Draws a log.
 *
 * @param texts folded texts; queries are substrings of them
 * @param common words that occur in many texts
 */
export function drawLog(
  texts: readonly string[],
  common: readonly string[],
  each: number,
  seed: number,
): QueryLog {
  const draw = createRandom(seed, "queries").below;
  const someText = (): string => texts[draw(texts.length)]!;
  // Folded Hangul is in jamo; people type syllables.
  const cutFrom = (script: RegExp): ((units: number) => string) => {
    const written = texts.filter((text) => text.search(script) >= 0);
    return (units) =>
      cut(written[draw(written.length)]?.match(script)?.join(" ").normalize("NFC") ?? "", units, draw);
  };
  const [cutCjk, cutCyrillic, cutArabic] = [cutFrom(CJK), cutFrom(CYRILLIC), cutFrom(ARABIC)];
  const makers: Record<QueryClass, () => string> = {
    "1 unit": () => cut(someText(), 1, draw),
    "2 units": () => cut(someText(), 2, draw),
    "3+ units": () => cut(someText(), 3 + draw(6), draw),
    common: () => common[draw(common.length)]!,
    CJK: () => cutCjk(1 + draw(3)),
    Cyrillic: () => cutCyrillic(2 + draw(5)),
    Arabic: () => cutArabic(2 + draw(4)),
    "two terms": () => {
      const text = someText();
      const words = text.split(/\s+/u).filter((word) => word !== "");
      const at = draw(Math.max(1, words.length - 1));
      return words.length < 2 ? "" : `${words[at]} ${words[at + 1]}`;
    },
    miss: () => Array.from({ length: 4 + draw(5) }, () => "bcdfghjklmnpqrstvwxz"[draw(20)]).join(""),
  };
  const log = {} as Record<QueryClass, string[]>;
  for (const name of CLASSES) {
    const queries = new Set<string>();
    // The number of single characters is limited: give up rather than search for ever.
    for (let tries = 0; queries.size < each && tries < each * 50; tries++) {
      const query = fold(makers[name]()).trim();
      // A query arrives as UTF-8, which cannot hold half a surrogate pair.
      if (query !== "" && query.isWellFormed()) queries.add(query);
    }
    log[name] = [...queries];
  }
  return log;
}
