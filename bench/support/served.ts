/** The cost of requests to a server in another process: CPU time of lookups and pages, and the latency of searches. */

import { Agent, get } from "node:http";
import { fold } from "../../src/search/fold.ts";
import { createRandom } from "../../src/util/random.ts";
import { percentile } from "./load.ts";
import { cpuOf } from "./process.ts";

/** Figures of one server. */
export interface Served {
  /** Microseconds of CPU time of all threads. */
  readonly lookup: number;
  readonly page: number;
  /** Latency of searches in milliseconds, over users and worlds in turn. */
  readonly searchP50: number;
  readonly searchP99: number;
}

/** Material for requests over a snapshot. */
export interface Queries {
  /** Ids of served worlds. */
  readonly worlds: readonly string[];
  /** Texts of the snapshot; queries are substrings of them. */
  readonly names: readonly string[];
}

/** A listening server, and the number of requests of each kind. */
export interface Subject {
  readonly pid: number;
  /** Base URL of the API. */
  readonly url: string;
  readonly token: string;
  readonly queries: Queries;
  readonly times: number;
}

/** Sends requests one after the other. @returns milliseconds of each */
async function askAll(
  url: string,
  token: string,
  times: number,
  target: () => string,
): Promise<Float64Array> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const headers = { Authorization: `Bearer ${token}` };
  const latencies = new Float64Array(times);
  for (let at = 0; at < times; at++) {
    const path = target();
    const began = performance.now();
    await new Promise<void>((resolve, reject) => {
      const request = get(url + path, { agent, headers }, (response) => {
        if (response.statusCode !== 200) reject(new Error(`${path}: ${response.statusCode}`));
        response.resume().on("end", resolve);
      });
      request.on("error", reject);
    });
    latencies[at] = performance.now() - began;
  }
  agent.destroy();
  return latencies.sort();
}

/** Measures a listening server. */
export async function measureServed({ pid, url, token, queries, times }: Subject): Promise<Served> {
  const { worlds, names } = queries;
  const { below } = createRandom(9, "served");
  const costOf = async (target: () => string): Promise<number> => {
    await askAll(url, token, times >> 2, target);
    const began = cpuOf(pid);
    await askAll(url, token, times, target);
    return ((cpuOf(pid) - began) * 1000) / times;
  };
  const lookup = await costOf(() => `/worlds/${worlds[below(worlds.length)]}`);
  const page = await costOf(() => `/worlds?limit=20&offset=${below(worlds.length - 20)}`);
  let turn = 0;
  const query = (): string => {
    const name = names[below(names.length)]!;
    const length = 1 + below(8);
    const from = below(Math.max(1, name.length - length + 1));
    const piece = name.slice(from, from + length).toWellFormed();
    // A combining mark alone is no query.
    const text = fold(piece).trim() === "" ? "a" : piece.trim();
    return `/${turn++ % 2 === 0 ? "users" : "worlds"}/search?limit=20&q=${encodeURIComponent(text)}`;
  };
  await askAll(url, token, times >> 4, query);
  const latencies = await askAll(url, token, times >> 2, query);
  return {
    lookup,
    page,
    searchP50: percentile(latencies, 0.5),
    searchP99: percentile(latencies, 0.99),
  };
}
