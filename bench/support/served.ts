/** What requests cost a server in another process: CPU time of lookups and pages, and how long searches take. */

import { readFileSync } from "node:fs";
import { Agent, get } from "node:http";
import { fold } from "../../src/search/fold.ts";
import { createRandom } from "../../src/util/random.ts";
import { percentile } from "./load.ts";

/** Figures of one server. */
export interface Served {
  /** Microseconds of CPU time of all threads. */
  readonly lookup: number;
  readonly page: number;
  /** Milliseconds of a search as its caller sees it, over users and worlds in turn. */
  readonly searchP50: number;
  readonly searchP99: number;
  readonly searches: number;
}

/** Microseconds of CPU time of a process so far; Linux counts in hundredths of a second. */
function cpuMicros(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) * 10_000;
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

/**
 * Measures a server that listens.
 *
 * @param url of the API
 * @param worlds ids of worlds that it serves
 * @param names texts that stand in it, from which queries are cut
 * @param times how many requests of each kind
 */
export async function measureServed(
  pid: number,
  url: string,
  token: string,
  worlds: readonly string[],
  names: readonly string[],
  times: number,
): Promise<Served> {
  const { below } = createRandom(9, "served");
  const cpuOf = async (target: () => string): Promise<number> => {
    await askAll(url, token, times >> 2, target);
    const began = cpuMicros(pid);
    await askAll(url, token, times, target);
    return (cpuMicros(pid) - began) / times;
  };
  const lookup = await cpuOf(() => `/worlds/${worlds[below(worlds.length)]}`);
  const page = await cpuOf(() => `/worlds?limit=20&offset=${below(worlds.length - 20)}`);
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
  const searches = times >> 2;
  const latencies = await askAll(url, token, searches, query);
  return {
    lookup,
    page,
    searchP50: percentile(latencies, 0.5),
    searchP99: percentile(latencies, 0.99),
    searches,
  };
}
