/**
 * What one peer can do to the others with bytes alone.
 *
 *     npx tsx bench/attack.ts [--smoke] [--part bytes|floods|idle] [--requests 200000] [--threads 1] [--tree DIR] [--only TEXT]
 *
 * For each kind of answer that ends a connection, and for pipelines of good
 * requests that are read or not: one connection, then 50 at once, send so many
 * requests as fast as they can; of good ones the crowd sends as many together.
 * Prints the longest wait of another client, how much resident memory grew, the
 * server's CPU time, and what the attacker was told. The server with
 * all its threads has one core, attacker and client have the other; the
 * attacker runs at a lower priority, so that the client does not wait for its core.
 *
 * Then the floods: 200 and 1,000 connections without a token, each with an endless
 * pipeline of one kind, which read everything. Prints the latency of world-by-id for
 * ten clients with a token, alone in the same minute and beside it. At the end:
 * what a connection costs that stands and asks nothing, over 10,000 of them.
 *
 * `--part` measures one of the three, `--tree` another checkout, `--only` the kinds
 * whose name contains a text. `nobody` is the same client with nobody else.
 */

import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import type { Socket } from "node:net";
import { cpus, getPriority, setPriority, tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { addKey } from "../src/auth/keys-file.ts";
import { askHonestly, dial, type Waits } from "./attack/honest.ts";
import { CLOSING, type Kind, pipelines, WITHOUT_TOKEN } from "./attack/kinds.ts";
import { type Noticed, notice, residentBytes } from "./attack/probe.ts";
import { cpuSecondsOf } from "./http/load.ts";
import { ORRERY, type Server, startServer } from "./http/servers.ts";
import { ask, pin, RUN_TYPESCRIPT, said, snapshotOf, visibleWorlds } from "./support/child.ts";
import { readOptions } from "./support/options.ts";
import { machine, markdown, whole } from "./support/output.ts";

const values = readOptions({
  options: {
    smoke: { type: "boolean", default: false },
    requests: { type: "string" },
    threads: { type: "string", default: "1" },
    tree: { type: "string" },
    only: { type: "string", default: "" },
    part: { type: "string" },
  },
});
const requests = Number(values.requests ?? (values.smoke ? 20_000 : 200_000));
const crowds = values.smoke ? [1] : [1, 50];
const ALONE_MS = values.smoke ? 300 : 3000;

const folder = mkdtempSync(join(tmpdir(), "orrery-bench-attack-"));
const keys = join(folder, "keys.json");
const token = await addKey(keys, { name: "bench", kind: "cli", prefix: "svcx_" });
const headers = { Authorization: `Bearer ${token}` };
const snapshot = await snapshotOf(2000);

function start(kind: Pick<Kind, "settings">): Promise<Server> {
  const peer = { ...ORRERY, tree: values.tree ?? ORRERY.tree };
  const settings = ["--threads", values.threads, ...(kind.settings ?? [])];
  return startServer(peer, { snapshot, keys, reply: "", settings });
}

async function attack(server: Server, kind: Kind, connections: number): Promise<void> {
  const file = fileURLToPath(new URL("./attack/attacker.ts", import.meta.url));
  // Good requests are work, of which a crowd does not get more done.
  const each = CLOSING.includes(kind) ? requests : Math.ceil(requests / connections);
  const args = [new URL(server.url).port, String(connections), String(each), JSON.stringify(kind)];
  const attacker = fork(file, args, { execArgv: RUN_TYPESCRIPT });
  await said(attacker, "ready");
  setPriority(attacker.pid!, getPriority() + 10);
  let over: { answers: number; resets: number } | undefined;
  void said<{ answers: number; resets: number }>(attacker, "over").then((result) => {
    over = result;
  });
  const cpuBefore = cpuSecondsOf(server.pid);
  attacker.send("attack");
  const noticed = await notice(server, headers, () => over !== undefined);
  attacker.kill("SIGKILL");
  await once(attacker, "exit");
  const cpu = (cpuSecondsOf(server.pid) - cpuBefore).toFixed(2);
  note(kind.name, connections, noticed, [cpu, whole(over!.answers), whole(over!.resets)]);
}

const rows: string[][] = [];

/** Adds a line to the table. */
function note(
  name: string,
  connections: number,
  { longest, lost, grown }: Noticed,
  more: readonly string[],
): void {
  rows.push([
    name,
    connections === 0 ? "" : whole(connections),
    longest.toFixed(1),
    (grown / 2 ** 20).toFixed(1),
    whole(lost),
    ...more,
  ]);
}

async function measureBytes(): Promise<void> {
  const all = [...CLOSING, ...pipelines(token)].filter(({ name }) => name.includes(values.only));
  const kinds = values.smoke ? all.filter((_, at) => at % 5 === 0) : all;
  for (const kind of kinds) {
    const server = await start(kind);
    const end = performance.now() + ALONE_MS;
    const alone = await notice(server, headers, () => performance.now() > end);
    if (kind === kinds[0]) note("nobody", 0, alone, ["", "", ""]);
    for (const connections of crowds) await attack(server, kind, connections);
    await server.stop();
  }
  console.log(`\n${whole(requests)} requests a connection:\n`);
  const head = [
    "what is sent",
    "connections",
    "longest wait, ms",
    "memory, +MiB",
    "lost",
    "CPU, s",
    "answers",
    "resets",
  ];
  console.log(markdown(head, rows));
}

const worlds = visibleWorlds(snapshot);

/** World by id, for some time. */
function lookUp(server: Server, ms: number): Promise<Waits> {
  const end = performance.now() + ms;
  const request = (at: number): string =>
    `GET /api/public/v1/worlds/${worlds[(at * 7919) % worlds.length]} HTTP/1.1\r\n` +
    `Host: a\r\nAuthorization: ${headers.Authorization}\r\n\r\n`;
  return askHonestly(Number(new URL(server.url).port), request, () => performance.now() > end);
}

/** One line of the table of floods. */
async function flood(server: Server, small: string, connections: number): Promise<string[]> {
  const quiet = await lookUp(server, ALONE_MS);
  const before = residentBytes(server.pid);
  const file = fileURLToPath(new URL("./attack/endless.ts", import.meta.url));
  const args = [new URL(server.url).port, String(connections), small];
  const crowd = fork(file, args, { execArgv: RUN_TYPESCRIPT });
  await said(crowd, "crowded");
  setPriority(crowd.pid!, getPriority() + 10);
  await lookUp(server, ALONE_MS / 6);
  const received = await ask<number>(crowd, "count", "received");
  const [cpu, began] = [cpuSecondsOf(server.pid), performance.now()];
  const beside = await lookUp(server, ALONE_MS * 2);
  const share = (cpuSecondsOf(server.pid) - cpu) / ((performance.now() - began) / 1000);
  const bytes = (await ask<number>(crowd, "count", "received")) - received;
  const rate = bytes / (performance.now() - began) / 1000;
  const grown = residentBytes(server.pid) - before;
  crowd.kill("SIGKILL");
  await once(crowd, "exit");
  return [
    ...[quiet.p99, beside.p50, beside.p99, beside.longest].map((ms) => ms.toFixed(1)),
    whole(quiet.lost + beside.lost),
    (grown / 2 ** 20).toFixed(1),
    share.toFixed(2),
    rate.toFixed(1),
  ];
}

async function measureFloods(): Promise<void> {
  const lines: string[][] = [];
  for (const { name, small } of WITHOUT_TOKEN.filter(({ name }) => name.includes(values.only))) {
    const server = await start({});
    for (const connections of [200, 1000]) {
      lines.push([name, whole(connections), ...(await flood(server, small, connections))]);
    }
    await server.stop();
  }
  const head = ["endless", "connections", "p99 alone, ms", "p50", "p99", "longest", "lost", "memory, +MiB"];
  console.log("\nWorld by id beside endless pipelines without a token:\n");
  console.log(markdown([...head, "server's CPU", "MB/s"], lines));
}

/** Resident memory of connections that stand, before and after one request on each. */
async function measureIdle(): Promise<void> {
  const count = values.smoke ? 500 : 10_000;
  const server = await start({});
  const port = Number(new URL(server.url).port);
  await lookUp(server, ALONE_MS);
  const lines: string[][] = [];
  const before = residentBytes(server.pid);
  const show = (name: string): void => {
    const bytes = (residentBytes(server.pid) - before) / count;
    lines.push([name, (bytes / 1024).toFixed(2)]);
  };
  const sockets: Socket[] = [];
  while (sockets.length < count) {
    sockets.push(...(await Promise.all(Array.from({ length: 100 }, () => dial(port)))));
  }
  await sleep(ALONE_MS);
  show("that sent nothing");
  const request = `GET /api/public/v1/stats HTTP/1.1\r\nHost: a\r\nAuthorization: ${headers.Authorization}\r\n\r\n`;
  for (const socket of sockets) {
    socket.write(request);
    await once(socket, "data");
  }
  await sleep(ALONE_MS);
  show("after one request each");
  const beside = await lookUp(server, ALONE_MS);
  lines.push(["others beside them, p99, ms", beside.p99.toFixed(1)]);
  for (const socket of sockets) socket.destroy();
  await server.stop();
  console.log(`\n${whole(count)} idle connections, KiB of the server's memory each:\n`);
  console.log(markdown(["connections", "KiB"], lines));
}

const PARTS = { bytes: measureBytes, floods: measureFloods, idle: measureIdle };

if (cpus().length > 1) pin(process.pid, 1);
console.log(`${machine()}; --threads ${values.threads}.`);
try {
  for (const [name, measure] of Object.entries(PARTS)) {
    if (values.part === undefined || values.part === name) await measure();
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
// Servers that a failure left running end with this process.
process.exit();
