/** Texts that overlap, such as pieces of one address, joined to one that contains them. */

/** An overlap of less tells little. */
const LEAST_OVERLAP = 3;

/** How many units at the end of a text another begins with. */
function overlapOf(text: string, next: string): number {
  for (let units = Math.min(text.length, next.length) - 1; units >= LEAST_OVERLAP; units--) {
    if (text.endsWith(next.slice(0, units))) return units;
  }
  return 0;
}

/**
 * Joins the first of some texts with others, each time the one that overlaps most.
 *
 * @param texts none within another
 * @param isWorthIt says whether a longer text is taken
 * @returns the first text, or one that contains it and more of them
 */
export function joinTexts(texts: readonly string[], isWorthIt: (longer: string) => boolean): string {
  let joined = texts[0]!;
  for (let left = texts.slice(1); left.length > 0; ) {
    let most = 0;
    let longer = "";
    let next = "";
    for (const text of left) {
      const behind = overlapOf(joined, text);
      const before = overlapOf(text, joined);
      if (Math.max(behind, before) <= most) continue;
      most = Math.max(behind, before);
      longer = behind >= before ? joined + text.slice(behind) : text + joined.slice(before);
      next = text;
    }
    if (most === 0) break;
    if (isWorthIt(longer)) joined = longer;
    left = left.filter((text) => text !== next && !joined.includes(text));
  }
  return joined;
}
