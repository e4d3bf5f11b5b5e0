/** Parts that `bench/results.ts` runs, in this order, and their places in the document. */

import type { Need } from "../support/need.ts";

/** A run of a bench. */
export interface Part {
  /** Name of its place in `TEMPLATE.md`. */
  readonly name: string;
  /** File in `bench`. */
  readonly bench: string;
  readonly args: readonly string[];
  /** Arguments in a quick run. */
  readonly quick: readonly string[];
  readonly needs: readonly Need[];
  /** Run by another Node, that of `--beside`. */
  readonly isBeside?: true;
  /** Timeout in minutes; a part that takes longer is ended, and the run fails. */
  readonly minutes: number;
}

const SMOKE = ["--smoke"] as const;

/** Workloads over HTTP, as in the chart. */
const HTTP = "world-by-id,list-20,list-50,popular,world-search-hot,world-search,mix,flood-401";
/** Workloads at a million users. */
const MILLION = "world-by-id,list-20,world-search,user-search";
const BY_WRK = ["--load", "wrk", "--seconds", "1", "--rounds", "5"];
/** Workloads, and peers without native code, that are measured in other circumstances, too. */
const FEW = [
  ...["--only", "world-by-id,list-20,popular,world-search-hot,world-search"],
  ...["--peers", "bare node:http,--http node,encoded"],
];

export const PARTS: readonly Part[] = [
  {
    name: "http",
    bench: "http.ts",
    args: ["--full", "--only", HTTP, ...BY_WRK],
    quick: ["--smoke", "--peers", "bare,Fastify,nginx", "--only", HTTP, "--seconds", "0.2"],
    needs: ["peers", "nginx", "wrk", "taskset"],
    minutes: 22,
  },
  {
    name: "http-autocannon",
    bench: "http.ts",
    args: [...FEW, "--seconds", "1", "--rounds", "5"],
    quick: ["--smoke", "--only", "world-by-id"],
    needs: ["fastify", "taskset"],
    minutes: 9,
  },
  {
    name: "http-beside",
    bench: "http.ts",
    args: [...FEW, ...BY_WRK],
    quick: ["--smoke", "--only", "world-by-id", "--load", "wrk"],
    needs: ["fastify", "wrk", "taskset"],
    isBeside: true,
    minutes: 9,
  },
  {
    name: "http-million",
    bench: "http.ts",
    args: ["--users", "1000000", "--only", MILLION, "--peers", "bare", "--keep", ...BY_WRK],
    quick: ["--smoke", "--only", "world-by-id,world-search", "--load", "wrk"],
    needs: ["wrk", "taskset"],
    minutes: 10,
  },
  {
    name: "search",
    bench: "search.ts",
    args: ["--sizes", "100000", "--queries", "10"],
    quick: SMOKE,
    needs: ["peers"],
    minutes: 14,
  },
  { name: "similar", bench: "similar.ts", args: [], quick: SMOKE, needs: [], minutes: 5 },
  { name: "start", bench: "start.ts", args: [], quick: SMOKE, needs: [], minutes: 6 },
  {
    name: "scale",
    bench: "scale.ts",
    args: ["--sizes", "100000,1000000", "--prepared"],
    quick: ["--smoke", "--prepared"],
    needs: [],
    minutes: 29,
  },
  {
    name: "reload",
    bench: "reload.ts",
    args: ["--sizes", "100000"],
    quick: SMOKE,
    needs: [],
    minutes: 10,
  },
  {
    name: "fresh",
    bench: "scale.ts",
    args: ["--fresh", "--sizes", "100000"],
    quick: ["--fresh", "--smoke"],
    needs: ["postgresql", "nginx"],
    minutes: 11,
  },
  {
    name: "flood",
    bench: "flood.ts",
    args: ["--users", "100000"],
    quick: SMOKE,
    needs: ["taskset"],
    minutes: 8,
  },
  {
    name: "search-flood",
    bench: "flood.ts",
    args: ["--searches"],
    quick: ["--searches", "--smoke"],
    needs: [],
    minutes: 8,
  },
  {
    name: "tokenless-flood",
    bench: "flood.ts",
    args: ["--tokenless", "--seconds", "2"],
    quick: ["--tokenless", "--smoke"],
    needs: ["taskset"],
    minutes: 6,
  },
  { name: "shared", bench: "shared.ts", args: [], quick: SMOKE, needs: ["redis-server"], minutes: 5 },
  {
    name: "access-log",
    bench: "access-log.ts",
    args: ["--rounds", "8"],
    quick: SMOKE,
    needs: ["nginx", "wrk", "taskset"],
    minutes: 5,
  },
  {
    name: "metrics",
    bench: "metrics.ts",
    args: ["--rounds", "15", "--scrapes", "1000"],
    quick: SMOKE,
    needs: ["wrk", "taskset"],
    minutes: 6,
  },
  { name: "client", bench: "client.ts", args: [], quick: SMOKE, needs: ["taskset"], minutes: 5 },
];

/** Parts of a smoke run, which only checks that all fits together. */
export const SMOKED: readonly string[] = ["client"];
