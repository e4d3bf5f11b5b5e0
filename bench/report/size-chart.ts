/** The picture of what size costs: CPU time a request, and time and memory a row, as the snapshot grows. */

import { dot, line, picture, SERIES, text } from "./svg.ts";

/** What `bench/cost.ts --json` writes, as far as it is drawn. */
export interface CostResults {
  readonly node: string;
  /** Users. */
  readonly sizes: readonly number[];
  readonly workloads: readonly {
    readonly workload: string;
    readonly costs: readonly { readonly micros: number }[];
  }[];
}

/** What `bench/scale.ts --json` writes. */
export interface ScaleResults {
  readonly node: string;
  readonly sizes: readonly {
    readonly users: number;
    readonly microsARow: number;
    readonly bytesARow: number;
  }[];
}

const NAMES: Readonly<Record<string, string>> = {
  "world-by-id": "world by id",
  "list-20": "page of 20",
  "list-50": "page of 50",
  "user-search": "new user search",
  "world-search": "new world search",
};

interface Series {
  readonly name: string;
  /** By users. */
  readonly points: readonly (readonly [users: number, value: number])[];
}

interface Panel {
  readonly x: number;
  readonly width: number;
  readonly title: string;
  readonly unit: string;
  readonly series: readonly Series[];
}

const WIDTH = 820;
const TOP = 118;
const BOTTOM = 330;
const LABELS = 118;

function usersText(users: number): string {
  return users >= 1e6 ? `${users / 1e6}M` : users >= 1000 ? `${users / 1000}k` : String(users);
}

/** Heights of labels, each at least a line below the one before. */
function apart(heights: readonly number[]): number[] {
  const placed = [...heights];
  const order = [...heights.keys()].sort((a, b) => heights[a]! - heights[b]!);
  for (let at = 1; at < order.length; at++) {
    placed[order[at]!] = Math.max(placed[order[at]!]!, placed[order[at - 1]!]! + 15);
  }
  return placed;
}

function draw({ x, width, title, unit, series }: Panel): string[] {
  const all = series.flatMap(({ points }) => points);
  if (all.length === 0) return [];
  const sizes = [...new Set(all.map(([users]) => users))].sort((a, b) => a - b);
  const labels = series.length > 1 ? LABELS : 12;
  const [least, most] = [Math.log(sizes[0]!), Math.log(sizes.at(-1)!)];
  const largest = Math.max(...all.map(([, value]) => value)) * 1.08;
  const at = (users: number): number =>
    x + 8 + (most === least ? 0 : ((Math.log(users) - least) / (most - least)) * (width - labels - 16));
  const height = (value: number): number => BOTTOM - (value / largest) * (BOTTOM - TOP);
  const right = x + width - labels;
  const ends = apart(series.map(({ points }) => height(points.at(-1)![1])));
  return [
    text(x, TOP - 34, title, "text", 'font-weight="600"'),
    text(x, TOP - 17, unit, "quiet", 'font-size="12"'),
    line(
      [
        [x, BOTTOM],
        [right, BOTTOM],
      ],
      "rule",
      1,
    ),
    ...sizes.map((users) =>
      text(at(users), BOTTOM + 18, usersText(users), "quiet", 'font-size="11" text-anchor="middle"'),
    ),
    ...series.flatMap(({ name, points }, index) => {
      const kind = SERIES[index % SERIES.length]!;
      const last = points.at(-1)![1];
      const figure = last.toLocaleString("en-US", { maximumFractionDigits: last < 100 ? 1 : 0 });
      const first = points[0]![1].toLocaleString("en-US", {
        maximumFractionDigits: points[0]![1] < 100 ? 1 : 0,
      });
      const path = points.map(([users, value]) => [at(users), height(value)] as const);
      const ofOne = series.length === 1;
      return [
        line(path, kind),
        ...path.map(([dotX, dotY]) => dot(dotX, dotY, kind)),
        ofOne
          ? text(path.at(-1)![0], ends[index]! - 10, figure, "text", 'font-size="12" text-anchor="end"')
          : text(right + 2, ends[index]! + 4, `${figure} ${name}`, kind, 'font-size="12"'),
        ...(ofOne ? [text(path[0]![0] + 8, path[0]![1] + 4, first, "text", 'font-size="12"')] : []),
      ];
    }),
  ];
}

/** Draws both benches' figures. */
export function drawSize(cost: CostResults, scale: ScaleResults): string {
  const requests = cost.workloads.map(({ workload, costs }) => ({
    name: NAMES[workload] ?? workload,
    points: cost.sizes.map((users, at) => [users, costs[at]!.micros] as const),
  }));
  const aRow = (of: "microsARow" | "bytesARow"): Series[] => [
    { name: "", points: scale.sizes.map((size) => [size.users, size[of]] as const) },
  ];
  const title = "What a larger snapshot costs";
  return picture(WIDTH, BOTTOM + 62, title, [
    text(16, 28, title, "text", 'font-size="18" font-weight="600"'),
    text(
      16,
      50,
      "By number of users; worlds are a quarter as many. Lower is better, and flat is what one hopes for.",
      "quiet",
    ),
    ...draw({ x: 16, width: 410, title: "A request", unit: "µs of the server's CPU time", series: requests }),
    ...draw({
      x: 452,
      width: 170,
      title: "Loading, a row",
      unit: "µs until it listens",
      series: aRow("microsARow"),
    }),
    ...draw({
      x: 642,
      width: 170,
      title: "Memory, a row",
      unit: "bytes, of the whole process",
      series: aRow("bytesARow"),
    }),
    text(
      16,
      BOTTOM + 50,
      `Node ${cost.node}. A row of a small snapshot carries more of what the process takes without any rows.`,
      "quiet",
      'font-size="11"',
    ),
  ]);
}
