/**
 * The cost of the access log for a lookup, and of nginx's own access log.
 *
 *     npx tsx bench/access-log.ts [--rounds 12] [--smoke]
 *
 * One server for each setup: plain, all requests logged to a file, all to a pipe; and
 * nginx, which sends a file of the same size, without and with its log in a file. Prints microseconds of the server's CPU
 * time a lookup, in short alternating rounds, and the ratio to the plain server: medians, lowest and highest. Processes of
 * one program differ by some percent, so the cost of a line is also measured in this process, without requests.
 */

import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, openSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readClients } from "../src/model/client-address.ts";
import { AccessLog } from "../src/observe/access-log.ts";
import { Sink } from "../src/observe/log/sink.ts";
import { recordReply } from "./http/replies.ts";
import { NGINX, ORRERY, onCore, type Server, startServer } from "./http/servers.ts";
import { workloadsOf } from "./http/workloads.ts";
import { snapshotOf } from "./support/child.ts";
import { addKey } from "./support/keys.ts";
import { CONNECTIONS, costsOf } from "./support/lookups.ts";
import { demand } from "./support/need.ts";
import { readOptions } from "./support/options.ts";
import { machine, markdown, spread } from "./support/output.ts";

const values = readOptions({
  options: {
    rounds: { type: "string" },
    smoke: { type: "boolean", default: false },
  },
});
const rounds = Number(values.rounds ?? (values.smoke ? 2 : 12));
demand("nginx", "wrk");

const folder = mkdtempSync(join(tmpdir(), "orrery-access-log-"));
const keys = join(folder, "keys.json");
const reply = join(folder, "reply.json");
const token = await addKey(keys, { name: "bench", kind: "api", prefix: "svc_sk_", limit: 2_000_000_000 });
const snapshot = await snapshotOf(values.smoke ? 2000 : 20_000);
const workload = workloadsOf(snapshot).find(({ name }) => name === "world-by-id")!;

const BLOCK = 4000;
const BLOCKS = 50;

const pipe = join(folder, "pipe");
execFileSync("mkfifo", [pipe]);
const reader = spawn(...onCore(1, ["cat", pipe]), { stdio: "ignore" });

/** The plain server of each kind comes before the others of that kind. */
const SUBJECTS = [
  { name: "orrery", peer: ORRERY, settings: [] },
  { name: "all requests logged", peer: ORRERY, settings: ["--access-log"], log: join(folder, "all") },
  { name: "all requests logged, to a pipe", peer: ORRERY, settings: ["--access-log"], log: pipe },
  { name: "nginx", peer: NGINX, settings: [] },
  { name: "nginx, all requests logged", peer: NGINX, settings: ["--access-log", join(folder, "nginx")] },
];

/** CPU time that the access log adds to a request in this process, in nanoseconds, by round; lines go to a file. */
async function costOfLine(): Promise<number[]> {
  const sink = new Sink(openSync(join(folder, "alone"), "w"));
  const accessLog = new AccessLog({
    observe: () => {},
    write: (line) => sink.write(line, true),
    prefixes: { api: "svc_sk_", cli: "svcx_" },
    clientOf: readClients([]),
  });
  const found = {
    status: 200,
    headers: "Content-Length: 2\r\n",
    body: "{}",
    route: "/worlds/:id",
    keyId: "bench",
  };
  const peer = { remoteAddress: "127.0.0.1" };
  const paths = workload.requests.map(({ path }) => path);
  let bytes = 0;
  /** As many requests as a server answers before it looks at its timers, in microseconds of CPU time. */
  const take = async (isLogged: boolean): Promise<number> => {
    const before = process.cpuUsage();
    for (let at = 0; at < BLOCK; at++) {
      const ask = { method: "GET", target: paths[at % paths.length]!, now: Date.now(), peer };
      bytes += isLogged
        ? accessLog.record(ask, found, performance.now()).headers.length
        : found.headers.length;
    }
    await sink.flush();
    const { user, system } = process.cpuUsage(before);
    return user + system;
  };
  const costs: number[] = [];
  for (let round = -1; round < rounds; round++) {
    let extra = 0;
    for (let block = 0; block < BLOCKS; block++) extra += (await take(true)) - (await take(false));
    if (round >= 0) costs.push((extra * 1000) / (BLOCK * BLOCKS));
  }
  if (bytes === 0) throw new Error("nothing was measured");
  return costs;
}

const servers: Server[] = [];
try {
  for (const { peer, settings, log } of SUBJECTS) {
    servers.push(await startServer(peer, { snapshot, keys, reply, settings, log }));
    if (servers.length > 1) continue;
    const recorded = await recordReply(servers[0]!, workload, { Authorization: `Bearer ${token}` });
    writeFileSync(reply, JSON.stringify(recorded));
  }
  const paths = workload.requests.map(({ path }) => path);
  const subjects = servers.map(({ url, pid }) => ({ url, pid, paths, token }));
  const costs = await costsOf(subjects, { rounds, warmUpSeconds: values.smoke ? 1 : 3 });
  console.log(
    `${machine()}; medians of ${rounds} × 1 s of lookups in turn (lowest–highest), ${CONNECTIONS} connections.\n`,
  );
  const rows = SUBJECTS.map(({ name, peer }, at) => {
    const plain = costs[SUBJECTS.findIndex((other) => other.peer === peer)]!;
    const ratios = costs[at]!.map((cost, round) => cost / plain[round]!);
    return [name, spread(costs[at]!, 2), spread(ratios, 3)];
  });
  console.log(markdown(["", "µs of CPU a lookup", "ratio of a round"], rows));
  console.log(`\nIn one process, ns of CPU a logged request: ${spread(await costOfLine(), 0)}.`);
} finally {
  for (const server of servers) await server.stop();
  reader.kill();
  rmSync(folder, { recursive: true });
}
