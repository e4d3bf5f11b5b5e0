/**
 * Merges terms that overlap, such as chunks of one address, into one that
 * contains them: greedily, each time the one that overlaps most.
 */

/** An overlap of less tells little. */
const LEAST_OVERLAP = 3;

/** How many code units at the end of a text another begins with. */
function overlapOf(text: string, next: string): number {
  for (let units = Math.min(text.length, next.length) - 1; units >= LEAST_OVERLAP; units--) {
    if (text.endsWith(next.slice(0, units))) return units;
  }
  return 0;
}

/**
 * Merges the first of some terms with others.
 *
 * @param texts none within another
 * @param isWorthIt says whether a longer text is taken
 * @returns the first text, or one that contains it and more of them
 */
export function mergeTerms(texts: readonly string[], isWorthIt: (longer: string) => boolean): string {
  let merged = texts[0]!;
  for (let left = texts.slice(1); left.length > 0; ) {
    let most = 0;
    let longer = "";
    let next = "";
    for (const text of left) {
      const behind = overlapOf(merged, text);
      const before = overlapOf(text, merged);
      if (Math.max(behind, before) <= most) continue;
      most = Math.max(behind, before);
      longer = behind >= before ? merged + text.slice(behind) : text + merged.slice(before);
      next = text;
    }
    if (most === 0) break;
    if (isWorthIt(longer)) merged = longer;
    left = left.filter((text) => text !== next && !merged.includes(text));
  }
  return merged;
}
