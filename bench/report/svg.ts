/** Elements of SVG charts: texts, rectangles and lines, with colours for light and dark pages. */

/** Colours by class; the second of each pair is for dark pages. */
const COLOURS: Readonly<Record<string, readonly [light: string, dark: string]>> = {
  page: ["#ffffff", "#0d1117"],
  text: ["#0f172a", "#e6edf3"],
  quiet: ["#475569", "#9da7b3"],
  rule: ["#e2e8f0", "#2a313c"],
  first: ["#2563eb", "#58a6ff"],
  second: ["#94a3b8", "#6e7681"],
  third: ["#d97706", "#e3a008"],
  fourth: ["#059669", "#3fb950"],
  fifth: ["#9333ea", "#bc8cff"],
  sixth: ["#0ea5e9", "#79c0ff"],
};

/** Classes of the series, in the order of the legend. */
export const SERIES = ["first", "sixth", "second", "third", "fourth", "fifth"] as const;

function escapeXml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
}

export function text(x: number, y: number, content: string, kind = "text", more = ""): string {
  return `<text x="${round(x)}" y="${round(y)}" class="${kind}"${more === "" ? "" : ` ${more}`}>${escapeXml(content)}</text>`;
}

export function rectangle(x: number, y: number, width: number, height: number, kind: string): string {
  return `<rect x="${round(x)}" y="${round(y)}" width="${round(width)}" height="${round(height)}" rx="2" class="${kind}"/>`;
}

/** A line through points. */
export function line(points: readonly (readonly [x: number, y: number])[], kind: string, width = 2): string {
  const path = points.map(([x, y]) => `${round(x)},${round(y)}`).join(" ");
  return `<polyline points="${path}" class="line ${kind}" stroke-width="${width}"/>`;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

function styles(at: 0 | 1): string {
  return Object.entries(COLOURS)
    .map(([kind, pair]) => `.${kind}{fill:${pair[at]}}.line.${kind}{stroke:${pair[at]};fill:none}`)
    .join("");
}

/** A whole chart. It follows the colour scheme of its page. */
export function picture(width: number, height: number, title: string, parts: readonly string[]): string {
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" font-family="system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif" font-size="13">`,
    `<title>${escapeXml(title)}</title>`,
    `<style>${styles(0)}@media (prefers-color-scheme: dark){${styles(1)}}</style>`,
    rectangle(0, 0, width, height, "page"),
    ...parts,
    "</svg>\n",
  ].join("\n");
}

/** Names of the series beside their colours, in rows up to `width`. */
export function legend(x: number, y: number, names: readonly string[], width: number): string[] {
  let left = x;
  let line = y;
  return names.flatMap((name, at) => {
    const size = 18 + name.length * 7.2 + 22;
    if (left + size > width) {
      left = x;
      line += 20;
    }
    const square = rectangle(left, line - 11, 12, 12, SERIES[at % SERIES.length]!);
    const label = text(left + 18, line, name);
    left += size;
    return [square, label];
  });
}
