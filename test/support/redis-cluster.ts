/** A cluster of real counter servers. */

import { until } from "./process.ts";
import { type Redis, startRedis } from "./redis.ts";

const SLOTS = 16_384;
const SETTINGS = [
  "--cluster-enabled",
  "yes",
  "--cluster-node-timeout",
  "1000",
  "--cluster-require-full-coverage",
  "no",
];

/** A server of a cluster. */
export function startNode(program?: string): Promise<Redis> {
  return startRedis([...SETTINGS, "--cluster-replica-validity-factor", "0"], undefined, program);
}

/** Starts three that hold a third of the keys each. */
export async function startCluster(program?: string): Promise<[Redis, Redis, Redis]> {
  const nodes: [Redis, Redis, Redis] = [
    await startNode(program),
    await startNode(program),
    await startNode(program),
  ];
  for (const [at, node] of nodes.entries()) {
    const from = Math.floor((SLOTS * at) / 3);
    node.cli("CLUSTER", "ADDSLOTSRANGE", String(from), String(Math.floor((SLOTS * (at + 1)) / 3) - 1));
    node.cli("CLUSTER", "MEET", "127.0.0.1", String(nodes[0].port));
  }
  for (const node of nodes) {
    await until(
      () => {
        const info = node.cli("CLUSTER", "INFO");
        return info.includes("cluster_state:ok") && info.includes(`cluster_slots_assigned:${SLOTS}`);
      },
      () => `the cluster: ${node.cli("CLUSTER", "INFO")}`,
    );
  }
  return nodes;
}
