/**
 * The cost of metrics: a lookup with and without them, a scrape, and the memory after many scrapes.
 *
 *     npx tsx bench/metrics.ts [--smoke] [--rounds 24] [--scrapes 10000]
 *
 * Prints microseconds of the server's CPU time a lookup, in short alternating rounds, and the rounds' ratios; milliseconds
 * of its CPU time a scrape, with 1,000 keys and requests to every route; and its memory before and after many scrapes.
 * Figures are medians, with the lowest and the highest.
 */

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { Agent, get } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ROUTES } from "../src/api/routes.ts";
import { freePort } from "../test/support/ports.ts";
import { microsOf } from "./http/load.ts";
import { ORRERY, type Server, startServer } from "./http/servers.ts";
import { workloadsOf } from "./http/workloads.ts";
import { snapshotOf } from "./support/child.ts";
import { addKey } from "./support/keys.ts";
import { CONNECTIONS, costsOf } from "./support/lookups.ts";
import { demand } from "./support/need.ts";
import { readOptions } from "./support/options.ts";
import { fixed, machine, markdown, spread, whole } from "./support/output.ts";
import { memoryOf } from "./support/process.ts";

const values = readOptions({
  options: {
    smoke: { type: "boolean", default: false },
    rounds: { type: "string" },
    scrapes: { type: "string" },
  },
});
const rounds = Number(values.rounds ?? (values.smoke ? 2 : 24));
const scrapes = Number(values.scrapes ?? (values.smoke ? 100 : 10_000));
const SCRAPE_ROUNDS = 5;
const KEYS = 1000;

demand("wrk");
const folder = mkdtempSync(join(tmpdir(), "orrery-bench-metrics-"));
const keys = join(folder, "keys.json");
const limit = 2_000_000_000;
const token = await addKey(keys, { name: "bench", kind: "api", prefix: "svc_sk_", limit });
const headers = { Authorization: `Bearer ${token}` };

/** Copies the existing key, each time with another id and hash. */
function addKeys(): void {
  const { keys: known } = JSON.parse(readFileSync(keys, "utf8")) as {
    keys: [{ id: string; sha256: string }];
  };
  const others = Array.from({ length: KEYS - 1 }, (_, at) => ({
    ...known[0],
    id: `key-${at}`,
    sha256: at.toString(16).padStart(64, "0"),
  }));
  writeFileSync(keys, JSON.stringify({ keys: [...known, ...others] }));
}

const snapshot = await snapshotOf(2000);
const workload = workloadsOf(snapshot).find(({ name }) => name === "world-by-id")!;
const paths = workload.requests.map(({ path }) => path);
const admin = await freePort();

async function start(more: readonly string[]): Promise<Server> {
  const settings = [...workload.settings, ...more];
  return await startServer(ORRERY, { snapshot, keys, reply: "", settings });
}

const agent = new Agent({ keepAlive: true, maxSockets: 1 });

/** Asks and reads the whole reply. @returns the size of the body */
function ask(url: string, method = "GET", more: Record<string, string> = {}): Promise<number> {
  return new Promise((resolve, reject) => {
    get(url, { agent, method, headers: more }, (response) => {
      let bytes = 0;
      response.on("data", (chunk: Buffer) => {
        bytes += chunk.length;
      });
      response.on("end", () => resolve(bytes));
    }).on("error", reject);
  });
}

/** Asks every route with some statuses and methods, as in a day of use. */
async function askForEverything({ url }: Server): Promise<void> {
  for (const { path } of ROUTES) {
    const target = `${url}/api/public/v1${path.replace(":id", "00000000-0000-4000-8000-000000000000")}`;
    await ask(`${target}?q=a`, "GET", headers);
    await ask(`${target}?q=a`, "HEAD", headers);
    await ask(target, "GET", { ...headers, "If-None-Match": "*" });
    await ask(target);
    await ask(target, "OPTIONS");
  }
  await ask(`${url}/nowhere`);
}

async function scrapeTimes(count: number): Promise<number> {
  let bytes = 0;
  for (let at = 0; at < count; at++) bytes = await ask(`http://127.0.0.1:${admin}/metrics`);
  return bytes;
}

try {
  addKeys();
  const servers = [await start([]), await start(["--admin", String(admin)])] as const;
  const subjects = servers.map(({ url, pid }) => ({ url, pid, paths, token }));
  const [without, withMetrics] = await costsOf(subjects, { rounds, warmUpSeconds: values.smoke ? 1 : 3 });
  const ratios = withMetrics!.map((cost, round) => cost / without![round]!);
  console.log(
    `${machine()}; medians of ${rounds} × 1 s of lookups in turn (lowest–highest), ${CONNECTIONS} connections.\n`,
  );
  console.log(
    markdown(
      ["", "µs of CPU a lookup"],
      [
        ["without `--admin`", spread(without!, 2)],
        ["with metrics", spread(withMetrics!, 2)],
        ["ratio of a round", spread(ratios, 3)],
      ],
    ),
  );
  const server = servers[1];
  await askForEverything(server);
  await scrapeTimes(Math.min(2000, scrapes));
  const before = memoryOf(server.pid, "VmRSS");
  const each: number[] = [];
  let bytes = 0;
  for (let part = 0; part < SCRAPE_ROUNDS; part++) {
    const many = Math.ceil(scrapes / SCRAPE_ROUNDS);
    const began = microsOf(server.pid);
    bytes = await scrapeTimes(many);
    each.push((microsOf(server.pid) - began) / 1000 / many);
  }
  const after = memoryOf(server.pid, "VmRSS");
  console.log(
    `\n${whole(scrapes)} scrapes of ${whole(bytes)} bytes in ${SCRAPE_ROUNDS} rounds, ${whole(KEYS)} keys:\n`,
  );
  console.log(
    markdown(
      ["", ""],
      [
        ["ms of CPU a scrape", spread(each, 2)],
        ["memory before, MB", fixed(before / 1e6, 1)],
        ["memory after, MB", fixed(after / 1e6, 1)],
      ],
    ),
  );
  for (const one of servers) await one.stop();
} finally {
  rmSync(folder, { recursive: true, force: true });
}
// The exit ends servers that a failure left running.
process.exit();
