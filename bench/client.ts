/**
 * What the client costs beside `fetch` and `JSON.parse`.
 *
 *     npx tsx bench/client.ts [--smoke] [--items 100000] [--rounds 5]
 *
 * Iterates over a list of so many worlds, pages of 50, with `worlds.list.all()` and with a loop of plain requests that
 * does no more than what is needed, in turns; prints the medians and their ratio. The server runs on a core of its own.
 */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { addKey } from "../src/auth/keys-file.ts";
import { createClient } from "../src/client/mod.ts";
import { forkServer, pin, said, snapshotOf } from "./support/child.ts";
import { median } from "./support/load.ts";
import { readOptions } from "./support/options.ts";
import { fixed, machine, markdown, whole } from "./support/output.ts";

const values = readOptions({
  options: {
    smoke: { type: "boolean", default: false },
    items: { type: "string" },
    rounds: { type: "string" },
  },
});
const items = Number(values.items ?? (values.smoke ? 2000 : 100_000));
const rounds = Number(values.rounds ?? (values.smoke ? 1 : 5));

const folder = mkdtempSync(join(tmpdir(), "orrery-bench-client-"));
const keys = join(folder, "keys.json");
const token = await addKey(keys, { name: "bench", kind: "cli", prefix: "svcx_" });
// Some worlds are hidden.
const child = forkServer(await snapshotOf(Math.ceil((items * 4) / 0.7 / 1000) * 1000), keys);

/** Milliseconds, and CPU milliseconds of this process, an iteration took. */
async function timed(iterate: () => Promise<number>): Promise<{ ms: number; cpu: number }> {
  const start = performance.now();
  const before = process.cpuUsage();
  const seen = await iterate();
  if (seen !== items) throw new Error(`${seen} items in place of ${items}`);
  const { user, system } = process.cpuUsage(before);
  return { ms: performance.now() - start, cpu: (user + system) / 1000 };
}

try {
  const url = await said<string>(child, "url");
  pin(child.pid!, 0);
  pin(process.pid, 1);
  const base = `${new URL(url).origin}/api/public/v1`;

  async function plain(): Promise<number> {
    let seen = 0;
    while (seen < items) {
      const response = await fetch(`${base}/worlds?limit=50&offset=${seen}`, {
        headers: { authorization: `Bearer ${token}` },
      });
      const { data } = JSON.parse(await response.text()) as { data: { id: string }[] };
      for (const { id } of data) if (id !== "" && seen < items) seen++;
    }
    return seen;
  }

  const client = createClient({ baseUrl: base, token });
  async function iterated(): Promise<number> {
    let seen = 0;
    for await (const { id } of client.worlds.list.all()) {
      if (id !== "") seen++;
      if (seen === items) break;
    }
    return seen;
  }

  await timed(plain);
  await timed(iterated);
  const found = {
    plain: [] as number[],
    client: [] as number[],
    plainCpu: [] as number[],
    clientCpu: [] as number[],
  };
  for (let round = 0; round < rounds; round++) {
    const a = await timed(plain);
    const b = await timed(iterated);
    found.plain.push(a.ms);
    found.client.push(b.ms);
    found.plainCpu.push(a.cpu);
    found.clientCpu.push(b.cpu);
  }
  const [ours, theirs] = [median(found.client), median(found.plain)];
  const [oursCpu, theirsCpu] = [median(found.clientCpu), median(found.plainCpu)];
  console.log(machine());
  console.log(
    markdown(
      [`${whole(items)} items, pages of 50`, "items/s", "CPU ms", "speed", "speed by CPU"],
      [
        ["fetch and JSON.parse", whole((items / theirs) * 1000), whole(theirsCpu), "1.00", "1.00"],
        [
          "client.worlds.list.all()",
          whole((items / ours) * 1000),
          whole(oursCpu),
          fixed(theirs / ours, 2),
          fixed(theirsCpu / oursCpu, 2),
        ],
      ],
    ),
  );
} finally {
  child.kill();
  rmSync(folder, { recursive: true });
}
