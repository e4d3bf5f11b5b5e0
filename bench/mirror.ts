/**
 * What it takes to mirror another server.
 *
 *     npx tsx bench/mirror.ts [--smoke] [--users 2000] [--worlds 600] [--limit 1000] [--rounds 3]
 *
 * Mirrors a server with so many users and worlds without a limit, and prints the median time, the CPU time of the mirror's process, the
 * requests and the fewest that can do; then how many of them a key with so many requests a window needs, counted by a
 * mirror under that limit with windows of a few seconds in place of an hour, and how many were refused.
 */

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { generateSnapshot } from "../src/generate/generate.ts";
import { openOrrery } from "../src/mod.ts";
import { type Mirrored, openMirror } from "../src/sources/mirror/mirror.ts";
import { TIMING } from "../src/upstream/timing.ts";
import { median } from "./support/load.ts";
import { readOptions } from "./support/options.ts";
import { fixed, machine, markdown, whole } from "./support/output.ts";

const values = readOptions({
  options: {
    smoke: { type: "boolean", default: false },
    users: { type: "string" },
    worlds: { type: "string" },
    limit: { type: "string" },
    rounds: { type: "string" },
  },
});
const users = Number(values.users ?? (values.smoke ? 200 : 2000));
const worlds = Number(values.worlds ?? (values.smoke ? 60 : 600));
const limit = Number(values.limit ?? 1000);
const rounds = Number(values.rounds ?? (values.smoke ? 1 : 3));
/** Short, so that the bench does not wait for hours, and long enough for a window's requests. */
const WINDOW_SECONDS = 5;

const folder = mkdtempSync(join(tmpdir(), "orrery-bench-mirror-"));

/** What one mirror took. */
interface Taken {
  readonly found: Mirrored;
  readonly ms: number;
  readonly cpuMs: number;
  readonly refused: number;
}

/** Mirrors a server in this process; its CPU time counts, too. */
async function mirrorOnce(token: string, name: string): Promise<Taken> {
  const orrery = await openOrrery({
    snapshot: join(folder, "snapshot"),
    keys: [{ id: "bench", kind: token.startsWith("svcx_") ? "cli" : "api", token }],
    ...{ rateLimit: limit, rateWindow: WINDOW_SECONDS, watch: 0 },
  });
  let refused = 0;
  const server = createServer((request, response) => {
    response.once("finish", () => {
      if (response.statusCode === 429) refused++;
    });
    orrery.handle(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const tokenFile = join(folder, "token");
  writeFileSync(tokenFile, token);
  const mirror = await openMirror({
    from: `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/public/v1`,
    ...{ tokenFile, out: join(folder, name), searches: [], maxBytes: 1e9, timing: TIMING },
    ...{ signal: new AbortController().signal, tell: () => {} },
  });
  const before = process.cpuUsage();
  const began = performance.now();
  const found = await mirror.renew();
  const ms = performance.now() - began;
  const { user, system } = process.cpuUsage(before);
  await mirror.close();
  server.close();
  server.closeAllConnections();
  orrery.close();
  return { found, ms, cpuMs: (user + system) / 1000, refused };
}

try {
  await generateSnapshot({
    ...{ out: join(folder, "snapshot"), users, worlds, instances: Math.ceil(worlds / 2), seed: 1 },
    ...{ gzip: false, force: false },
  });
  const free: Taken[] = [];
  for (let round = 0; round < rounds; round++) free.push(await mirrorOnce("svcx_bench", `free-${round}`));
  const kept = await mirrorOnce("svc_sk_bench", "kept");
  const { collected, requests } = free[0]!.found;
  const bound = Object.values(collected!.bound).reduce((sum, count) => sum + count, 0);
  console.log(machine());
  console.log(
    markdown(
      [
        `${whole(users)} users, ${whole(collected!.worlds.length)} public worlds`,
        "seconds",
        "CPU s",
        "requests",
        "at least",
        "windows",
        "refused",
      ],
      [
        [
          "without a limit",
          fixed(median(free.map(({ ms }) => ms)) / 1000, 2),
          fixed(median(free.map(({ cpuMs }) => cpuMs)) / 1000, 2),
          ...[whole(requests), whole(bound), "–", "0"],
        ],
        [
          `${whole(limit)} a window`,
          ...["–", fixed(kept.cpuMs / 1000, 2), whole(kept.found.requests), whole(bound)],
          ...[whole(Math.ceil(kept.found.requests / limit)), whole(kept.refused)],
        ],
      ],
    ),
  );
} finally {
  rmSync(folder, { recursive: true });
}
