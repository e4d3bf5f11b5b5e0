/** Real child processes of the command line, and a plain HTTP client for them. */

import assert from "node:assert/strict";
import { type ChildProcess, type SpawnOptions, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { Agent, type IncomingHttpHeaders, request } from "node:http";
import { request as requestByTls } from "node:https";
import type { Readable } from "node:stream";
import { after } from "node:test";
import { PATIENCE_MS, timeLeft, within } from "./patience.ts";
import { COMMAND, ROOT } from "./program.ts";

/** Environment variables on top of a clean environment. */
export type Variables = Readonly<Record<string, string>>;

/** The tests' own environment without any setting of the program. */
export function environment(variables: Variables = {}): NodeJS.ProcessEnv {
  const own = Object.entries(process.env).filter(([name]) => !/^(ORRERY_|NODE_TEST_CONTEXT$)/.test(name));
  return { ...Object.fromEntries(own), ...variables };
}

export type Program = ReturnType<typeof start>;

const alive = new Set<ChildProcess>();

/** Kills, at once, every process that these helpers started and that still runs. */
async function killAll(): Promise<void> {
  const ends = [...alive].map((child) => new Promise((resolve) => child.once("close", resolve)));
  for (const child of alive) child.kill("SIGKILL");
  await Promise.all(ends);
}

/** Runs a function after all tests of the file; a bench has none, and cleans up by itself. */
export function afterTests(run: () => unknown): void {
  if (/\.test\.[jt]s$/.test(process.argv[1] ?? "")) after(run);
}

afterTests(killAll);

/** Collects the text of a stream from now on. @returns a function that gives the text so far */
export function textOf(stream: Readable): () => string {
  let text = "";
  stream.setEncoding("utf8").on("data", (part: string) => {
    text += part;
  });
  return () => text;
}

export type Command = readonly [string, ...string[]];

/** Starts the program in the root of the tree, or as `more` sets. */
export function start(
  args: readonly string[],
  variables: Variables = {},
  [file, ...first]: Command = COMMAND,
  more: Pick<SpawnOptions, "cwd" | "env" | "detached"> = {},
) {
  const child: ChildProcess = spawn(file, [...first, ...args], {
    cwd: ROOT,
    env: environment(variables),
    stdio: ["ignore", "pipe", "pipe"],
    ...more,
  });
  alive.add(child);
  const ended = new Promise<{ status: number | null; signal: NodeJS.Signals | null }>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (status, signal) => {
      alive.delete(child);
      resolve({ status, signal });
    });
  });
  const stderr = textOf(child.stderr!);
  return {
    child,
    stdout: textOf(child.stdout!),
    stderr,
    ended,
    /** Sends a signal; it must exit 0 in time. */
    async stop(signal: NodeJS.Signals = "SIGTERM") {
      child.kill(signal);
      assert.deepEqual(await within(ended, "the stop", 10_000), { status: 0, signal: null }, stderr());
    },
    kill() {
      child.kill("SIGKILL");
      return ended;
    },
  };
}

export const withOpenFiles = (most: number, command: Command = COMMAND): Command => [
  ...(["sh", "-c", `ulimit -n ${most}; exec "$@"`, "sh", ...command] as const),
];

export type Outcome = Awaited<ReturnType<typeof run>>;

export async function run(args: readonly string[], variables: Variables = {}) {
  const program = start(args, variables);
  const ended = await within(program.ended, args.join(" ")).finally(() => program.child.kill("SIGKILL"));
  return { ...ended, stdout: program.stdout(), stderr: program.stderr() };
}

export async function runWell(args: readonly string[], variables: Variables = {}): Promise<Outcome> {
  const outcome = await run(args, variables);
  assert.equal(outcome.status, 0, `${args.join(" ")}: ${outcome.stderr}`);
  return outcome;
}

/** It must have failed with one line. */
export function assertFailed({ status, stdout, stderr }: Outcome, line: RegExp): void {
  assert.deepEqual([status, stdout], [1, ""], stderr);
  assert.match(stderr, line);
  assert.match(stderr, /^[^\n]+\n$/, "one line");
}

/**
 * Polls `check` until it gives a truthy value, and returns that.
 *
 * @param what describes the awaited event; a function tells more after a failed wait
 * @param patience in milliseconds of a quiet machine
 */
export async function until<T>(
  check: () => T | Promise<T>,
  what: string | (() => string),
  patience = PATIENCE_MS,
): Promise<NonNullable<T>> {
  const began = performance.now();
  for (;;) {
    const found = await check();
    if (found) return found;
    if (timeLeft(began, patience) <= 0) {
      const told = typeof what === "string" ? what : what();
      assert.fail(`waited ${performance.now() - began} ms for ${told}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

export type LogLine = Record<string, unknown> & { event: string };

/** The whole lines of a text, each of which is JSON. */
export function jsonLines<Line = LogLine>(text: string): Line[] {
  const lines = text.split("\n").slice(0, -1);
  return lines.map((line) => JSON.parse(line) as Line);
}

export type Served = Awaited<ReturnType<typeof served>>;

/** The listening line, the only line on standard output. */
export const LISTENING =
  /^orrery listening on (http:\/\/127\.0\.0\.1:(\d+)\/api\/public\/v1) generation=([A-Za-z0-9._-]{1,64})\n/;

export async function served(program: Program) {
  const line = await until(() => {
    assert.equal(program.child.exitCode, null, `it ended: ${program.stderr()}`);
    return LISTENING.exec(program.stdout());
  }, "the listening line");
  /** Log lines so far, of one event or all. Fails on a line that is not JSON. */
  const logs = (event?: string): LogLine[] =>
    jsonLines(program.stderr()).filter((entry) => event === undefined || entry.event === event);
  /** URL of the admin listener, which must exist; ends with a slash. */
  const admin = (): string => String(logs("admin-listening")[0]!.url);
  return {
    ...program,
    url: line[1]!,
    port: Number(line[2]),
    generation: line[3]!,
    logs,
    /** Waits for so many log lines of an event; returns the last of them. */
    logged: (event: string, count = 1) =>
      until(() => logs(event)[count - 1], `${count} log lines of ${event} in:\n${program.stderr()}`),
    admin,
    /** One GET to it, by a path without a leading slash. */
    askAdmin: (path: string) => get(admin() + path),
  };
}

/** Starts a server on a free port and waits until it accepts requests. */
export function serve(
  snapshot: string,
  keys: string,
  args: readonly string[] = [],
  variables: Variables = {},
  command?: Command,
): Promise<Served> {
  const settings = ["serve", "--snapshot", snapshot, "--keys", keys, "--port", "0", ...args];
  return served(start(settings, variables, command));
}

export function residentBytes({ child }: Pick<Program, "child">): number {
  const status = readFileSync(`/proc/${child.pid}/status`, "utf8");
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)![1]) * 1024;
}

export interface Response {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

export interface GetOptions {
  readonly token?: string | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  readonly agent?: Agent;
  /** The path of a Unix socket, in place of the URL's host and port. */
  readonly socketPath?: string;
}

/**
 * One GET, on a connection of its own unless an agent is given. Rejects when the connection breaks. Accepts any certificate:
 * tests sign their own.
 */
export function get(
  url: string,
  { token, headers = {}, agent, ...more }: GetOptions = {},
): Promise<Response> {
  return new Promise((resolve, reject) => {
    const authorization = token === undefined ? {} : { Authorization: `Bearer ${token}` };
    const send = url.startsWith("https:") ? requestByTls : request;
    const own = { headers: { ...headers, ...authorization }, rejectUnauthorized: false, ...more };
    const ask = send(url, { agent: agent ?? false, timeout: PATIENCE_MS, ...own }, (answer) => {
      const text = textOf(answer);
      answer.once("error", reject);
      answer.once("end", () =>
        resolve({ status: answer.statusCode!, headers: answer.headers, text: text() }),
      );
    });
    ask.once("timeout", () => ask.destroy(new Error(`no answer from ${url}`)));
    ask.once("error", reject);
    ask.end();
  });
}

export function keepAlive(sockets: number): Agent {
  return new Agent({ keepAlive: true, maxSockets: sockets, maxFreeSockets: sockets });
}

export function errorOf({ text }: Response): string {
  return (JSON.parse(text) as { error: string }).error;
}

export function generationOf(response: Response): string {
  return response.headers.etag!.replaceAll('"', "");
}

/**
 * Clients that send requests over kept connections until the server refuses new ones. `over` rejects
 * when a request is lost, that is, when an established connection breaks.
 */
export function startClients(url: string, token: string, count: number) {
  const agent = keepAlive(count);
  let [answered, closes, refused, isOver] = [0, 0, 0, false];
  const client = async (): Promise<void> => {
    while (!isOver) {
      try {
        const { status, headers } = await get(`${url}/worlds`, { token, agent });
        assert.equal(status, 200);
        answered++;
        if (headers.connection === "close") closes++;
      } catch (error) {
        // The only allowed errors: the server no longer listens, or stopped listening during this connect.
        // In both cases no connection existed yet, and no request was sent on it.
        const { code, syscall } = error as NodeJS.ErrnoException;
        assert.equal(syscall, "connect", String(error));
        if (code === "ECONNRESET") continue;
        assert.equal(code, "ECONNREFUSED", String(error));
        refused++;
        return;
      }
    }
  };
  const over = Promise.all(Array.from({ length: count }, client)).finally(() => agent.destroy());
  over.catch(() => {});
  return {
    answered: () => answered,
    closes: () => closes,
    refused: () => refused,
    /** Resolves when all clients were refused or told to leave. */
    over,
    leave() {
      isOver = true;
      return over;
    },
  };
}

export function untilReply(
  server: Served,
  token: string,
  fits: (response: Response) => boolean,
  what: string,
  patience?: number,
): Promise<Response> {
  return until(
    async () => {
      const response = await get(`${server.url}/stats`, { token });
      return fits(response) ? response : undefined;
    },
    what,
    patience,
  );
}
