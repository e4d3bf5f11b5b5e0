/**
 * What requests of the admin listener cost the thread that serves, with many keys.
 *
 *     npx tsx bench/admin.ts [--keys 100000] [--smoke]
 *
 * Prints milliseconds of CPU time a request. Client and server share a process, so what a request to `/livez` costs
 * both is printed first and subtracted from the others; they are asked in turns.
 */

import { createHash } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { Agent, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { PROGRAM } from "../src/features.ts";
import { DEFAULT_HTTP } from "../src/http/server.ts";
import { startServer } from "../src/server/server.ts";
import { DEFAULTS } from "../test/support/options.ts";
import { median } from "./support/load.ts";
import { readOptions } from "./support/options.ts";
import { machine, markdown } from "./support/output.ts";

const { smoke, keys: given } = readOptions({
  options: {
    smoke: { type: "boolean", default: false },
    keys: { type: "string", default: "100000" },
  },
});
const KEYS = smoke ? 1000 : Number(given);
const ROUNDS = smoke ? 3 : 40;
/** Longer than a status is told again. */
const PAUSE_MS = 210;
const SEARCHES = "/explain?target=/api/public/v1";
const PATHS = [
  "/livez",
  "/readyz",
  "/status",
  `${SEARCHES}/worlds`,
  `${SEARCHES}/worlds/search?q=the`,
  `${SEARCHES}/users/search?q=a`,
];

const folder = mkdtempSync(join(tmpdir(), "orrery-bench-admin-"));
process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
const keys = Array.from({ length: KEYS }, (_, key) => ({
  id: `key_${key}`,
  kind: "api",
  name: `key ${key}`,
  sha256: createHash("sha256").update(`svc_sk_${key}`).digest("hex"),
  scopes: [],
  limit: null,
  active: true,
  expiresAt: null,
  createdAt: "2026-01-01T00:00:00Z",
}));
writeFileSync(join(folder, "keys.json"), JSON.stringify({ keys }));

const server = await startServer({
  features: PROGRAM.features,
  settings: {
    ...DEFAULTS,
    ...{ snapshot: "data/sample", keys: join(folder, "keys.json"), port: 0, docs: false, watch: 0 },
    ...{ rateWindow: 31_536_000, searchCacheBytes: 2 ** 20 },
  },
  http: DEFAULT_HTTP,
  threads: false,
  admin: { address: { host: "127.0.0.1", port: 0 } },
  observe() {},
});
const agent = new Agent({ keepAlive: true, maxSockets: 1 });

function get(url: string, headers: Record<string, string> = {}): Promise<number> {
  return new Promise((resolve, reject) => {
    const asked = request(url, { agent, headers }, (response) => {
      response.resume().on("end", () => resolve(response.statusCode!));
    });
    asked.on("error", reject).end();
  });
}

// Every key has counted something.
for (let at = 0; at < Math.min(KEYS, 5000); at++) {
  const key = Math.floor((at * KEYS) / Math.min(KEYS, 5000));
  const status = await get(`${server.url}/stats`, { authorization: `Bearer svc_sk_${key}` });
  if (status !== 200) throw new Error(`status ${status}`);
}

const times = new Map(PATHS.map((path) => [path, [] as number[]]));
for (let round = 0; round <= ROUNDS; round++) {
  await sleep(PAUSE_MS);
  for (const [path, all] of times) {
    const before = process.cpuUsage();
    const status = await get(server.adminUrl!.slice(0, -1) + path);
    const { user, system } = process.cpuUsage(before);
    if (status !== 200) throw new Error(`${path}: status ${status}`);
    // The first round warms up.
    if (round > 0) all.push((user + system) / 1000);
  }
}
await server.stop("end");

const base = median(times.get("/livez")!);
console.log(`${machine()}; ${KEYS} keys, medians of ${ROUNDS}, milliseconds of CPU time a request.\n`);
console.log(
  markdown(
    ["", "ms"],
    [...times].map(([path, all]) =>
      path === "/livez"
        ? ["`/livez`, client included", base.toFixed(2)]
        : [`\`${path}\`, above that`, Math.max(0, median(all) - base).toFixed(2)],
    ),
  ),
);
process.exit(0);
