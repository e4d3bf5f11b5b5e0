/**
 * The longest wait of a request while one key of a large keys file changes, in the built program, beside the longest wait
 * without a change, and that wait a key. Requests are sent one at a time, 500 a second.
 *
 *     npm run build -- --program
 *     npx tsx bench/keys.ts [--smoke] [--keys 300000] [--rounds 5] [--threads 2] [--all]
 *
 * With `--all` every key changes.
 */

import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import http from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { hashToken, type KeyRecord } from "../src/auth/keys.ts";
import { NODE_OPTIONS, pin, ROOT, snapshotOf } from "./support/child.ts";
import { readOptions } from "./support/options.ts";
import { machine, markdown, spread } from "./support/output.ts";

const values = readOptions({
  options: {
    smoke: { type: "boolean", default: false },
    keys: { type: "string" },
    rounds: { type: "string" },
    threads: { type: "string" },
    all: { type: "boolean", default: false },
  },
});
const count = Number(values.keys ?? (values.smoke ? 2000 : 300_000));
const rounds = Number(values.rounds ?? (values.smoke ? 1 : 5));
const GAP_MS = 2;
const REST_MS = values.smoke ? 500 : 4000;
const TOKEN = "svc_sk_0";

const records = Array.from(
  { length: count },
  (_, at): KeyRecord => ({
    id: `key_${randomBytes(6).toString("hex")}`,
    kind: "api",
    name: `client ${at}`,
    sha256: hashToken(`svc_sk_${at}`),
    scopes: ["read:worlds", "read:users"],
    limit: 1_000_000,
    active: true,
    expiresAt: null,
    createdAt: "2026-01-01T00:00:00.000Z",
  }),
);

function write(file: string): void {
  writeFileSync(`${file}.new`, JSON.stringify({ keys: records }, null, 2));
  renameSync(`${file}.new`, file);
}

const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });

/** Milliseconds until the answer. */
async function ask(url: string): Promise<number> {
  const began = performance.now();
  const request = http.get(`${url}/worlds?limit=1`, { agent, headers: { authorization: `Bearer ${TOKEN}` } });
  const [response] = (await once(request, "response")) as [http.IncomingMessage];
  response.resume();
  await once(response, "end");
  if (response.statusCode !== 200) throw new Error(`status ${response.statusCode}`);
  return performance.now() - began;
}

/** The longest wait among requests that are sent until a promise settles. */
async function longestWait(url: string, until: Promise<unknown>): Promise<number> {
  let isOver = false;
  void until.finally(() => {
    isOver = true;
  });
  let longest = 0;
  for (let next = performance.now(); !isOver; next += GAP_MS) {
    const early = next - performance.now();
    if (early > 0) await sleep(early);
    longest = Math.max(longest, await ask(url));
  }
  return longest;
}

const folder = mkdtempSync(join(tmpdir(), "orrery-keys-"));
const file = join(folder, "keys.json");
write(file);
const threads = values.threads === undefined ? [] : ["--threads", values.threads];
const server = spawn(
  process.execPath,
  [
    ...[...NODE_OPTIONS, join(ROOT, "dist/main.js"), "serve", "--snapshot", await snapshotOf(2000)],
    ...["--keys", file, "--port", "0", "--log-format", "json", ...threads],
  ],
  { cwd: ROOT, stdio: ["ignore", "pipe", "pipe"] },
);
try {
  let heard = (): void => {};
  createInterface({ input: server.stderr }).on("line", (line) => {
    if (line.includes('"keys-loaded"')) heard();
  });
  const [said] = (await once(server.stdout, "data")) as [Buffer];
  const url = /http:\S+/.exec(String(said))![0];
  pin(server.pid!, 0);
  pin(process.pid, 1);
  await longestWait(url, sleep(REST_MS));
  const quiet: number[] = [];
  const changing: number[] = [];
  for (let round = 0; round < rounds; round++) {
    quiet.push(await longestWait(url, sleep(REST_MS)));
    for (const at of values.all ? records.keys() : [(round * 7919) % count])
      records[at] = { ...records[at]!, name: `changed ${round}` };
    const loaded = new Promise<void>((resolve) => {
      heard = resolve;
    });
    write(file);
    // The old keys become garbage after the swap.
    changing.push(await longestWait(url, Promise.all([loaded.then(() => sleep(1000)), sleep(REST_MS)])));
    console.error(
      `round ${round}: quiet ${quiet.at(-1)!.toFixed(1)} ms, changing ${changing.at(-1)!.toFixed(1)} ms`,
    );
  }
  console.log(`${machine()}; longest waits of ${rounds} rounds: median (lowest–highest).\n`);
  console.log(
    markdown(
      ["keys", "no change, ms", values.all ? "all keys change, ms" : "one key changes, ms", "µs a key"],
      [
        [
          String(count),
          spread(quiet, 1),
          spread(changing, 1),
          spread(
            changing.map((ms) => (ms * 1000) / count),
            2,
          ),
        ],
      ],
      1,
    ),
  );
} finally {
  server.kill("SIGTERM");
  agent.destroy();
  rmSync(folder, { recursive: true });
}
