/**
 * The n-grams by which similar names are found: trigrams, but bigrams where a
 * code point belongs to a script of many letters (CJK, kana, Hangul, emoji),
 * whose names are short and whose pairs are as rare as three letters of another.
 * Begin and end of a name are letters of their own, so that a name is more like
 * a query as a whole than a longer one which contains it.
 */

/** Stand for the begin and the end of a name. A name that holds them merely has odd grams. */
const BEGIN = "\u0002";
const END = "\u0003";

/** From CJK radicals on: kana, ideographs, Hangul, full-width forms, emoji. */
const FIRST_OF_LARGE_SCRIPTS = 0x2e80;

function isOfLargeScript(character: string): boolean {
  return character.codePointAt(0)! >= FIRST_OF_LARGE_SCRIPTS;
}

/** The n-grams of a folded name or query, in order; some may be there twice. */
export function gramsOf(text: string): string[] {
  const characters = [BEGIN, ...text, END];
  const large = characters.map(isOfLargeScript);
  const grams: string[] = [];
  for (let at = 0; at + 1 < characters.length; at++) {
    const pair = characters[at]! + characters[at + 1]!;
    if (large[at] || large[at + 1]) grams.push(pair);
    else if (at + 2 < characters.length && !large[at + 2]) grams.push(pair + characters[at + 2]!);
  }
  return grams;
}
