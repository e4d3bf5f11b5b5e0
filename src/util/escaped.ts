// biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern searches for them
const OBEYED = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** A text on one line, with everything escaped that a terminal or an editor would obey: control characters, separators of lines, directions. */
export function escaped(text: string): string {
  return text.replace(OBEYED, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
