/**
 * The cost of a reload in the built program, by kind of change: the time from the look that found the change settled
 * until it is served, and the CPU time of the whole process.
 *
 *     npm run build -- --program
 *     npx tsx bench/reload.ts [--smoke] [--sizes 1000000] [--rounds 5] [--only instances,statistics]
 *
 * Worlds are a quarter of the users, instances a twentieth. A change replaces a file by rename: with one row less, or with
 * the same order of fields and one text changed.
 */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { linkSync, mkdtempSync, readFileSync, renameSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { ROW_FILES, type RowFile } from "../src/model/model.ts";
import { NODE_OPTIONS, ROOT, snapshotOf } from "./support/child.ts";
import { addKey } from "./support/keys.ts";
import { readOptions } from "./support/options.ts";
import { machine, markdown, spread, whole } from "./support/output.ts";
import { cpuOf, memoryOf } from "./support/process.ts";

const values = readOptions({
  options: {
    smoke: { type: "boolean", default: false },
    sizes: { type: "string" },
    rounds: { type: "string" },
    only: { type: "string" },
  },
});
const sizes = (values.sizes ?? (values.smoke ? "2000" : "1000000")).split(",").map(Number);
const rounds = Number(values.rounds ?? (values.smoke ? 1 : 5));
/** After a swap the process frees the old generation's memory; that is part of the cost. */
const REST_MS = values.smoke ? 1200 : 2000;

/** Replaces a file by a changed one. */
function rewrite(folder: string, table: RowFile, change: (bytes: Buffer) => Buffer): void {
  const file = join(folder, table);
  const bytes = change(readFileSync(file));
  writeFileSync(`${file}.new`, bytes);
  renameSync(`${file}.new`, file);
}

function withoutLastRow(bytes: Buffer): Buffer {
  return bytes.subarray(0, bytes.lastIndexOf("\n", bytes.length - 2) + 1);
}

/** The offset of the last visible world in a file. */
function lastVisible(worlds: Buffer): number {
  const mark = worlds.lastIndexOf('"isPublic":true,"status":"ACTIVE"');
  return worlds.lastIndexOf("\n", mark) + 1;
}

function insert(bytes: Buffer, mark: string, from: number, text: string): Buffer {
  const at = bytes.indexOf(mark, from) + mark.length;
  return Buffer.concat([bytes.subarray(0, at), Buffer.from(text), bytes.subarray(at)]);
}

function withoutLastVisible(worlds: Buffer): Buffer {
  const at = lastVisible(worlds);
  return Buffer.concat([worlds.subarray(0, at), worlds.subarray(worlds.indexOf("\n", at) + 1)]);
}

/** Adds a word to a description; rows and rankings stay the same. */
function withAnotherText(worlds: Buffer): Buffer {
  return insert(worlds, '"description":"', lastVisible(worlds), "changed ");
}

/** Raises a visible world in the all-time ranking. */
function rankAnother(folder: string): void {
  const worlds = readFileSync(join(folder, "worlds.ndjson"));
  rewrite(folder, "world-stats.ndjson", (bytes) => {
    for (let to = worlds.length; ; ) {
      const at = lastVisible(worlds.subarray(0, to));
      const id = worlds.toString("latin1", at + 7, at + 43);
      const row = bytes.indexOf(`"worldId":"${id}"`);
      if (row >= 0) return insert(bytes, '"totalVisits":', row, "9");
      to = at;
    }
  });
}

const drop =
  (...tables: RowFile[]) =>
  (folder: string): void => {
    for (const table of tables) rewrite(folder, table, withoutLastRow);
  };

const ALL_CHANGES: readonly (readonly [name: string, change: (folder: string) => void])[] = [
  ["nothing", () => {}],
  ["instances", drop("instances.ndjson")],
  ["statistics", rankAnother],
  ["statistics, same ranking", drop("world-stats.ndjson")],
  ["users", drop("users.ndjson")],
  ["worlds", (folder) => rewrite(folder, "worlds.ndjson", withoutLastVisible)],
  ["the text of a world", (folder) => rewrite(folder, "worlds.ndjson", withAnotherText)],
  [
    "dates of all files",
    (folder) => {
      for (const table of ROW_FILES) utimesSync(join(folder, table), new Date(), new Date());
    },
  ],
  [
    "all four",
    (folder) => {
      rankAnother(folder);
      rewrite(folder, "worlds.ndjson", withoutLastVisible);
      drop("users.ndjson", "instances.ndjson")(folder);
    },
  ],
];
const only = values.only?.split(",");
const CHANGES = ALL_CHANGES.filter(([name]) => only === undefined || only.includes(name));

interface Reloaded {
  readonly ms: number;
  readonly cpuMs: number;
  readonly rss: number;
  readonly read: readonly string[];
}

class Server {
  readonly #child: ChildProcess;
  readonly #loads: Record<string, unknown>[] = [];
  #heard = (): void => {};

  constructor(snapshot: string, keys: string) {
    const args = [...NODE_OPTIONS, join(ROOT, "dist/main.js"), "serve", "--snapshot", snapshot];
    this.#child = spawn(process.execPath, [...args, "--keys", keys, "--port", "0", "--watch", "0"], {
      cwd: ROOT,
      stdio: ["ignore", "pipe", "pipe"],
    });
    createInterface({ input: this.#child.stderr! }).on("line", (line) => {
      const said = JSON.parse(line) as Record<string, unknown>;
      if (!["snapshot-loaded", "snapshot-unchanged"].includes(String(said.event))) return;
      this.#loads.push(said);
      this.#heard();
    });
  }

  async listening(): Promise<void> {
    await once(this.#child.stdout!, "data");
    await sleep(REST_MS);
    this.#loads.length = 0;
  }

  async reload(): Promise<Reloaded> {
    const pid = this.#child.pid!;
    const before = cpuOf(pid);
    const heard = new Promise<void>((resolve) => {
      this.#heard = resolve;
    });
    this.#child.kill("SIGHUP");
    await heard;
    await sleep(REST_MS);
    const { ms, read } = this.#loads.shift()!;
    return {
      ms: Number(ms),
      cpuMs: cpuOf(pid) - before,
      rss: memoryOf(pid, "VmRSS"),
      read: read as string[],
    };
  }

  async stop(): Promise<void> {
    this.#child.kill("SIGTERM");
    await once(this.#child, "exit");
  }
}

const folder = mkdtempSync(join(tmpdir(), "orrery-reload-"));
const keys = join(folder, "keys.json");
await addKey(keys, { name: "bench", kind: "cli", prefix: "svcx_" });
try {
  console.log(`${machine()}; medians of ${rounds} rounds (lowest–highest).\n`);
  for (const users of sizes) {
    const made = await snapshotOf(users);
    const snapshot = mkdtempSync(join(folder, "snapshot-"));
    for (const table of ROW_FILES) linkSync(join(made, table), join(snapshot, table));
    const server = new Server(snapshot, keys);
    await server.listening();
    const found = new Map<string, Reloaded[]>(CHANGES.map(([name]) => [name, []]));
    for (let round = 0; round < rounds; round++) {
      for (const [name, change] of CHANGES) {
        change(snapshot);
        const reloaded = await server.reload();
        found.get(name)!.push(reloaded);
        console.error(`${name}: ${reloaded.ms} ms, CPU ${reloaded.cpuMs} ms`);
      }
    }
    await server.stop();
    const of = (name: string, what: "ms" | "cpuMs" | "rss", unit: number): number[] =>
      found.get(name)!.map((reloaded) => reloaded[what] / unit);
    const shares = (name: string): number[] => {
      const whole = of("all four", "cpuMs", 1);
      return of(name, "cpuMs", 1).map((cpu, round) => cpu / whole[round]!);
    };
    console.log(
      markdown(
        [`${whole(users)} users; changed`, "read", "s", "CPU s", "of all four, CPU", "RSS after, MB"],
        CHANGES.map(([name]) => [
          name,
          found.get(name)![0]!.read.join(", ") || "nothing",
          spread(of(name, "ms", 1000), 2),
          spread(of(name, "cpuMs", 1000), 2),
          found.has("all four") ? spread(shares(name), 3) : undefined,
          spread(of(name, "rss", 1e6), whole),
        ]),
        2,
      ),
    );
  }
} finally {
  rmSync(folder, { recursive: true });
}
