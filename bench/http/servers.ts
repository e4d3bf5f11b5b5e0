/** The measured servers: starts each in a separate process on a fixed core. */

import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import { cpus } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { NODE_OPTIONS, nodeOptionsOf, ROOT, RUN_TYPESCRIPT } from "../support/child.ts";
import type { Need } from "../support/need.ts";

const canPin = cpus().length > 1 && spawnSync("taskset", ["-c", "0", "true"]).status === 0;

/** Whether servers and load have separate cores; else they take time from each other. */
export const PINNED = canPin;

/** A command on one core: servers on 0, the load on 1. */
export function onCore(core: 0 | 1, command: readonly string[]): readonly [string, string[]] {
  const [program, ...rest] = canPin ? ["taskset", "-c", String(core), ...command] : command;
  return [program!, rest];
}

/** A kind of server. */
export interface Peer {
  readonly name: string;
  /** The checkout of an orrery; undefined for the others. */
  readonly tree: string | undefined;
  /** File in `bench/peers`. */
  readonly file: string;
  /** Whether it answers everything with one recorded reply. */
  readonly recorded: boolean;
  /** Settings that it always has, for an orrery. */
  readonly settings?: readonly string[];
}

/** Whether a peer can take part: nginx sends a file, always with a 200. */
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
const ENCODED: Peer = {
  name: "Fastify, encoded at load",
  tree: undefined,
  file: "fastify-encoded.ts",
  recorded: false,
};
const SQLITE_TEXT: Peer = {
  name: "Fastify + SQLite, JSON by position",
  tree: undefined,
  file: "fastify-sqlite-text.ts",
  recorded: false,
};
/** The same orrery on node:http, as hosts that mount it have it. */
const ON_NODE_HTTP: Peer = { ...ORRERY, name: "orrery --http node", settings: ["--http", "node"] };
const BARE_NET: Peer = { name: "bare node:net", tree: undefined, file: "bare-net.ts", recorded: true };
export const NGINX: Peer = { name: "nginx, a file", tree: undefined, file: "nginx.ts", recorded: true };

/** All servers, orrery first. */
export const PEERS: readonly Peer[] = [
  ORRERY,
  ON_NODE_HTTP,
  BARE,
  BARE_NET,
  FASTIFY,
  ENCODED,
  SQLITE,
  SQLITE_TEXT,
  NGINX,
];

/** Programs and packages that these peers need. */
export function needsOf(peers: readonly Peer[]): Need[] {
  return [
    ...(peers.includes(NGINX) ? (["nginx"] as const) : []),
    ...(peers.some(({ file }) => file.includes("sqlite")) ? (["peers"] as const) : []),
    ...(peers.some(({ file }) => file.startsWith("fastify")) ? (["fastify"] as const) : []),
  ];
}

/** Files and settings for the start of a server. */
export interface Start {
  readonly snapshot: string;
  readonly keys: string;
  /** Path of the recorded reply. */
  readonly reply: string;
  /** Additional settings for an orrery; nginx uses only `--access-log`. */
  readonly settings: readonly string[];
  /** A file or pipe for its standard error. */
  readonly log?: string | undefined;
}

/** A running server. */
export interface Server {
  readonly peer: Peer;
  readonly url: string;
  /** The process that answers. */
  readonly pid: number;
  /** The form of its replies, if it has a choice. */
  readonly form: string | undefined;
  readonly stop: () => Promise<void>;
}

function commandOf(
  { tree, file, settings: own = [] }: Peer,
  { snapshot, keys, reply, settings }: Start,
): string[] {
  if (tree === undefined) {
    return [
      process.execPath,
      // Those of orrery: fewer threads of V8 beside the server on its core.
      ...NODE_OPTIONS,
      ...RUN_TYPESCRIPT,
      join(ROOT, "bench/peers", file),
      snapshot,
      keys,
      reply,
      ...settings,
    ];
  }
  const fixed = ["--snapshot", snapshot, "--keys", keys, "--port", "0", "--watch", "0"];
  const program = [process.execPath, ...nodeOptionsOf(tree), "bin/orrery.mjs", "serve"];
  return [...program, ...fixed, "--log-level", "error", ...own, ...settings];
}

/** The server's first line: `{"url":…}` of a peer, `orrery listening on URL …` of an orrery. */
function readFirstLine(line: string, own: number): { url: string; pid: number; form?: string } {
  if (line.startsWith("{")) return JSON.parse(line) as { url: string; pid: number; form?: string };
  return { url: /http:\/\/[^/\s]+/.exec(line)![0], pid: own };
}

const running = new Set<ChildProcess>();

/** No started server outlives the bench, however that ends. */
process.on("exit", () => {
  for (const child of running) child.kill("SIGTERM");
});

/** Starts a server. @throws {Error} when it ends instead of listening */
export async function startServer(peer: Peer, start: Start): Promise<Server> {
  const [program, args] = onCore(0, commandOf(peer, start));
  const log = start.log === undefined ? "inherit" : openSync(start.log, "a");
  const child = spawn(program, args, { cwd: peer.tree ?? ROOT, stdio: ["ignore", "pipe", log] });
  if (typeof log === "number") closeSync(log);
  running.add(child);
  const ended = once(child, "exit").then(([code]) => {
    running.delete(child);
    return `${peer.name} ended with ${code}`;
  });
  const line = await Promise.race([once(createInterface({ input: child.stdout! }), "line"), ended]);
  if (typeof line === "string") throw new Error(line);
  const { url, pid, form } = readFirstLine(String(line[0]), child.pid!);
  const stop = async (): Promise<void> => {
    // An orrery drains for a second and a half; here no client is left to wait for.
    child.kill(peer.tree === undefined ? "SIGTERM" : "SIGKILL");
    await ended;
  };
  return { peer, url, pid, form, stop };
}
