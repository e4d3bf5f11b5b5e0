/** What separates words: the white space of ECMAScript, as a pattern and by code unit. */

/** What separates words. */
export const WHITE_SPACE = /\s+/u;

/** Whether a code unit is white space: what `\s` matches, without the cost of asking for it by a pattern. */
export function isWhiteSpace(unit: number): boolean {
  if (unit < 0x80) return unit === 0x20 || (unit >= 0x09 && unit <= 0x0d);
  if (unit < 0x1680) return unit === 0xa0;
  if (unit < 0x3000) return OTHER_WHITE_SPACE.has(unit) || (unit >= 0x2000 && unit <= 0x200a);
  return unit === 0x3000 || unit === 0xfeff;
}

const OTHER_WHITE_SPACE: ReadonlySet<number> = new Set([0x1680, 0x2028, 0x2029, 0x202f, 0x205f]);
