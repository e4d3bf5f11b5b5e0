/** Runs to medians, and those to tables and to JSON. */

import { median } from "../support/load.ts";
import { fixed, markdown, whole } from "../support/output.ts";
import type { Run } from "./load.ts";

/** The figures of one peer in one workload. */
export interface Measured {
  readonly peer: string;
  /** How it sent its replies, where it had a choice. */
  readonly form?: string | undefined;
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

const COLUMNS = [
  "",
  "requests a CPU second",
  "orrery makes … of it",
  "requests/s",
  "p50",
  "p99",
  "p99.9 ms",
  "RSS MB",
];

function rowOf(measured: Measured, first: Measured): string[] {
  return [
    measured.form === undefined ? measured.peer : `${measured.peer} (${measured.form})`,
    whole(medianOf(measured, "perCpuSecond")),
    measured === first ? "" : fixed(ratioOf(first, measured), 2),
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
  head[2] = `${measured[0]!.peer} makes … of it`;
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

/** All workloads as one Markdown table, with its conditions above it. */
export function markdownTable(results: readonly WorkloadResult[], conditions: Conditions): string {
  const rows = results.flatMap(({ workload, measured }) =>
    measured.map((some, at) => [at === 0 ? workload : "", ...rowOf(some, measured[0]!)]),
  );
  const head = ["workload", "server", ...COLUMNS.slice(1)];
  const about = `${conditionsLine(conditions)}.`;
  return `${about[0]!.toUpperCase()}${about.slice(1)}\n\n${markdown(head, rows, 2)}`;
}

/** What programs read: the results of `--json`. */
export interface HttpResults extends Conditions {
  readonly workloads: readonly {
    readonly workload: string;
    readonly peers: readonly (Measured & Readonly<Record<Medians, number>>)[];
  }[];
}

type Medians = "perCpuSecond" | "perSecond" | "p50" | "p99" | "p999" | "rss";

/** All runs and their medians, for programs. */
export function toJson(results: readonly WorkloadResult[], conditions: Conditions): HttpResults {
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
      form: some.form,
      runs: some.runs,
    })),
  }));
  return { ...conditions, workloads };
}
