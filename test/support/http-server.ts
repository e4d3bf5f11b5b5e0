/** Servers for the tests on the wire: a small snapshot and keys in a temporary folder, and a port of their own. */

import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import type { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { State } from "../../src/answer.ts";
import type { Observation } from "../../src/observe.ts";
import {
  createHttpServer,
  DEFAULT_LIMITS,
  type HttpLimits,
  leave,
  listen,
  stopListening,
} from "../../src/serve/listen/http.ts";
import { type ServerOptions, startServer } from "../../src/serve/server.ts";
import { openState } from "../../src/serve/state/open.ts";
import { DEFAULTS, type Settings } from "../../src/settings.ts";
import { testArguments } from "./program.ts";

/** Base path of every operation. */
export const BASE = "/api/public/v1";

/** An id made from a number; `kind` keeps the tables apart. */
export function idOf(kind: number, at: number): string {
  return `0000000${kind}-0000-4000-8000-${at.toString(16).padStart(12, "0")}`;
}

export const WORLD = idOf(1, 1);
export const USER = idOf(2, 1);
export const INSTANCE = idOf(3, 1);
export const HIDDEN_WORLD = idOf(1, 999);

/** Enough for a page of 50 that is some 150 KB: a peer that does not read them is noticed. */
const WORLDS = 60;
const USERS = 30;
const LONG = "far and wide, ".repeat(220);

/** Tokens by what is special about them. */
export const TOKENS = {
  api: "svc_sk_whole",
  twin: "svc_sk_twin",
  narrow: "svc_sk_narrow",
  few: "svc_sk_few",
  fewNarrow: "svc_sk_few_narrow",
  disabled: "svc_sk_disabled",
  expired: "svc_sk_expired",
  cli: "svcx_tool",
  cliDisabled: "svcx_disabled",
  cliExpired: "svcx_expired",
} as const;

export type TokenName = keyof typeof TOKENS;

/** Requests a window of the keys `few` and `fewNarrow`. */
export const FEW = 5;

function lines(rows: readonly object[]): string {
  return rows.map((row) => `${JSON.stringify(row)}\n`).join("");
}

function timeOf(at: number): string {
  return new Date(Date.UTC(2024, 0, 1) + at * 1000).toISOString();
}

async function writeSnapshot(folder: string): Promise<void> {
  const world = (at: number, isPublic = true): object => ({
    id: idOf(1, at),
    name: `World ${at}`,
    description: LONG,
    ownerId: idOf(2, (at % USERS) + 1),
    isPublic,
    status: "ACTIVE",
    createdAt: timeOf(at),
    updatedAt: timeOf(at),
  });
  const worlds = Array.from({ length: WORLDS }, (_, at) => world(at + 1));
  const users = Array.from({ length: USERS }, (_, at) => ({
    id: idOf(2, at + 1),
    displayName: `User ${at + 1}`,
    userIconUrl: null,
    createdAt: timeOf(at),
  }));
  const instances = [{ id: INSTANCE, worldId: WORLD, isPublic: true, isActive: true, createdAt: timeOf(1) }];
  await writeFile(join(folder, "worlds.ndjson"), lines([...worlds, world(999, false)]));
  await writeFile(join(folder, "users.ndjson"), lines(users));
  await writeFile(join(folder, "instances.ndjson"), lines(instances));
  await writeFile(join(folder, "world-stats.ndjson"), "");
}

async function writeKeys(file: string): Promise<void> {
  const all = ["read:worlds", "read:users", "read:instances"];
  const special: Partial<Record<TokenName, object>> = {
    narrow: { scopes: ["read:instances"] },
    few: { limit: FEW },
    fewNarrow: { limit: FEW, scopes: [] },
    disabled: { active: false },
    expired: { expiresAt: "2001-01-01T00:00:00Z" },
    cliDisabled: { active: false },
    cliExpired: { expiresAt: "2001-01-01T00:00:00Z" },
  };
  const keys = Object.entries(TOKENS).map(([id, token]) => ({
    id,
    kind: token.startsWith("svcx_") ? "cli" : "api",
    name: id,
    sha256: createHash("sha256").update(token).digest("hex"),
    scopes: all,
    limit: null,
    active: true,
    expiresAt: null,
    createdAt: "2024-01-01T00:00:00Z",
    ...special[id as TokenName],
  }));
  await writeFile(file, JSON.stringify({ keys }));
}

/** Threads of the servers that are started as the command does it; `test/all/hostile-threads.test.ts` asks for more than one. */
export const SERVING_THREADS = Number(process.env.ORRERY_TEST_SERVING_THREADS ?? 1);

let folder: Promise<string> | undefined;

/** The temporary folder with a snapshot and `keys.json`; made once, removed when the file's tests are over. */
function fixture(): Promise<string> {
  folder ??= (async () => {
    const made = await mkdtemp(join(tmpdir(), "orrery-wire-"));
    await mkdir(join(made, "snapshot"));
    await writeSnapshot(join(made, "snapshot"));
    await writeKeys(join(made, "keys.json"));
    return made;
  })();
  return folder;
}

type Others = Omit<ServerOptions, "http" | "settings">;

/** Settings and what else a server is started with, together. */
export interface TestOptions extends Partial<Others>, Partial<Omit<Settings, keyof Others>> {
  readonly servingThreads?: number;
  readonly http?: Partial<HttpLimits>;
}

/** The options of a server on a free port of the loopback interface. */
export async function testOptions(options: TestOptions, observations: Observation[]): Promise<ServerOptions> {
  const made = await fixture();
  const { servingThreads = SERVING_THREADS, threads = false, http, admin, sharedLimits, ...others } = options;
  const settings: Settings = {
    ...DEFAULTS,
    snapshot: join(made, "snapshot"),
    keys: join(made, "keys.json"),
    port: 0,
    // No test runs into a limit unless it uses a key made for it, or crosses the end of a window.
    rateLimit: 1_000_000,
    rateWindow: 31_536_000,
    docs: false,
    watch: 0,
    maxSnapshotBytes: 1 << 30,
    searchCacheBytes: 1 << 20,
    ...Object.fromEntries(Object.entries(others).filter(([name]) => name in DEFAULTS)),
    threads: servingThreads,
  };
  return {
    observe: (observation) => observations.push(observation),
    ...others,
    settings,
    // Threads take their time to start; a server whose searches are to be answered later asks for them.
    threads,
    ...{ admin, sharedLimits },
    http: { ...DEFAULT_LIMITS, ...http },
  };
}

/** A server that a test talks to. */
export interface TestServer {
  readonly port: number;
  readonly etag: string;
  /** Of the admin listener, where there is one. */
  readonly adminPort?: number;
  readonly observations: readonly Observation[];
  /** Stops it without losing a request; the same promise however often it is called. */
  readonly stop: () => Promise<void>;
}

const running = new Set<TestServer>();

function keepRunning(server: Omit<TestServer, "stop">, stop: () => Promise<void>): TestServer {
  let stopped: Promise<void> | undefined;
  const kept: TestServer = {
    ...server,
    stop() {
      running.delete(kept);
      stopped ??= stop();
      return stopped;
    },
  };
  running.add(kept);
  return kept;
}

/** Starts a server as the command does. */
export async function serve(options: TestOptions = {}): Promise<TestServer> {
  const observations: Observation[] = [];
  const server = await startServer(await testOptions(options, observations));
  const port = Number(new URL(server.url).port);
  const made = { port, etag: `"${server.generation()}"`, observations };
  const admin = server.adminUrl === undefined ? {} : { adminPort: Number(new URL(server.adminUrl).port) };
  return keepRunning({ ...made, ...admin }, () => server.stop("test"));
}

/** A server that a test looks into. */
export interface OpenServer extends TestServer {
  /** The server's ends of the connections that stand. */
  readonly sockets: () => Socket[];
}

/** Starts a server whose searches may be in the hands of the test. */
export async function serveOpen(
  options: TestOptions = {},
  search?: State["generation"]["search"],
): Promise<OpenServer> {
  const observations: Observation[] = [];
  const complete = await testOptions(options, observations);
  const { state, stop, close } = await openState(complete);
  if (search !== undefined) state.generation = { ...state.generation, search };
  const http = createHttpServer(state, complete.http);
  const { port } = await listen(http, complete.settings.host, complete.settings.port);
  const server = keepRunning({ port, etag: state.generation.etag, observations }, () => {
    stop();
    return stopListening(http)
      .then(() => leave(http))
      .then(close);
  });
  return { ...server, sockets: () => [...http.adapter.connections.bySocket.keys()] };
}

const children = new Set<{ kill: (signal: "SIGKILL") => boolean }>();

/** How a process ended: its exit status or the signal, and how long its stop took in milliseconds. */
export interface Stopped {
  readonly status: number | string;
  readonly ms: number;
}

/** A server in a process of its own. */
export interface LoneServer extends Pick<TestServer, "port"> {
  readonly stop: () => Promise<Stopped>;
}

/**
 * Starts a server in a process of its own, which a defect would end.
 *
 * @param openFiles most file descriptors it may have
 */
export async function serveAlone(openFiles?: number): Promise<LoneServer> {
  const file = fileURLToPath(new URL("./http-child.ts", import.meta.url));
  const command = [process.execPath, ...testArguments(file)];
  const limit = openFiles === undefined ? "" : `ulimit -n ${openFiles} && `;
  const child = spawn("/bin/sh", ["-c", `${limit}exec "$@"`, "sh", ...command], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  children.add(child);
  const output: string[] = [];
  const closed = once(child, "close").then(([code, signal]): Stopped => {
    children.delete(child);
    return { status: code ?? signal, ms: Number(output.join("").split("\n")[1]) };
  });
  child.stdout.on("data", (bytes) => output.push(String(bytes)));
  await Promise.race([once(child.stdout, "data"), closed]);
  if (child.exitCode !== null) throw new Error(`the process ended: ${child.exitCode}`);
  return {
    port: Number(output.join("")),
    stop() {
      child.kill("SIGTERM");
      return closed;
    },
  };
}

/** Stops all servers that still run and removes the files. */
export async function cleanUp(): Promise<void> {
  for (const child of children) child.kill("SIGKILL");
  await Promise.all([...running].map((server) => server.stop()));
  if (folder !== undefined) await rm(await folder, { recursive: true, force: true });
}
