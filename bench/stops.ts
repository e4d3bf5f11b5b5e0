/**
 * Whether a stop loses requests.
 *
 *     npx tsx bench/stops.ts [--smoke] [--stops 40] [--threads N] [--tree DIR]
 *
 * Stops a server so many times with one, two and four threads while keep-alive
 * clients ask as fast as they can and come back at once when they are told to
 * leave. Prints how many requests were answered, how many were sent whole and
 * not answered, and how long the stops took. More than one thread needs a Node
 * whose servers can share a port.
 */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { addKey } from "../src/auth/keys-file.ts";
import { whyNoSharing } from "../src/http/port.ts";
import { nodeOptionsOf, ROOT, snapshotOf } from "./support/child.ts";
import { median } from "./support/load.ts";
import { readOptions } from "./support/options.ts";
import { machine, markdown, whole } from "./support/output.ts";
import { comeBack, type Outcome } from "./support/returning.ts";

const values = readOptions({
  options: {
    smoke: { type: "boolean", default: false },
    stops: { type: "string" },
    threads: { type: "string" },
    tree: { type: "string", default: ROOT },
  },
});
const stops = Number(values.stops ?? (values.smoke ? 1 : 40));
const CLIENTS = 48;
/** How long the load lasts before a stop. */
const LOAD_MS = 300;

const folder = mkdtempSync(join(tmpdir(), "orrery-bench-stops-"));
const keys = join(folder, "keys.json");
const token = await addKey(keys, { name: "bench", kind: "cli", prefix: "svcx_" });
const snapshot = await snapshotOf(2000);

async function stopOnce(threads: number): Promise<Outcome & { readonly ms: number }> {
  const fixed = [
    "--snapshot",
    snapshot,
    "--keys",
    keys,
    "--port",
    "0",
    "--watch",
    "0",
    "--log-level",
    "error",
  ];
  const args = [...nodeOptionsOf(values.tree), "bin/orrery.mjs", "serve", ...fixed];
  const child = spawn(process.execPath, [...args, "--threads", String(threads)], {
    cwd: values.tree,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = once(child, "exit");
  const [line] = (await once(createInterface({ input: child.stdout }), "line")) as [string];
  const port = Number(/:(\d+)\//.exec(line)![1]);
  const clients = comeBack(port, token, CLIENTS);
  await new Promise((resolve) => setTimeout(resolve, LOAD_MS));
  const began = performance.now();
  child.kill("SIGTERM");
  const [status] = (await ended) as [number];
  const ms = performance.now() - began;
  const outcome = await clients.stop();
  if (status !== 0) throw new Error(`the server ended with ${status}`);
  return { ...outcome, ms };
}

console.log(`${machine()}; ${stops} stops each.\n`);
const rows: string[][] = [];
const obstacle = whyNoSharing();
if (obstacle !== undefined) console.log(`More than one thread is left out: it ${obstacle}.\n`);
try {
  const asked = values.threads === undefined ? [1, 2, 4] : [Number(values.threads)];
  for (const threads of obstacle === undefined ? asked : [1]) {
    const outcomes: Awaited<ReturnType<typeof stopOnce>>[] = [];
    for (let at = 0; at < stops; at++) outcomes.push(await stopOnce(threads));
    const sum = (count: (outcome: Outcome) => number): number =>
      outcomes.reduce((before, outcome) => before + count(outcome), 0);
    const causes = outcomes.flatMap((outcome) => outcome.causes).join(", ");
    rows.push([
      String(threads),
      whole(sum(({ answered }) => answered)),
      `${sum(({ lost }) => lost)} ${causes}`.trim(),
      whole(median(outcomes.map(({ ms }) => ms))),
    ]);
  }
  console.log(markdown(["threads", "requests", "lost", "ms a stop"], rows));
} finally {
  rmSync(folder, { recursive: true, force: true });
}
