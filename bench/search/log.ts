/** The query log: the same for every engine, drawn from the indexed texts with a fixed seed. */

import { fold } from "../../src/search/fold.ts";
import { createRandom } from "../../src/util/random.ts";

/** Queries of one class, folded. */
export type QueryLog = Readonly<Record<QueryClass, readonly string[]>>;

/** Classes of queries, as the table shows them. */
export const CLASSES = ["1 unit", "2 units", "3+ units", "common", "CJK", "two terms", "miss"] as const;
export type QueryClass = (typeof CLASSES)[number];

const CJK = /[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]/u;

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
  const cjkText = (): string => {
    for (;;) {
      const text = someText();
      if (CJK.test(text)) return text;
    }
  };
  const makers: Record<QueryClass, () => string> = {
    "1 unit": () => cut(someText(), 1, draw),
    "2 units": () => cut(someText(), 2, draw),
    "3+ units": () => cut(someText(), 3 + draw(6), draw),
    common: () => common[draw(common.length)]!,
    CJK: () => cut(cjkText(), 1 + draw(3), draw),
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
