/** What requests cost a server in another process: CPU time of lookups and pages, and how long searches take. */

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
  /** Milliseconds of a search as its caller sees it, over users and worlds in turn. */
  readonly searchP50: number;
  readonly searchP99: number;
}

/** What a snapshot can be asked for. */
export interface Queries {
  /** Ids of worlds that are served. */
  readonly worlds: readonly string[];
  /** Texts that stand in it, from which searches are cut. */
  readonly names: readonly string[];
}

/** A server that listens, and how many requests of each kind it gets. */
export interface Subject {
  readonly pid: number;
  /** The API's. */
  readonly url: string;
  readonly token: string;
  readonly queries: Queries;
  readonly times: number;
}

/** Asks so many things one after the other. @returns milliseconds of each */
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

/** Measures a server that listens. */
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
