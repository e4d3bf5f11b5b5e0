/**
 * What a prepared snapshot saves: a start from rows and from what `orrery build` made of them, in turns; a build beside
 * a load; and a reload of a prepared snapshot under load.
 *
 *     npx tsx bench/prepared.ts [--smoke] [--users 1000000] [--rounds 3] [--rate 2000]
 *
 * Without rounds (0) only the reload is measured.
 * Worlds are a quarter of the users, instances a twentieth. Linux only, since memory and CPU time are those of
 * /proc. With a manifest a load takes a hash of the whole file, too.
 */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { addKey } from "../src/auth/keys-file.ts";
import { ask, forkServer, NODE_OPTIONS, ROOT, said, snapshotOf, visibleWorlds } from "./support/child.ts";
import { constantLoad, type LoadResult, median } from "./support/load.ts";
import { readOptions } from "./support/options.ts";
import { fixed, machine, markdown, whole } from "./support/output.ts";
import { cpuOf, memoryOf } from "./support/process.ts";

const values = readOptions({
  options: {
    smoke: { type: "boolean", default: false },
    users: { type: "string" },
    rounds: { type: "string" },
    rate: { type: "string", default: "2000" },
  },
});
const users = Number(values.users ?? (values.smoke ? 2000 : 1_000_000));
const rounds = Number(values.rounds ?? (values.smoke ? 1 : 3));
const QUIET_MS = values.smoke ? 300 : 10_000;

function run(...args: string[]) {
  const child = spawn(process.execPath, [...NODE_OPTIONS, "bin/orrery.mjs", ...args], {
    cwd: ROOT,
    stdio: ["ignore", "pipe", "ignore"],
  });
  child.stdout.resume();
  return child;
}

interface Start {
  readonly ms: number;
  readonly cpuMs: number;
  readonly steady: number;
  readonly peak: number;
}

async function measureStart(snapshot: string): Promise<Start> {
  const began = performance.now();
  const child = run("serve", "--snapshot", snapshot, "--keys", keys, "--port", "0");
  await once(child.stdout, "data");
  const ms = performance.now() - began;
  const cpuMs = cpuOf(child.pid!);
  await sleep(QUIET_MS);
  const steady = memoryOf(child.pid!, "VmRSS");
  const peak = memoryOf(child.pid!, "VmHWM");
  child.kill("SIGTERM");
  await once(child, "exit");
  return { ms, cpuMs, steady, peak };
}

/** A command that ran to its end. */
interface Command {
  readonly seconds: number;
  /** Seconds of CPU time. */
  readonly cpu: number;
}

async function measureCommand(...args: string[]): Promise<Command> {
  const began = performance.now();
  const child = run(...args);
  // The process is gone when its exit is told, and its CPU time with it.
  let cpu = 0;
  const timer = setInterval(() => {
    cpu = cpuOf(child.pid!) / 1000;
  }, 20);
  const [status] = await once(child, "exit");
  clearInterval(timer);
  if (status !== 0) throw new Error(`${args[0]} exits with ${status}`);
  return { seconds: (performance.now() - began) / 1000, cpu };
}

async function measureReload(
  snapshot: string,
  next: () => Promise<unknown>,
): Promise<LoadResult & { ms: number }> {
  const child = forkServer(snapshot, keys);
  const url = await said<string>(child, "url");
  const headers = { Authorization: `Bearer ${token}` };
  const target = (): string => `${url}/worlds/${worlds[Math.floor(Math.random() * worlds.length)]}`;
  const began = performance.now();
  await constantLoad(target, headers, Number(values.rate), () => performance.now() - began > QUIET_MS / 2);
  await next();
  const reload = performance.now();
  let ms = Number.NaN;
  let isOver = false;
  const reloading = ask(child, "reload", "reloaded").then(async () => {
    ms = performance.now() - reload;
    await sleep(500);
    isOver = true;
  });
  const load = await constantLoad(target, headers, Number(values.rate), () => isOver);
  await reloading;
  child.kill("SIGKILL");
  await once(child, "exit");
  return { ...load, ms };
}

const own = mkdtempSync(join(tmpdir(), "orrery-bench-prepared-"));
const keys = join(own, "keys.json");
const token = await addKey(keys, { name: "bench", kind: "cli", prefix: "svcx_" });
const rows = await snapshotOf(users, "prepared");
const prepared = join(own, "prepared");
const listed = join(own, "listed");
const worlds = visibleWorlds(rows);
const file = join(prepared, "generation.orrery");
try {
  const loads: Command[] = [];
  const builds: Command[] = [];
  const starts: Record<"rows" | "prepared" | "listed", Start[]> = { rows: [], prepared: [], listed: [] };
  await measureCommand("build", rows, "--out", prepared);
  await measureCommand("build", prepared, "--out", listed, "--manifest");
  for (let round = 0; round < rounds; round++) {
    loads.push(await measureCommand("check", rows));
    builds.push(await measureCommand("build", rows, "--out", prepared));
    starts.rows.push(await measureStart(rows));
    starts.prepared.push(await measureStart(prepared));
    starts.listed.push(await measureStart(listed));
  }
  const of = (all: readonly Start[], field: keyof Start): number => median(all.map((start) => start[field]));
  const line = (name: string, field: keyof Start, unit: number, digits: number) => [
    name,
    ...[starts.rows, starts.prepared, starts.listed].map((all) => fixed(of(all, field) / unit, digits)),
  ];
  console.log(`${machine()}. ${whole(users)} users; medians of ${rounds}.\n`);
  console.log(
    markdown(
      ["start", "from rows", "prepared", "with manifest"],
      [
        line("listening after, s", "ms", 1000, 2),
        line("CPU time until then, s", "cpuMs", 1000, 2),
        line("RSS steady, MB", "steady", 1e6, 0),
        line("RSS peak, MB", "peak", 1e6, 0),
      ],
    ),
  );
  const ratio = (field: keyof Start): string => fixed(of(starts.rows, field) / of(starts.prepared, field), 1);
  const times = (field: "seconds" | "cpu"): string =>
    fixed(median(builds.map((build) => build[field])) / median(loads.map((load) => load[field])), 2);
  const peak = fixed(of(starts.prepared, "peak") / of(starts.prepared, "steady"), 2);
  const bytes = statSync(file).size;
  console.log(
    `\nFrom prepared: ${ratio("ms")} times as fast, ${ratio("cpuMs")} times less CPU time; peak RSS ${peak} × steady.`,
  );
  console.log(`A build takes ${times("seconds")} × a load (orrery check), in CPU time ${times("cpu")} ×.`);
  console.log(
    `The file has ${fixed(bytes / 1e6, 0)} MB, ${fixed(bytes / of(starts.prepared, "steady"), 2)} × RSS of a replica.`,
  );

  const manifest = join(listed, "manifest.json");
  const reload = await measureReload(listed, async () => {
    const text = readFileSync(manifest, "utf8");
    writeFileSync(manifest, text.replace(/"generation": "[^"]+"/, '"generation": "bench-2"'));
    // What looks as before would not be read again.
    utimesSync(join(listed, "generation.orrery"), new Date(), new Date());
  });
  console.log(
    `Reload under ${values.rate} lookups/s: ${fixed(reload.ms / 1000, 2)} s; p50 ${fixed(reload.p50, 1)}, p99 ` +
      `${fixed(reload.p99, 1)}, p99.9 ${fixed(reload.p999, 1)}, max ${fixed(reload.max, 1)} ms; ` +
      `${reload.failures} of ${reload.requests} failed.`,
  );
} finally {
  rmSync(own, { recursive: true });
}
