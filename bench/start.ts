/**
 * From `npm start` to a served request, and the load of the sample.
 *
 *     npx tsx bench/start.ts [--smoke]
 */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { indexStore } from "../src/search/search.ts";
import { loadSnapshot } from "../src/snapshot/load.ts";
import { median } from "./support/load.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const ROUNDS = process.argv.includes("--smoke") ? 1 : 5;

/** Milliseconds until the curl line was printed, and until its request was answered. */
async function start(): Promise<{ printed: number; served: number }> {
  const began = performance.now();
  const child = spawn("npm", ["start", "--silent"], {
    cwd: ROOT,
    env: { ...process.env, ORRERY_PORT: "0" },
    stdio: ["ignore", "pipe", "ignore"],
    detached: true,
  });
  let output = "";
  for await (const chunk of child.stdout!) {
    output += String(chunk);
    if (output.includes("curl")) break;
  }
  const printed = performance.now() - began;
  const [, token, url] = /Bearer ([^']+)' '([^']+)'/.exec(output)!;
  const response = await fetch(url!, { headers: { Authorization: `Bearer ${token}` } });
  if (response.status !== 200) throw new Error(`status ${response.status}`);
  await response.text();
  const served = performance.now() - began;
  process.kill(-child.pid!, "SIGTERM");
  await once(child, "exit");
  return { printed, served };
}

/** Milliseconds to load and index the sample in a warm process. */
async function load(): Promise<number> {
  const began = performance.now();
  const loaded = await loadSnapshot(`${ROOT}data/sample`);
  if (!loaded.ok) throw new Error(loaded.problems.join("\n"));
  indexStore(loaded.store);
  return performance.now() - began;
}

const starts: { printed: number; served: number }[] = [];
const loads: number[] = [];
for (let round = 0; round < ROUNDS; round++) {
  starts.push(await start());
  loads.push(await load());
}
console.log(`node ${process.version}, medians of ${ROUNDS}`);
console.log(`npm start to the curl line     ${median(starts.map((s) => s.printed)).toFixed(0)} ms`);
console.log(`npm start to a served request  ${median(starts.map((s) => s.served)).toFixed(0)} ms`);
console.log(
  `sample: load and index         ${median(loads).toFixed(0)} ms (first, cold: ${loads[0]!.toFixed(0)} ms)`,
);
