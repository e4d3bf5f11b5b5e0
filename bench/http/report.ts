/** Runs to medians, and those to a table, to JSON and into the results file. */

import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { median } from "../support/load.ts";
import type { Run } from "./load.ts";

/** The figures of one peer in one workload. */
export interface Measured {
  readonly peer: string;
  /** Runs that count, by round; undefined where the run was void. */
  readonly runs: readonly (Run | undefined)[];
}

export interface WorkloadResult {
  readonly workload: string;
  readonly measured: readonly Measured[];
}

/** Where and how it was measured. */
export interface Conditions {
  readonly node: string;
  readonly cpu: string;
  readonly commit: string;
  readonly users: number;
  readonly rounds: number;
  readonly seconds: number;
  readonly connections: number;
  readonly pinned: boolean;
}

type Figure = Exclude<keyof Run, "statuses">;

/** Median of a figure over the runs that count; NaN when there are none. */
export function medianOf({ runs }: Measured, figure: Figure): number {
  return median(runs.filter((run) => run !== undefined).map((run) => run[figure]));
}

/**
 * How many times the requests per CPU second of another peer this one makes:
 * the median over the rounds, since two runs of one round met the same machine.
 */
export function ratioOf(ours: Measured, theirs: Measured): number {
  const ratios = ours.runs.flatMap((run, round) => {
    const other = theirs.runs[round];
    return run && other ? [run.perCpuSecond / other.perCpuSecond] : [];
  });
  return median(ratios);
}

function whole(value: number): string {
  return Number.isNaN(value) ? "–" : Math.round(value).toLocaleString("en-US");
}

function fixed(value: number, digits: number): string {
  return Number.isNaN(value) ? "–" : value.toFixed(digits);
}

const COLUMNS = [
  "",
  "requests a CPU second",
  "of orrery's",
  "requests/s",
  "p50",
  "p99",
  "p99.9 ms",
  "RSS MB",
];

function rowOf(measured: Measured, first: Measured): string[] {
  return [
    measured.peer,
    whole(medianOf(measured, "perCpuSecond")),
    measured === first ? "1" : fixed(ratioOf(measured, first), 2),
    whole(medianOf(measured, "perSecond")),
    fixed(medianOf(measured, "p50"), 2),
    fixed(medianOf(measured, "p99"), 2),
    fixed(medianOf(measured, "p999"), 2),
    whole(medianOf(measured, "rss") / 1e6),
  ];
}

/** One workload's figures for a terminal. The first peer is the one that the others are compared with. */
export function textTable({ workload, measured }: WorkloadResult): string {
  const head = [workload, ...COLUMNS.slice(1)];
  head[2] = `of ${measured[0]!.peer}'s`;
  const rows = [head, ...measured.map((some) => rowOf(some, measured[0]!))];
  const widths = head.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  return rows
    .map((row) =>
      row
        .map((cell, column) => (column === 0 ? cell.padEnd(widths[0]!) : cell.padStart(widths[column]!)))
        .join("  "),
    )
    .join("\n");
}

export function conditionsLine(conditions: Conditions): string {
  const { node, cpu, commit, users, rounds, seconds, connections, pinned } = conditions;
  const cores = pinned ? "server and load on a core each" : "server and load not pinned";
  return `node ${node}, ${cpu}, commit ${commit}; ${users} users, medians of ${rounds} × ${seconds} s, ${connections} connections, ${cores}`;
}

/** All workloads as one markdown table. */
export function markdownTable(results: readonly WorkloadResult[], conditions: Conditions): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;
  const rows = results.flatMap(({ workload, measured }) =>
    measured.map((some, at) => line([at === 0 ? workload : "", ...rowOf(some, measured[0]!)])),
  );
  const head = ["workload", "server", ...COLUMNS.slice(1)];
  const rule = line(head.map((_, at) => (at < 2 ? "---" : "---:")));
  const about = `${conditionsLine(conditions)}.`;
  return [about[0]!.toUpperCase() + about.slice(1), "", line(head), rule, ...rows].join("\n");
}

const BEGIN = "<!-- http -->";
const END = "<!-- /http -->";

/** Puts the table between the markers of the results file; a section with markers is added where there is none. */
export function writeTable(file: string, table: string): void {
  const text = existsSync(file) ? readFileSync(file, "utf8") : "# Results\n";
  const section = `\n## HTTP: \`npm run bench\`\n\n${BEGIN}\n${END}\n`;
  const marked = text.includes(BEGIN) && text.includes(END) ? text : text + section;
  const before = marked.slice(0, marked.indexOf(BEGIN) + BEGIN.length);
  const after = marked.slice(marked.indexOf(END));
  const picture = "![Requests per second of CPU time](results/http.svg)";
  writeFileSync(file, `${before}\n\n${table}\n\n${picture}\n\n${after}`);
}

/** All runs and their medians, for programs. */
export function toJson(results: readonly WorkloadResult[], conditions: Conditions): string {
  const workloads = results.map(({ workload, measured }) => ({
    workload,
    peers: measured.map((some) => ({
      peer: some.peer,
      perCpuSecond: medianOf(some, "perCpuSecond"),
      perSecond: medianOf(some, "perSecond"),
      p50: medianOf(some, "p50"),
      p99: medianOf(some, "p99"),
      p999: medianOf(some, "p999"),
      rss: medianOf(some, "rss"),
      runs: some.runs,
    })),
  }));
  return `${JSON.stringify({ ...conditions, workloads }, null, 2)}\n`;
}
