/**
 * The n-grams by which similar names are found: trigrams, but bigrams where a
 * code point belongs to a script of many letters (CJK, kana, Hangul, emoji),
 * whose names are short and whose pairs are as rare as three letters of another.
 * A name is taken as if a space stood before and behind it, so that the first and
 * last letters of its words count, and a query is more like a whole name or word
 * than like a longer one that contains it.
 */

/** Stands before and behind a name. */
const BOUNDARY = " ";

/** From CJK radicals on: kana, ideographs, Hangul, full-width forms, emoji. */
const FIRST_OF_LARGE_SCRIPTS = 0x2e80;

function isOfLargeScript(character: string): boolean {
  return character.codePointAt(0)! >= FIRST_OF_LARGE_SCRIPTS;
}

/** The n-grams of a folded name or query, in order; some may be there twice. */
export function gramsOf(text: string): string[] {
  const characters = [BOUNDARY, ...text, BOUNDARY];
  const large = characters.map(isOfLargeScript);
  const grams: string[] = [];
  for (let at = 0; at + 1 < characters.length; at++) {
    const pair = characters[at]! + characters[at + 1]!;
    if (large[at] || large[at + 1]) grams.push(pair);
    else if (at + 2 < characters.length && !large[at + 2]) grams.push(pair + characters[at + 2]!);
  }
  return grams;
}
