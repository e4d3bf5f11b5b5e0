/** Turns runs into medians, tables and JSON. */

import { median } from "../support/load.ts";
import { markdown, spread, whole } from "../support/output.ts";
import type { Run } from "./load.ts";

/** The figures of one peer in one workload. */
export interface Measured {
  readonly peer: string;
  /** The form of its replies, if it had a choice. */
  readonly form?: string | undefined;
  /** Runs that count, by round; undefined where the run was void. */
  readonly runs: readonly (Run | undefined)[];
}

export interface WorkloadResult {
  readonly workload: string;
  readonly measured: readonly Measured[];
}

/** The conditions of the measurement. */
export interface Conditions {
  readonly node: string;
  readonly cpu: string;
  readonly commit: string;
  readonly users: number;
  readonly rounds: number;
  readonly seconds: number;
  readonly load: string;
  readonly connections: number;
  readonly pinned: boolean;
}

type Figure = Exclude<keyof Run, "statuses">;

function runsOf({ runs }: Measured, figure: Figure): number[] {
  return runs.filter((run) => run !== undefined).map((run) => run[figure]);
}

/** Ratios of requests per CPU second, by round: the two runs of a round met the same state of the machine. */
export function ratiosOf(ours: Measured, theirs: Measured): number[] {
  return ours.runs.flatMap((run, round) => {
    const other = theirs.runs[round];
    return run && other ? [run.perCpuSecond / other.perCpuSecond] : [];
  });
}

/** One round tells nothing of a ratio. */
function ratioText(ratios: readonly number[]): string {
  return ratios.length < 2 ? "–" : spread(ratios, 2);
}

const COLUMNS = ["requests a CPU second", "times", "requests/s", "p50 ms", "p99 ms", "RSS MB"];

/** Names of the columns; that of the ratios names the peer. */
function columnsOf(first: Measured): string[] {
  return COLUMNS.map((column) => (column === "times" ? `${first.peer} makes … of it` : column));
}

function rowOf(measured: Measured, first: Measured): string[] {
  const show = (figure: Figure, digits: number): string => spread(runsOf(measured, figure), digits);
  return [
    measured.form === undefined ? measured.peer : `${measured.peer} (${measured.form})`,
    spread(runsOf(measured, "perCpuSecond"), whole),
    measured === first ? "" : ratioText(ratiosOf(first, measured)),
    spread(runsOf(measured, "perSecond"), whole),
    show("p50", 2),
    show("p99", 2),
    spread(
      runsOf(measured, "rss").map((bytes) => bytes / 1e6),
      whole,
    ),
  ];
}

/** One workload's figures for a terminal, as ratios to the first peer. */
export function textTable({ workload, measured }: WorkloadResult): string {
  const head = [workload, ...columnsOf(measured[0]!)];
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
  const { node, cpu, commit, users, rounds, seconds, load, connections, pinned } = conditions;
  const cores = pinned ? "server and load on a core each" : "server and load not pinned";
  return `node ${node}, ${cpu}, commit ${commit}; ${users} users, medians of ${rounds} × ${seconds} s (lowest–highest), ${load} with ${connections} connections, ${cores}`;
}

/** All workloads as one Markdown table, with its conditions above it. */
export function markdownTable(results: readonly WorkloadResult[], conditions: Conditions): string {
  const rows = results.flatMap(({ workload, measured }) =>
    measured.map((some, at) => [at === 0 ? workload : "", ...rowOf(some, measured[0]!)]),
  );
  const head = ["workload", "server", ...columnsOf(results[0]!.measured[0]!)];
  const about = `${conditionsLine(conditions)}.`;
  return `${about[0]!.toUpperCase()}${about.slice(1)}\n\n${markdown(head, rows, 2)}`;
}

/** The results of `--json`, for programs. */
export interface HttpResults extends Conditions {
  readonly workloads: readonly {
    readonly workload: string;
    readonly peers: readonly {
      readonly peer: string;
      /** Requests a CPU second: their median, the lowest, the highest. NaN becomes null. */
      readonly perCpuSecond: readonly [median: number, lowest: number, highest: number];
    }[];
  }[];
}

/** The figures of the chart, for programs. */
export function toJson(results: readonly WorkloadResult[], conditions: Conditions): HttpResults {
  const workloads = results.map(({ workload, measured }) => ({
    workload,
    peers: measured.map((some) => {
      const all = runsOf(some, "perCpuSecond");
      return { peer: some.peer, perCpuSecond: [median(all), Math.min(...all), Math.max(...all)] as const };
    }),
  }));
  return { ...conditions, workloads };
}
