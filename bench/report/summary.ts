/** The summary at the top of the results: what a workload costs beside the peers that people know. */

import type { HttpResults } from "../http/report.ts";
import { markdown, whole } from "../support/output.ts";
import { GROUPS } from "./http-chart.ts";

/** Columns of ratios: the fastest of the peers whose names begin so. */
const BESIDE: Readonly<Record<string, string>> = {
  "bare node:http": "bare node:http",
  "the fastest Fastify": "Fastify",
  "nginx with a file": "nginx",
};

/** A line for each workload of the chart: requests a CPU second, as medians, and their ratios to those of peers. */
export function summarize({ workloads }: HttpResults): string {
  const rows = Object.entries(GROUPS).flatMap(([name, title]) => {
    const { peers = [] } = workloads.find(({ workload }) => workload === name) ?? {};
    const medianOf = (begin: string): number =>
      Math.max(
        ...peers.filter(({ peer }) => peer.startsWith(begin)).map(({ perCpuSecond: [median] }) => median),
      );
    const own = peers.find(({ peer }) => peer === "orrery")?.perCpuSecond[0];
    if (own === undefined) return [];
    const ratios = Object.values(BESIDE).map((begin) => own / medianOf(begin));
    return [[title, whole(own), ...ratios.map((ratio) => (ratio > 0 ? ratio.toFixed(2) : "–"))]];
  });
  const heads = Object.keys(BESIDE).map((name) => `times ${name}`);
  return markdown(["One serving thread", "requests a CPU second", ...heads], rows);
}
