/**
 * orrery against its peers, over HTTP.
 *
 *     npx tsx bench/http.ts                     the main workloads, three to four minutes
 *     npx tsx bench/http.ts --full              all workloads, all peers
 *     npx tsx bench/http.ts --only list-20      one workload
 *     npx tsx bench/http.ts --against REF       this tree against another commit of it
 *     npx tsx bench/http.ts --guard             fails when orrery falls behind bare node:http
 *     npx tsx bench/http.ts --smoke             a short check that all of it works
 *
 * Further: --users N, --rounds N, --seconds N (of a run), --json FILE (the figures of the chart), --peers TEXT,TEXT (only
 * orrery and peers with one of these texts in their names), --load wrk (instead of autocannon, which cannot keep the
 * quickest servers busy), --keep (keeps servers for all workloads with the same settings; else each workload starts new
 * ones).
 *
 * Progress goes to standard error, the table to standard output.
 *
 * The figure that counts is requests per second of the server's CPU time. Server and load are pinned to a core each, but
 * these may be two threads of one core, shared with other programs: elapsed time depends on them as much as on the
 * server. A run with an error, a timeout or a status other than the workload's is void, and makes the bench fail.
 */

import { existsSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { EACH, flawOf, type LoadJob, type Run, runLoad } from "./http/load.ts";
import { checkReplies, recordReply } from "./http/replies.ts";
import {
  type Conditions,
  conditionsLine,
  markdownTable,
  ratiosOf,
  textTable,
  toJson,
  type WorkloadResult,
} from "./http/report.ts";
import {
  BARE,
  canAnswer,
  NGINX,
  needsOf,
  ORRERY,
  PEERS,
  type Peer,
  PINNED,
  type Server,
  type Start,
  startServer,
} from "./http/servers.ts";
import { type Asker, GUARD, MAIN, SMOKE, type Workload, workloadsOf } from "./http/workloads.ts";
import { runWrk } from "./http/wrk.ts";
import { ROOT, snapshotOf } from "./support/child.ts";
import { addKey } from "./support/keys.ts";
import { median } from "./support/load.ts";
import { demand } from "./support/need.ts";
import { readOptions } from "./support/options.ts";
import { commitOf, git, saveJson } from "./support/output.ts";

/** Least requests per CPU second that the guard accepts, as a share of bare node:http's. */
const FLOORS: Readonly<Record<(typeof GUARD)[number], number>> = { "world-by-id": 0.65, "list-20": 0.6 };

const CONNECTIONS = 64;

const values = readOptions({
  options: {
    full: { type: "boolean", default: false },
    smoke: { type: "boolean", default: false },
    guard: { type: "boolean", default: false },
    only: { type: "string" },
    against: { type: "string" },
    users: { type: "string" },
    rounds: { type: "string" },
    seconds: { type: "string" },
    peers: { type: "string" },
    keep: { type: "boolean", default: false },
    json: { type: "string" },
    load: { type: "string", default: "autocannon" },
  },
});

const users = Number(values.users ?? (values.smoke ? 2000 : 20_000));
const rounds = Number(values.rounds ?? (values.smoke ? 1 : 5));
const seconds = Number(values.seconds ?? (values.guard ? 0.5 : values.full ? 2 : 1));
const warmUpRequests = values.smoke ? 1000 : 20_000;
if (!(users >= 100 && rounds >= 1 && seconds > 0))
  throw new RangeError("--users from 100, --rounds from 1, --seconds above 0");

const folder = mkdtempSync(join(tmpdir(), "orrery-bench-http-"));
const keys = join(folder, "keys.json");
const tokens: Record<Asker, string> = { key: "", nobody: "", stranger: "", limited: "" };
/** Reasons of void runs. */
const flaws: string[] = [];

/** Two keys are enough for all servers: each counts in its own memory. */
async function makeKeys(): Promise<void> {
  const prefix = "svc_sk_";
  tokens.key = await addKey(keys, { name: "bench", kind: "api", prefix, limit: 2_000_000_000 });
  tokens.limited = await addKey(keys, { name: "flood", kind: "api", prefix, limit: 1 });
  tokens.stranger = prefix + EACH;
}

function headersFor({ asker }: Workload): Record<string, string> {
  return asker === "nobody" ? {} : { Authorization: `Bearer ${tokens[asker]}` };
}

/** Checks out another commit in a temporary folder, with the packages of this tree. */
function checkOut(ref: string): Peer {
  const tree = join(folder, "against");
  git("worktree", "add", "--detach", tree, ref);
  symlinkSync(join(ROOT, "node_modules"), join(tree, "node_modules"));
  return { name: ref, tree, file: "", recorded: false };
}

function cleanUp(): void {
  if (existsSync(join(folder, "against"))) git("worktree", "remove", "--force", join(folder, "against"));
  rmSync(folder, { recursive: true, force: true });
}

/** Servers kept across workloads, by name and settings. */
const kept = new Map<string, Server>();

/** Starts a peer, or reuses one that makes its replies from the data. */
async function startPeer(peer: Peer, start: Start): Promise<Server> {
  const name = [peer.name, ...(peer.tree === undefined ? [] : start.settings)].join(" ");
  const server = kept.get(name) ?? (await startServer(peer, start));
  if (values.keep && !peer.recorded) kept.set(name, server);
  return server;
}

/** Starts every peer, orrery first, and compares the others' replies with orrery's. */
async function startAll(peers: readonly Peer[], workload: Workload, snapshot: string): Promise<Server[]> {
  const headers = headersFor(workload);
  const reply = join(folder, "reply.json");
  const start = { snapshot, keys, reply, settings: workload.settings };
  const [first, ...others] = peers;
  const orrery = await startPeer(first!, start);
  const recorded = await recordReply(orrery, workload, headers);
  writeFileSync(reply, JSON.stringify(recorded));
  const servers = [orrery];
  for (const peer of others) {
    const server = await startPeer(peer, start);
    servers.push(server);
    await checkReplies(orrery, server, workload, headers, recorded);
  }
  return servers;
}

async function runOnce(server: Server, workload: Workload, round: number): Promise<Run | undefined> {
  const job: LoadJob = {
    url: server.url,
    pid: server.pid,
    paths: workload.requests.map(({ path }) => path),
    headers: headersFor(workload),
    unique: workload.asker === "stranger",
    connections: CONNECTIONS,
    warmUpRequests: round === 0 ? warmUpRequests : 0,
    seconds,
  };
  const run = values.load === "wrk" ? await runWrk(job, workload.status) : await runLoad(job);
  const flaw = flawOf(run, workload.status);
  if (flaw === undefined) return run;
  flaws.push(`${workload.name}, ${server.peer.name}, round ${round + 1}: ${flaw}`);
  return undefined;
}

/** Measures a workload on fresh servers, or kept ones. Each round begins with another one, every other round goes backwards. */
async function measure(
  workload: Workload,
  peers: readonly Peer[],
  snapshot: string,
): Promise<WorkloadResult> {
  const able = peers.filter((peer) => canAnswer(peer, workload.status));
  const servers = await startAll(able, workload, snapshot);
  const measured = servers.map(({ peer, form }) => ({
    peer: peer.name,
    form,
    runs: [] as (Run | undefined)[],
  }));
  for (let round = 0; round < rounds; round++) {
    const order = servers.map((_, at) => (at + round) % servers.length);
    for (const at of round % 2 === 0 ? order : order.reverse()) {
      measured[at]!.runs.push(await runOnce(servers[at]!, workload, round));
    }
  }
  const staying = new Set(kept.values());
  await Promise.all(servers.filter((server) => !staying.has(server)).map((server) => server.stop()));
  return { workload: workload.name, measured };
}

function pickWorkloads(all: readonly Workload[]): Workload[] {
  const named = (names: readonly string[]): Workload[] => all.filter(({ name }) => names.includes(name));
  if (values.only !== undefined) {
    const picked = named(values.only.split(","));
    if (picked.length > 0) return picked;
    throw new Error(`--only takes ${all.map(({ name }) => name).join(", ")}`);
  }
  if (values.full) return [...all];
  return named(values.guard ? GUARD : values.smoke ? SMOKE : MAIN);
}

function pickPeers(): Peer[] {
  if (values.against !== undefined) return [{ ...ORRERY, name: "this tree" }, checkOut(values.against)];
  if (values.guard || (values.smoke && values.peers === undefined)) return [ORRERY, BARE];
  if (values.peers === undefined) return PEERS.filter((peer) => values.full || peer !== NGINX);
  const texts = values.peers.split(",");
  return PEERS.filter((peer) => peer === ORRERY || texts.some((text) => peer.name.includes(text)));
}

/** Whether a workload passes the guard. */
function isAboveFloor({ workload, measured: [orrery, bare] }: WorkloadResult): boolean {
  const floor = FLOORS[workload as (typeof GUARD)[number]];
  const ratio = median(ratiosOf(orrery!, bare!));
  const passed = ratio >= floor;
  console.error(
    `${workload}: ${ratio.toFixed(2)} of bare node:http, ${passed ? "above" : "UNDER"} the floor of ${floor}\n`,
  );
  return passed;
}

async function main(): Promise<boolean> {
  const peers = pickPeers();
  demand(...needsOf(peers), ...(values.load === "wrk" ? (["wrk"] as const) : []));
  const snapshot = await snapshotOf(users);
  await makeKeys();
  const workloads = pickWorkloads(workloadsOf(snapshot));
  const conditions: Conditions = {
    node: process.version,
    cpu: `${cpus().length} × ${cpus()[0]!.model.trim()}`,
    commit: commitOf(),
    users,
    rounds,
    seconds,
    load: values.load,
    connections: CONNECTIONS,
    pinned: PINNED,
  };
  console.error(`${conditionsLine(conditions)}\n`);
  const results: WorkloadResult[] = [];
  let passed = true;
  for (const workload of workloads) {
    const result = await measure(workload, peers, snapshot);
    results.push(result);
    console.error(`${textTable(result)}\n`);
    if (values.guard) passed = isAboveFloor(result) && passed;
  }
  console.log(markdownTable(results, conditions));
  for (const flaw of flaws) console.error(`void: ${flaw}`);
  saveJson(values.json, toJson(results, conditions));
  return passed && flaws.length === 0;
}

process.on("SIGINT", () => {
  cleanUp();
  process.exit(130);
});
try {
  if (!(await main())) process.exitCode = 1;
} catch (error) {
  console.error((error as Error).message);
  process.exitCode = 1;
} finally {
  cleanUp();
}
// The exit ends servers that a failure left running.
process.exit();
