/** Servers for the tests on the wire: a small snapshot and keys in a temporary folder, and a free port for each. */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import type { Socket } from "node:net";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { State } from "../../src/api/answer.ts";
import type { KeyRecord } from "../../src/auth/keys.ts";
import { PROGRAM } from "../../src/features.ts";
import { createApiApp } from "../../src/http/api.ts";
import { type HttpLimits, HttpServer } from "../../src/http/server.ts";
import type { Ask, Reply } from "../../src/model/message.ts";
import type { Observation } from "../../src/observe/events.ts";
import { openState } from "../../src/server/open.ts";
import { type ServerOptions, startServer } from "../../src/server/server.ts";
import type { Settings } from "../../src/settings/settings.ts";
import { id, user, world, writeSnapshot } from "./folders.ts";
import { DEFAULTS } from "./options.ts";
import { keyRecord, writeKeys } from "./place.ts";

export const BASE = "/api/public/v1";

export const WORLD = id("b", 1);
export const USER = id("a", 1);
export const INSTANCE = id("c", 1);

/** A page of 50 is some 150 KB: enough to notice a peer that does not read it. */
const WORLDS = 60;
const USERS = 30;
const LONG = "far and wide, ".repeat(220);

/** Tokens by their special property. */
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

/** Requests per window of the keys `few` and `fewNarrow`. */
export const FEW = 5;

function writeRows(folder: string): void {
  const numbers = (count: number): number[] => Array.from({ length: count }, (_, at) => at + 1);
  const worlds = numbers(WORLDS).map((n) =>
    world(n, { description: LONG, ownerId: id("a", 1 + (n % USERS)) }),
  );
  writeSnapshot(folder, {
    "worlds.ndjson": [...worlds, world(999, { isPublic: false })],
    "users.ndjson": numbers(USERS).map((n) => user(n)),
    "world-stats.ndjson": "",
  });
}

const SPECIAL: Partial<Record<TokenName, Partial<KeyRecord>>> = {
  narrow: { scopes: ["read:instances"] },
  few: { limit: FEW },
  fewNarrow: { limit: FEW, scopes: [] },
  disabled: { active: false },
  expired: { expiresAt: "2001-01-01T00:00:00Z" },
  cliDisabled: { active: false },
  cliExpired: { expiresAt: "2001-01-01T00:00:00Z" },
};

/** Threads of servers started as the command does; `test/all/again.test.ts` sets more than one. */
export const SERVING_THREADS = Number(process.env.ORRERY_TEST_SERVING_THREADS ?? 1);

/** Command that runs the servers in place of this process, its words separated by spaces. */
const RUNTIME = process.env.ORRERY_TEST_RUNTIME?.split(" ");

export const IS_ON_DENO = RUNTIME !== undefined && basename(RUNTIME[0]!) === "deno";
export const IS_ON_BUN = RUNTIME !== undefined && basename(RUNTIME[0]!) === "bun";

/** Whether the servers speak HTTP through node:http unless a test sets another kind. */
export const IS_NODE_HTTP = process.env.ORRERY_TEST_HTTP === "node";

const HTTP = IS_NODE_HTTP ? ({ http: "node" } as const) : {};

/** Why a test is skipped over node:http, or false: docs/runtimes.md lists the reasons. */
export function exceptOverNodeHttp(
  why: "resets while the peer sends" | "takes what is no HTTP/1",
): string | false {
  return IS_NODE_HTTP && `node:http: ${why}`;
}

let folder: string | undefined;

/** The temporary folder with a snapshot and `keys.json`; made once, removed after the tests of the file. */
function fixture(): string {
  if (folder !== undefined) return folder;
  folder = mkdtempSync(join(tmpdir(), "orrery-wire-"));
  writeRows(join(folder, "snapshot"));
  const records = Object.entries(TOKENS).map(([id, token]) =>
    keyRecord(token, { id, name: id, ...SPECIAL[id as TokenName] }),
  );
  writeKeys(join(folder, "keys.json"), ...records);
  return folder;
}

type Others = Omit<ServerOptions, "settings">;

/** Bounds of connections that tests shorten. */
const BOUNDS = ["headersTimeout", "timeoutCheckInterval", "maxHeadBytes", "maxRequestsPerSocket"] as const;

export interface TestOptions
  extends Partial<Others>,
    Partial<Omit<Settings, keyof Others>>,
    Pick<HttpLimits, (typeof BOUNDS)[number]> {
  readonly servingThreads?: number;
}

/** The options of a server on a free port of the loopback interface. */
export async function testOptions(options: TestOptions, observations: Observation[]): Promise<ServerOptions> {
  const made = fixture();
  const { servingThreads = SERVING_THREADS, threads = false, admin, sharedLimits, ...others } = options;
  const settings: Settings = {
    ...DEFAULTS,
    snapshot: join(made, "snapshot"),
    keys: join(made, "keys.json"),
    port: 0,
    // No test reaches a limit unless it uses a key made for it, or crosses the end of a window.
    rateLimit: 1_000_000,
    rateWindow: 31_536_000,
    docs: false,
    similar: false,
    watch: 0,
    searchCacheBytes: 1 << 20,
    ...Object.fromEntries(Object.entries(others).filter(([name]) => name in DEFAULTS)),
    threads: servingThreads,
  };
  return {
    observe: (observation) => observations.push(observation),
    features: PROGRAM.features,
    tables: PROGRAM.tables,
    ...others,
    settings,
    limits: Object.fromEntries(BOUNDS.flatMap((name) => (name in others ? [[name, others[name]]] : []))),
    // Threads are slow to start, so only servers that need them for their searches ask for them.
    threads,
    admin,
    sharedLimits,
  };
}

export interface TestServer {
  readonly port: number;
  readonly etag: string;
  readonly adminPort?: number;
  readonly observations: readonly Observation[];
  /** Stops it without losing a request; every call returns the same promise. */
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

/** Starts a server as the command does: in this process, or on the runtime named by the environment. */
export async function serve(options: TestOptions = {}): Promise<TestServer> {
  if (RUNTIME === undefined) return serveHere({ ...HTTP, ...options });
  const { stop, ...server } = await serveAlone({ ...HTTP, ...options });
  return keepRunning(server, async () => {
    assert.equal((await stop()).status, 0);
  });
}

export async function serveHere(options: TestOptions = {}): Promise<TestServer> {
  const observations: Observation[] = [];
  const server = await startServer(await testOptions(options, observations));
  const port = Number(new URL(server.url).port);
  const made = { port, etag: `"${server.generation()}"`, observations };
  const admin = server.adminUrl === undefined ? {} : { adminPort: Number(new URL(server.adminUrl).port) };
  return keepRunning({ ...made, ...admin }, () => server.stop("test"));
}

export interface OpenServer extends TestServer {
  /** The server's ends of the open connections. */
  readonly sockets: () => Socket[];
}

/**
 * Starts a server whose searches a test may control.
 *
 * @param asked called for each request that reaches the API
 */
export async function serveOpen(
  options: TestOptions = {},
  search?: State["generation"]["search"],
  asked = (): void => {},
): Promise<OpenServer> {
  const observations: Observation[] = [];
  const complete = await testOptions(options, observations);
  const { state, stop, close } = await openState(complete);
  if (search !== undefined) state.generation = { ...state.generation, search };
  const { observe, settings, limits } = complete;
  const api = createApiApp(state);
  const answer = (ask: Ask): Reply | Promise<Reply> => {
    asked();
    return api.answer(ask);
  };
  const http = new HttpServer({ ...api, answer, observe }, { ...settings, ...limits });
  const { port } = await http.listen(settings.host, settings.port);
  const server = keepRunning({ port, etag: state.generation.etag, observations }, () => {
    stop();
    return http
      .stopListening()
      .then(() => http.leave())
      .then(close);
  });
  return { ...server, sockets: () => [...http.connections].map(({ socket }) => socket) };
}

const children = new Set<{ kill: (signal: "SIGKILL") => boolean }>();

/** How a process ended: its exit status or the signal, and how long its stop took in milliseconds. */
export interface Stopped {
  readonly status: number | string;
  readonly ms: number;
}

interface LoneServer extends Omit<TestServer, "stop"> {
  readonly stop: () => Promise<Stopped>;
}

export type ChildLine =
  | { readonly kind: "listening"; readonly server: Omit<TestServer, "stop" | "observations"> }
  | { readonly kind: "observation"; readonly observation: Observation }
  | { readonly kind: "stopped"; readonly ms: number };

/**
 * Starts a server in a process of its own, so that a defect ends only that process.
 *
 * @param options only values that JSON can carry
 * @param openFiles most file descriptors it may have
 */
export async function serveAlone(options: TestOptions = {}, openFiles?: number): Promise<LoneServer> {
  const file = fileURLToPath(new URL("./http-child.ts", import.meta.url));
  const runner = RUNTIME ?? [process.execPath, "--import", "tsx"];
  const command = [...runner, file];
  const limit = openFiles === undefined ? "" : `ulimit -n ${openFiles} && `;
  const child = spawn("/bin/sh", ["-c", `${limit}exec "$@"`, "sh", ...command, JSON.stringify(options)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  children.add(child);
  const observations: Observation[] = [];
  let ms = Number.NaN;
  const closed = once(child, "close").then(([code, signal]): Stopped => {
    children.delete(child);
    return { status: code ?? signal, ms };
  });
  const listening = new Promise<Extract<ChildLine, { kind: "listening" }>["server"]>((resolve) => {
    createInterface(child.stdout).on("line", (text) => {
      const line = JSON.parse(text) as ChildLine;
      if (line.kind === "listening") resolve(line.server);
      else if (line.kind === "stopped") ms = line.ms;
      else observations.push(line.observation);
    });
  });
  const ended = closed.then(({ status }) => {
    throw new Error(`the process ended: ${status}`);
  });
  const server = await Promise.race([listening, ended]);
  return {
    ...server,
    observations,
    stop() {
      child.kill("SIGTERM");
      return closed;
    },
  };
}

export async function cleanUp(): Promise<void> {
  await Promise.allSettled([...running].map((server) => server.stop()));
  for (const child of children) child.kill("SIGKILL");
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
}
