/**
 * What one peer can do to the others with bytes alone.
 *
 *     npx tsx bench/attack.ts [--smoke] [--requests 200000] [--threads 1] [--tree DIR] [--only TEXT]
 *
 * For each kind of answer that ends a connection, and for pipelines of good
 * requests that are read or not: one connection, then 50 at once, send so many
 * requests as fast as they can; of good ones the crowd sends as many together.
 * Prints the longest wait of another client, how much resident memory grew, the
 * server's CPU time, and what the attacker was told. The server with
 * all its threads has one core, attacker and client have the other; the
 * attacker runs at a lower priority, so that the client does not wait for its core.
 * `--tree` measures another checkout, `--only` the kinds whose name contains a
 * text. `alone` is the same client with nobody else.
 */

import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { cpus, setPriority, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { addKey } from "../src/cli/keysfile.ts";
import { CLOSING, type Kind, pipelines } from "./attack/kinds.ts";
import { type Noticed, notice } from "./attack/probe.ts";
import { cpuSecondsOf } from "./http/load.ts";
import { ORRERY, type Server, startServer } from "./http/servers.ts";
import { pin, RUN_TYPESCRIPT, said, snapshotOf } from "./support/child.ts";
import { readOptions } from "./support/options.ts";
import { machine, markdown, whole } from "./support/output.ts";

const values = readOptions({
  options: {
    smoke: { type: "boolean", default: false },
    requests: { type: "string" },
    threads: { type: "string", default: "1" },
    tree: { type: "string" },
    only: { type: "string", default: "" },
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
  setPriority(attacker.pid!, 10);
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

if (cpus().length > 1) pin(process.pid, 1);
const all = [...CLOSING, ...pipelines(token)].filter(({ name }) => name.includes(values.only));
const kinds = values.smoke ? all.filter((_, at) => at % 5 === 0) : all;
try {
  for (const kind of kinds) {
    const server = await start(kind);
    const end = performance.now() + ALONE_MS;
    const alone = await notice(server, headers, () => performance.now() > end);
    if (kind === kinds[0]) note("nobody", 0, alone, ["", "", ""]);
    for (const connections of crowds) await attack(server, kind, connections);
    await server.stop();
  }
  console.log(`${machine()}; ${whole(requests)} requests a connection, --threads ${values.threads}.\n`);
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
} finally {
  rmSync(folder, { recursive: true, force: true });
}
// Servers that a failure left running end with this process.
process.exit();
