/** What `bench/results.ts` runs, in this order, and where in the document it goes. */

/** Workloads of which the requests a CPU second are compared with those of bare node:http on every Node. */
const COMPARED =
  "world-by-id,user-by-id,stats,list-20,list-50,popular,user-search-hot,world-search-hot,flood-401,flood-429";

/** A run of a bench. */
export interface Part {
  /** Its place in `TEMPLATE.md`. */
  readonly name: string;
  /** File in `bench`. */
  readonly bench: string;
  readonly args: readonly string[];
  /** In a quick run; `--smoke` when absent. */
  readonly quick?: readonly string[];
  /** Run by the other versions of Node that were named, or by those too. */
  readonly on?: "other" | "every";
  /** Whether it writes what pictures are drawn from. */
  readonly json?: boolean;
  /** In a smoke run, which only tells whether all fits together. */
  readonly smoke?: boolean;
  /** Longest time in minutes; then it is ended, and the document says so. */
  readonly minutes: number;
}

export const PARTS: readonly Part[] = [
  {
    name: "http",
    bench: "http.ts",
    args: ["--full", "--rounds", "3", "--seconds", "0.8", "--peers", "bare,Fastify,nginx"],
    quick: ["--smoke", "--only", "world-by-id,list-20,list-50,flood-401"],
    json: true,
    smoke: true,
    minutes: 14,
  },
  {
    name: "http-nodes",
    bench: "http.ts",
    args: ["--only", COMPARED, "--peers", "bare", "--rounds", "5", "--seconds", "0.8"],
    on: "other",
    minutes: 5,
  },
  { name: "ceiling", bench: "ceiling.ts", args: [], on: "every", minutes: 3 },
  {
    name: "http-million",
    bench: "http.ts",
    args: [
      ...["--users", "1000000", "--only", "world-by-id,list-20,list-50,user-search,world-search,mix"],
      ...["--peers", "bare,Fastify", "--keep", "--rounds", "3", "--seconds", "1"],
    ],
    minutes: 8,
  },
  {
    name: "runtimes",
    bench: "http.ts",
    args: ["--only", "world-by-id,list-20,mix", "--peers", "bare,Bun,Deno", "--rounds", "3"],
    minutes: 4,
  },
  { name: "cost", bench: "cost.ts", args: ["--rounds", "3", "--seconds", "0.8"], json: true, minutes: 6 },
  { name: "scale", bench: "scale.ts", args: ["--reloads", "5"], json: true, minutes: 6 },
  { name: "text", bench: "text.ts", args: [], minutes: 3 },
  { name: "long-texts", bench: "long-texts.ts", args: [], minutes: 6 },
  { name: "prepared", bench: "prepared.ts", args: ["--rounds", "1"], minutes: 6 },
  { name: "reload", bench: "reload.ts", args: ["--rounds", "1"], minutes: 6 },
  { name: "fresh", bench: "scale.ts", args: ["--fresh", "--rounds", "1"], minutes: 8 },
  { name: "export", bench: "export.ts", args: ["--rounds", "1"], minutes: 5 },
  { name: "start", bench: "start.ts", args: [], minutes: 3 },
  { name: "index", bench: "index.ts", args: ["--users", "1000000", "--rounds", "1"], minutes: 5 },
  { name: "search", bench: "search.ts", args: ["--queries", "12"], minutes: 8 },
  { name: "flood", bench: "flood.ts", args: ["--rounds", "3"], minutes: 5 },
  { name: "search-flood", bench: "search-flood.ts", args: ["--seconds", "8"], minutes: 3 },
  { name: "similar", bench: "similar.ts", args: [], minutes: 5 },
  { name: "search-worst", bench: "search-worst.ts", args: ["--seconds", "30"], minutes: 3 },
  { name: "attack", bench: "attack.ts", args: [], minutes: 4 },
  { name: "stops", bench: "stops.ts", args: ["--stops", "8"], minutes: 3 },
  { name: "client", bench: "client.ts", args: ["--rounds", "3"], minutes: 2 },
  { name: "metrics", bench: "metrics.ts", args: ["--scrapes", "3000"], smoke: true, minutes: 8 },
  { name: "docs", bench: "docs.ts", args: [], minutes: 2 },
  { name: "mirror", bench: "mirror.ts", args: [], minutes: 2 },
  { name: "limit", bench: "limit.ts", args: [], smoke: true, minutes: 1 },
  { name: "state", bench: "state.ts", args: [], minutes: 2 },
  { name: "access-log", bench: "access-log.ts", args: [], minutes: 3 },
  { name: "admin", bench: "admin.ts", args: [], smoke: true, minutes: 1 },
  { name: "fleet", bench: "fleet.ts", args: [], minutes: 4 },
  { name: "shared", bench: "shared.ts", args: [], minutes: 3 },
  { name: "replicas", bench: "replicas.ts", args: [], minutes: 12 },
];
