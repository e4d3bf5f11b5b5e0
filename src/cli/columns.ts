/** Text in columns, for terminals. */

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is replaced
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/g;

/**
 * Lays out rows of cells, one row a line, columns padded to their widest cell.
 *
 * @param numbers columns, from 0, that are aligned to the right
 */
export function formatColumns(rows: readonly (readonly string[])[], numbers: readonly number[] = []): string {
  const clean = rows.map((row) => row.map((cell) => cell.replace(CONTROL, "?")));
  const widths: number[] = [];
  for (const row of clean) {
    for (const [at, cell] of row.entries()) widths[at] = Math.max(widths[at] ?? 0, cell.length);
  }
  const lines = clean.map((row) =>
    row
      .map((cell, at) => (numbers.includes(at) ? cell.padStart(widths[at]!) : cell.padEnd(widths[at]!)))
      .join("  ")
      .trimEnd(),
  );
  return lines.map((line) => `${line}\n`).join("");
}
