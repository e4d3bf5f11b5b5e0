/** The cost of a lookup in CPU time of the server's process: short rounds of several servers in turn. */

import { runWrk } from "../http/wrk.ts";

/** Enough that the load never sleeps: a reply that wakes it up costs the server more than the lookup. */
export const CONNECTIONS = 128;

/** A server, and the lookups to ask it for in turn. */
export interface LookupSubject {
  readonly url: string;
  readonly pid: number;
  readonly paths: readonly string[];
  readonly token: string;
}

async function costOf({ url, pid, paths, token }: LookupSubject, seconds: number): Promise<number> {
  const headers = { Authorization: `Bearer ${token}` };
  const job = {
    url,
    pid,
    paths,
    headers,
    unique: false,
    connections: CONNECTIONS,
    warmUpRequests: 0,
    seconds,
  };
  const { statuses, errors, timeouts, perCpuSecond } = await runWrk(job, 200);
  if (errors + timeouts + (statuses.others ?? 0) > 0) throw new Error(`${url}: not all replies are 200`);
  return 1e6 / perCpuSecond;
}

/** Microseconds of CPU time a lookup, by server and round of one second; rounds alternate the order of the list. */
export async function costsOf(
  subjects: readonly LookupSubject[],
  { rounds, warmUpSeconds }: { readonly rounds: number; readonly warmUpSeconds: number },
): Promise<number[][]> {
  const costs = subjects.map((): number[] => []);
  for (const subject of subjects) await costOf(subject, warmUpSeconds);
  for (let round = 0; round < rounds; round++) {
    const order = [...subjects.keys()];
    for (const at of round % 2 === 0 ? order : order.reverse())
      costs[at]!.push(await costOf(subjects[at]!, 1));
  }
  return costs;
}
