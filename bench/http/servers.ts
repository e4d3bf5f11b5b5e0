/** The servers that are measured: starting each in a process of its own on its own core, and what the system says of it. */

import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { cpus } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { nodeOptionsOf, ROOT, RUN_TYPESCRIPT } from "../support/child.ts";

const canPin = cpus().length > 1 && spawnSync("taskset", ["-c", "0", "true"]).status === 0;

/** Whether servers and load have a core each; else they take time from each other. */
export const PINNED = canPin;

/** A command on one core: servers on 0, the load on 1. */
export function onCore(core: 0 | 1, command: readonly string[]): readonly [string, string[]] {
  const [program, ...rest] = canPin ? ["taskset", "-c", String(core), ...command] : command;
  return [program!, rest];
}

/** A kind of server. */
export interface Peer {
  readonly name: string;
  /** The checkout that an orrery is started from, or undefined for the others. */
  readonly tree: string | undefined;
  /** The program that runs it; Node when absent. */
  readonly runtime?: string;
  /** File in `bench/peers`. */
  readonly file: string;
  /** Says one recorded reply to everything. */
  readonly recorded: boolean;
}

/** Whether a peer can take part: nginx sends a file, and files are sent with a 200. */
export function canAnswer(peer: Peer, status: number): boolean {
  return peer !== NGINX || status === 200;
}

export const ORRERY: Peer = { name: "orrery", tree: ROOT, file: "", recorded: false };
export const BARE: Peer = { name: "bare node:http", tree: undefined, file: "bare.ts", recorded: true };
const FASTIFY: Peer = { name: "Fastify", tree: undefined, file: "fastify.ts", recorded: false };
const SQLITE: Peer = {
  name: "Fastify + SQLite",
  tree: undefined,
  file: "fastify-sqlite.ts",
  recorded: false,
};
const NGINX: Peer = { name: "nginx, a file", tree: undefined, file: "nginx.ts", recorded: true };

const RUNTIMES = ["bun", "deno"] as const;

/** orrery on other runtimes, and the ceiling of each; says of those that are not here that they are left out. */
function peersOnOtherRuntimes(): Peer[] {
  return RUNTIMES.flatMap((name) => {
    const local = join(ROOT, "node_modules/.bin", name);
    const runtime = existsSync(local) ? local : name;
    if (spawnSync(runtime, ["--version"]).status !== 0) {
      console.error(`${name} is left out: it is not installed`);
      return [];
    }
    const title = name[0]!.toUpperCase() + name.slice(1);
    return [
      { name: `orrery on ${title}`, tree: ROOT, runtime, file: "", recorded: false },
      { name: `${title}.serve, constant`, tree: undefined, runtime, file: "constant.ts", recorded: true },
    ];
  });
}

/** Native code is built for one version of Node. */
function canLoadSqlite(): boolean {
  const code = "new (require('better-sqlite3'))(':memory:')";
  return spawnSync(process.execPath, ["-e", code], { cwd: join(ROOT, "bench") }).status === 0;
}

/** The peers that can be run here; says of the others why not. */
export function availablePeers(withNginx: boolean): Peer[] {
  const peers = [ORRERY, BARE];
  const packages = ["fastify", "flexsearch", "better-sqlite3/build/Release"];
  if (packages.every((name) => existsSync(join(ROOT, "bench/node_modules", name)))) {
    peers.push(FASTIFY);
    if (canLoadSqlite()) peers.push(SQLITE);
    else console.error("SQLite is left out: `npm run bench:install` built it for another Node");
  } else {
    console.error("Fastify and SQLite are left out: install them with `npm run bench:install`");
  }
  peers.push(...peersOnOtherRuntimes());
  if (withNginx && spawnSync("nginx", ["-v"]).status === 0) peers.push(NGINX);
  else if (withNginx) console.error("nginx is left out: it is not installed");
  return peers;
}

/** Files and settings a server is started with. */
export interface Start {
  readonly snapshot: string;
  readonly keys: string;
  /** Path of the recorded reply. */
  readonly reply: string;
  /** How a bare server sends it; its own choice when absent. */
  readonly form?: string;
  /** More settings for an orrery. */
  readonly settings: readonly string[];
  /** Which cores it may use: core 0 when absent. */
  readonly cores?: 0 | 1 | "all";
}

/** A running server. */
export interface Server {
  readonly peer: Peer;
  readonly url: string;
  /** The process that answers. */
  readonly pid: number;
  /** How it sends its replies, where it has a choice. */
  readonly form: string | undefined;
  readonly stop: () => Promise<void>;
}

/** What runs a program of ours. */
function runnerOf({ runtime, tree }: Peer): string[] {
  if (runtime === undefined) {
    return [process.execPath, ...(tree === undefined ? RUN_TYPESCRIPT : nodeOptionsOf(tree))];
  }
  return runtime.endsWith("deno") ? [runtime, "run", "--allow-all", "--quiet"] : [runtime];
}

function commandOf(peer: Peer, { snapshot, keys, reply, form, settings }: Start): string[] {
  const runner = runnerOf(peer);
  if (peer.tree === undefined) {
    const file = join(ROOT, "bench/peers", peer.file);
    return [...runner, file, snapshot, keys, reply, ...(form === undefined ? [] : [form])];
  }
  const fixed = ["--snapshot", snapshot, "--keys", keys, "--port", "0", "--watch", "0"];
  return [...runner, "bin/orrery.mjs", "serve", ...fixed, "--log-level", "error", ...settings];
}

/** The server's first line: `{"url":…}` of a peer, `orrery listening on URL …` of an orrery. */
function readFirstLine(line: string, own: number): { url: string; pid: number; form?: string } {
  if (line.startsWith("{")) return JSON.parse(line) as { url: string; pid: number; form?: string };
  return { url: /http:\/\/[^/\s]+/.exec(line)![0], pid: own };
}

const running = new Set<ChildProcess>();

/** Nothing that was started outlives the bench, however that ends. */
process.on("exit", () => {
  for (const child of running) child.kill("SIGTERM");
});

/**
 * Starts a server.
 *
 * @throws {Error} when it ends instead of listening
 */
export async function startServer(peer: Peer, start: Start): Promise<Server> {
  const command = commandOf(peer, start);
  const [program, args] =
    start.cores === "all" ? ([command[0]!, command.slice(1)] as const) : onCore(start.cores ?? 0, command);
  const child = spawn(program, args, { cwd: peer.tree ?? ROOT, stdio: ["ignore", "pipe", "inherit"] });
  running.add(child);
  const ended = once(child, "exit").then(([code]) => {
    running.delete(child);
    return `${peer.name} ended with ${code}`;
  });
  const line = await Promise.race([once(createInterface({ input: child.stdout! }), "line"), ended]);
  if (typeof line === "string") throw new Error(line);
  const { url, pid, form } = readFirstLine(String(line[0]), child.pid!);
  const stop = async (): Promise<void> => {
    // An orrery drains for a second and a half; here nobody is left to wait for.
    child.kill(peer.tree === undefined ? "SIGTERM" : "SIGKILL");
    await ended;
  };
  return { peer, url, pid, form, stop };
}
