/** The picture of the results: a bar a server, a group of bars a workload. */

import { medianOf, type WorkloadResult } from "./report.ts";

const COLOURS = ["#2563eb", "#94a3b8", "#f59e0b", "#10b981", "#a855f7"];
const WIDTH = 760;
const LEFT = 170;
const RIGHT = 90;
const BAR = 16;
const GAP = 3;
const GROUP_GAP = 18;
const TOP = 84;

function escapeXml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
}

function text(x: number, y: number, content: string, more = ""): string {
  return `<text x="${x}" y="${y}" ${more}>${escapeXml(content)}</text>`;
}

function legend(peers: readonly string[]): string[] {
  let x = 16;
  return peers.flatMap((peer, at) => {
    const square = `<rect x="${x}" y="52" width="12" height="12" rx="2" fill="${COLOURS[at % COLOURS.length]}"/>`;
    const label = text(x + 18, 62, peer);
    x += 18 + peer.length * 7 + 20;
    return [square, label];
  });
}

/**
 * Draws requests per CPU second.
 *
 * Every workload has its own scale: a search costs a hundred times what a
 * single row costs, and what is compared is the servers, not the workloads.
 */
export function drawChart(results: readonly WorkloadResult[], about: string): string {
  const peers = [...new Set(results.flatMap(({ measured }) => measured.map(({ peer }) => peer)))];
  const parts: string[] = [];
  let y = TOP;
  for (const { workload, measured } of results) {
    const values = measured.map((some) => medianOf(some, "perCpuSecond"));
    const largest = Math.max(...values);
    const height = measured.length * (BAR + GAP) - GAP;
    parts.push(text(LEFT - 12, y + height / 2 + 4, workload, 'text-anchor="end" font-weight="600"'));
    for (const [at, { peer }] of measured.entries()) {
      const width = Math.max(1, (values[at]! / largest) * (WIDTH - LEFT - RIGHT));
      const colour = COLOURS[peers.indexOf(peer) % COLOURS.length];
      parts.push(
        `<rect x="${LEFT}" y="${y}" width="${width.toFixed(1)}" height="${BAR}" rx="2" fill="${colour}"/>`,
        text(
          Math.round(LEFT + width + 6),
          y + BAR - 4,
          Math.round(values[at]!).toLocaleString("en-US"),
          'fill="#475569"',
        ),
      );
      y += BAR + GAP;
    }
    y += GROUP_GAP;
  }
  const height = y + 16;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" font-family="system-ui, sans-serif" font-size="12" fill="#0f172a">`,
    `<rect width="${WIDTH}" height="${height}" fill="#ffffff"/>`,
    text(16, 24, "Requests answered per second of the server's CPU time", 'font-size="16" font-weight="600"'),
    text(16, 42, "Longer is better. Each workload has its own scale.", 'fill="#475569"'),
    ...legend(peers),
    ...parts,
    text(16, height - 10, about, 'font-size="10" fill="#64748b"'),
    "</svg>\n",
  ].join("\n");
}
