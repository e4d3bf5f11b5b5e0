/**
 * The effect of connections without a token on all other callers.
 *
 * Each connection sends one kind of request in an endless pipeline. Meanwhile lookups with a token leave at a constant
 * rate over other connections. Prints their latencies, and the bytes that the flood got.
 */

import { type ChildProcess, fork, spawn } from "node:child_process";
import { rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { ask, NODE_OPTIONS, pin, runWhenIdle, said, snapshotOf, visibleWorlds } from "./child.ts";
import { addKey } from "./keys.ts";
import { constantLoad, type LoadResult } from "./load.ts";
import { machine, markdown, spread, whole } from "./output.ts";

/** Settings of the measurement. */
export interface Plan {
  readonly users: number;
  readonly rounds: number;
  readonly phaseMs: number;
  /** The `dist` folder of the measured server. */
  readonly tree: string;
  /** The one kind to measure; all when absent. */
  readonly only: string | undefined;
}

const RATE = 500;

/** The requests of each kind, without a token. @param etag of `/openapi.json` */
function kinds(etag: string): Readonly<Record<string, string>> {
  const request = (line: string, more = ""): string => `${line} HTTP/1.1\r\nHost: a\r\n${more}\r\n`;
  const api = "/api/public/v1";
  return {
    "401": request(`GET ${api}/stats`),
    "404": request("GET /nowhere"),
    "405": request(`POST ${api}/stats`),
    OPTIONS: request(`OPTIONS ${api}/stats`),
    "/": request("GET /"),
    "/docs": request("GET /docs"),
    "/openapi.json": request("GET /openapi.json"),
    "304": request("GET /openapi.json", `If-None-Match: ${etag}\r\n`),
  };
}

/** Starts the built program of a tree. @returns the process, and the port that it prints */
async function startServer(tree: string, args: readonly string[]): Promise<[ChildProcess, number]> {
  const server = spawn(
    process.execPath,
    [...NODE_OPTIONS, join(tree, "dist/main.js"), "serve", "--port", "0", ...args],
    { stdio: ["ignore", "pipe", "ignore"] },
  );
  for await (const line of createInterface({ input: server.stdout! })) {
    const [, port] = /:(\d+)\//.exec(line) ?? [];
    if (port !== undefined) return [server, Number(port)];
  }
  throw new Error("the server did not start");
}

interface Round extends LoadResult {
  /** Megabytes a second that the flood got. */
  readonly flooded: number;
}

/** Prints the latencies of lookups beside each kind of flood. */
export async function printTokenlessFlood({ users, rounds, phaseMs, tree, only }: Plan): Promise<void> {
  const snapshot = await snapshotOf(users);
  const worlds = visibleWorlds(snapshot);
  const keys = join(tmpdir(), `orrery-bench-keys-${process.pid}.json`);
  const token = await addKey(keys, { name: "bench", kind: "cli", prefix: "svcx_" });
  const [server, port] = await startServer(tree, ["--snapshot", snapshot, "--keys", keys, "--watch", "0"]);
  try {
    pin(server.pid!, 0);
    const origin = `http://127.0.0.1:${port}`;
    // Of the plain form, since the flood accepts no other.
    const { headers } = await fetch(`${origin}/openapi.json`, { headers: { "Accept-Encoding": "identity" } });
    const lookUp = (ms: number): Promise<LoadResult> => {
      const end = performance.now() + ms;
      const target = (): string =>
        `${origin}/api/public/v1/worlds/${worlds[Math.floor(Math.random() * worlds.length)]}`;
      return constantLoad(target, { Authorization: `Bearer ${token}` }, RATE, () => performance.now() > end);
    };
    const beside = async (request: string, connections: number): Promise<Round> => {
      const file = fileURLToPath(new URL("./pipeliner.ts", import.meta.url));
      const flooder = fork(file, [String(port), String(connections), request]);
      await said(flooder, "flooding");
      // A short run must end on a busy machine, too.
      if (phaseMs >= 1000) runWhenIdle(flooder.pid!);
      await lookUp(phaseMs / 4);
      const before = await ask<number>(flooder, "count", "bytes");
      const result = await lookUp(phaseMs);
      const flooded = ((await ask<number>(flooder, "count", "bytes")) - before) / phaseMs / 1000;
      flooder.kill("SIGKILL");
      return { ...result, flooded };
    };
    await lookUp(phaseMs);
    const rows: string[][] = [];
    const figures = (all: readonly LoadResult[]): string[] =>
      (["p50", "p99", "max"] as const).map((of) =>
        spread(
          all.map((one) => one[of]),
          1,
        ),
      );
    const quiet: LoadResult[] = [];
    for (let round = 0; round < rounds; round++) quiet.push(await lookUp(phaseMs));
    rows.push(["alone", "", "", ...figures(quiet)]);
    for (const [name, request] of Object.entries(kinds(headers.get("etag")!))) {
      if (only !== undefined && name !== only) continue;
      for (const connections of [200, 1000]) {
        const all: Round[] = [];
        for (let round = 0; round < rounds; round++) all.push(await beside(request, connections));
        if (all.some(({ failures }) => failures > 0)) throw new Error(`${name}: lookups failed`);
        const flooded = spread(
          all.map((one) => one.flooded),
          1,
        );
        rows.push([name, String(connections), flooded, ...figures(all)]);
      }
    }
    console.log(
      `${machine()}; ${whole(users)} users, medians of ${rounds} rounds of ${phaseMs / 1000} s (lowest–highest).\n`,
    );
    console.log(`Lookups at ${RATE}/s beside connections without a token, milliseconds:\n`);
    console.log(markdown(["requests", "connections", "MB/s of the flood", "p50", "p99", "max"], rows));
  } finally {
    server.kill("SIGKILL");
    rmSync(keys, { force: true });
  }
}
