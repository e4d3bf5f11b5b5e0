/**
 * The cost of the client compared with `fetch` and `JSON.parse`.
 *
 *     npx tsx bench/client.ts [--smoke] [--items 100000] [--rounds 5]
 *
 * Iterates over a list of `--items` worlds in pages of 50, in turn with `worlds.list.all()` and with a minimal loop of
 * plain requests; prints medians, and for the rounds how many times as fast the client is. The server has its own core.
 */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createClient } from "../src/client/mod.ts";
import { forkServer, pin, said, snapshotOf } from "./support/child.ts";
import { addKey } from "./support/keys.ts";
import { readOptions } from "./support/options.ts";
import { machine, markdown, spread, whole } from "./support/output.ts";

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
// More worlds than items, as some are hidden.
const child = forkServer(await snapshotOf(Math.ceil((items * 4) / 0.7 / 1000) * 1000), keys);

/** Elapsed milliseconds, and CPU milliseconds of this process. */
interface Timed {
  readonly ms: number;
  readonly cpu: number;
}

/** The time of an iteration. */
async function timed(iterate: () => Promise<number>): Promise<Timed> {
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
  const found = { plain: [] as Timed[], client: [] as Timed[] };
  for (let round = 0; round < rounds; round++) {
    found.plain.push(await timed(plain));
    found.client.push(await timed(iterated));
  }
  const row = (name: string, all: readonly Timed[]): string[] => [
    name,
    spread(
      all.map(({ ms }) => (items / ms) * 1000),
      whole,
    ),
    spread(
      all.map(({ cpu }) => cpu),
      whole,
    ),
    ...(["ms", "cpu"] as const).map((figure) =>
      spread(
        all.map((one, round) => found.plain[round]![figure] / one[figure]),
        2,
      ),
    ),
  ];
  console.log(`${machine()}; medians of ${rounds} rounds in turns (lowest–highest).\n`);
  console.log(
    markdown(
      [`${whole(items)} items, pages of 50`, "items/s", "CPU ms", "speed", "speed by CPU"],
      [row("fetch and JSON.parse", found.plain), row("client.worlds.list.all()", found.client)],
    ),
  );
} finally {
  child.kill();
  rmSync(folder, { recursive: true });
}
