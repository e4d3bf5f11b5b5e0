/** Another client, and what it notices while something goes on. */

import { readFileSync } from "node:fs";
import { Agent, get } from "node:http";

/** What was noticed. Milliseconds and bytes. */
export interface Noticed {
  /** Longest time from a request to the end of its answer. */
  readonly longest: number;
  readonly lost: number;
  /** Most resident memory above what there was before. */
  readonly grown: number;
}

/** Resident memory of a process. */
export function residentBytes(pid: number): number {
  const line = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8"));
  return Number(line?.[1] ?? Number.NaN) * 1024;
}

function ask(url: string, agent: Agent | false, headers: Record<string, string>): Promise<number> {
  const began = performance.now();
  return new Promise((resolve, reject) => {
    get(url, { agent, headers, timeout: 60_000 }, (response) => {
      response.resume().on("end", () => resolve(performance.now() - began));
      response.on("error", reject);
    }).on("error", reject);
  });
}

const PAUSE_MS = 2;

/**
 * Asks again and again, one request at a time, over a connection that stands
 * and over new ones, until something is over; looks at the memory meanwhile.
 */
export async function notice(
  server: { readonly url: string; readonly pid: number },
  headers: Record<string, string>,
  isOver: () => boolean,
): Promise<Noticed> {
  const before = residentBytes(server.pid);
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  let longest = 0;
  let lost = 0;
  let most = before;
  const look = setInterval(() => (most = Math.max(most, residentBytes(server.pid))), 10);
  const client = async (over: Agent | false): Promise<void> => {
    while (!isOver()) {
      await ask(`${server.url}/api/public/v1/stats`, over, headers).then(
        (ms) => (longest = Math.max(longest, ms)),
        () => lost++,
      );
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  };
  await Promise.all([client(agent), client(false)]);
  clearInterval(look);
  agent.destroy();
  return { longest, lost, grown: most - before };
}
