/** The chart of requests a CPU second: one bar for each server, one group for each workload, one scale for all. */

import type { HttpResults } from "../http/report.ts";
import { legend, line, picture, rectangle, SERIES, text } from "./svg.ts";

/** Workloads in the chart and the summary, with their titles. */
export const GROUPS: Readonly<Record<string, string>> = {
  "world-by-id": "One world by its id",
  "list-20": "Page of 20 worlds",
  "list-50": "Page of 50 worlds",
  popular: "Ranking, page of 20",
  "world-search-hot": "Search, asked again",
  "world-search": "Search, not cached",
  mix: "Mixed traffic",
  "flood-401": "Unknown tokens (401)",
};

/** Servers in the chart. The table has the figure of each bar, too. */
const SERVERS = [
  "orrery",
  "orrery --http node",
  "bare node:http",
  "Fastify, encoded at load",
  "Fastify + SQLite, JSON by position",
  "nginx, a file",
];
const NAMES = [
  "orrery",
  "orrery on node:http",
  "bare node:http, constant",
  "Fastify, encoded",
  "Fastify, SQLite by position",
  "nginx, a file",
];

const WIDTH = 820;
const LEFT = 208;
const RIGHT = 64;
const TOP = 142;
const BAR = 13;
const GAP = 2;
const GROUP_GAP = 16;

/** The smallest of 1, 2, 5, 10, … that divides a scale into at most `parts` parts. */
function stepOf(largest: number, parts: number): number {
  const power = 10 ** Math.floor(Math.log10(largest / parts));
  return [1, 2, 5, 10].map((times) => times * power).find((step) => largest / step <= parts)!;
}

/** Draws medians as bars, and at the end of each a line from the lowest figure to the highest. */
export function drawHttp(results: HttpResults): string {
  const groups = Object.keys(GROUPS).flatMap((name) =>
    results.workloads.filter(({ workload }) => workload === name),
  );
  const shown = SERVERS.filter((server) =>
    groups.some(({ peers }) => peers.some(({ peer }) => peer === server)),
  );
  const values = groups.flatMap(({ peers }) =>
    peers.filter(({ peer }) => shown.includes(peer)).flatMap(({ perCpuSecond }) => perCpuSecond),
  );
  const largest = Math.max(1, ...values.filter(Number.isFinite));
  const scale = (value: number): number => (value / largest) * (WIDTH - LEFT - RIGHT);
  const bars: string[] = [];
  let y = TOP;
  for (const { workload, peers } of groups) {
    const some = peers.filter(({ peer, perCpuSecond: [middle] }) => shown.includes(peer) && middle > 0);
    const height = some.length * (BAR + GAP) - GAP;
    bars.push(text(LEFT - 14, y + height / 2 + 4.5, GROUPS[workload]!, "text", 'text-anchor="end"'));
    for (const { peer, perCpuSecond } of some) {
      const [middle, lowest, highest] = perCpuSecond;
      const width = Math.max(1, scale(middle));
      const figure = Math.round(middle).toLocaleString("en-US");
      const ends = [lowest, highest].map((value) => [LEFT + scale(value), y + BAR / 2] as const);
      const ours = peer === SERVERS[0];
      bars.push(
        rectangle(LEFT, y, width, BAR, SERIES[SERVERS.indexOf(peer)]!),
        line(ends, "text", 1.5),
        text(
          LEFT + scale(highest) + 6,
          y + BAR - 2.5,
          figure,
          ours ? "text" : "quiet",
          `font-size="12"${ours ? ' font-weight="600"' : ""}`,
        ),
      );
      y += BAR + GAP;
    }
    y += GROUP_GAP;
  }
  const bottom = y - GROUP_GAP + 8;
  const step = stepOf(largest, 5);
  const rules: string[] = [];
  for (let value = 0; value <= largest; value += step) {
    const x = LEFT + scale(value);
    rules.push(
      line(
        [
          [x, TOP - 8],
          [x, bottom],
        ],
        "rule",
        1,
      ),
      text(x, bottom + 16, value.toLocaleString("en-US"), "quiet", 'font-size="11" text-anchor="middle"'),
    );
  }
  const { node, cpu, commit, users } = results;
  const about = `Node ${node}, ${users.toLocaleString("en-US")} users, commit ${commit}, ${cpu}`;
  const title = "Requests answered in a second of the server's CPU time";
  return picture(WIDTH, bottom + 48, title, [
    text(16, 28, title, "text", 'font-size="18" font-weight="600"'),
    text(16, 50, "Longer is better. Thin lines reach from the lowest round to the highest.", "quiet"),
    text(
      16,
      68,
      "bare node:http and nginx repeat one reply: they check no key and count no limit. Search bars do different work.",
      "quiet",
    ),
    ...legend(
      16,
      96,
      shown.map((server) => NAMES[SERVERS.indexOf(server)]!),
      WIDTH,
    ),
    ...rules,
    ...bars,
    text(16, bottom + 38, about, "quiet", 'font-size="11"'),
  ]);
}
