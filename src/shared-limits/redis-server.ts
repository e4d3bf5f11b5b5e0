/**
 * A Valkey or Redis server, or a cluster of them, by @redis/client, which reconnects by itself and finds the servers of a
 * cluster. A client that sent bytes that are no reply, or no answer for a second in which it was asked, is replaced: its
 * connection may lead nowhere, or its answers belong to other questions.
 */

import { createHash } from "node:crypto";
import { isIP } from "node:net";
import { SettingError } from "../settings/settings.ts";
import { importFailure } from "../util/optional-package.ts";
import { systemErrorText } from "../util/system-error.ts";
import { COUNT_SCRIPT, type CounterServer } from "./counts.ts";
import type { RedisTarget } from "./redis-url.ts";

/** Timeout of an answer, in milliseconds: with the wait for the question, shorter than the 50 ms that a request may wait. */
const ANSWER_MS = 40;
const OPEN_MS = 1000;
/** A client that failed for so long is replaced, after a pause of half of it to all of it. */
const SILENT_MS = 1000;
const LONGEST_PAUSE_MS = 5000;
/** Most questions without an answer; further ones fail at once. */
const MOST_WAITING = 100_000;

/** An error about an unknown command quotes the command, truncated: it may contain half of a password, which is not recognized. */
const QUOTED_COMMAND = /,? with args beginning with:.*/;
/** Shorter passwords occur in ordinary words: masking them there would reveal the password. */
const LEAST_MASKED = 4;

function safeMessage(error: unknown, { password = "" }: RedisTarget): string {
  const first = error instanceof AggregateError ? (error.errors[0] ?? error) : error;
  const text = systemErrorText(first) ?? (first as Error).message ?? String(first);
  const line = text.split("\n", 1)[0]!.replace(QUOTED_COMMAND, "");
  // Truncated only after masking: half of a password would not be recognized.
  return (password.length < LEAST_MASKED ? line : line.replaceAll(password, "***")).slice(0, 200);
}

/** @throws {SettingError} when the package is missing */
export async function importRedis() {
  try {
    return await import("@redis/client");
  } catch (error) {
    const fail = (what: string): SettingError => new SettingError("sharedLimits", ` ${what}`, false);
    throw importFailure(["@redis/client"], error, fail);
  }
}

type RedisModule = Awaited<ReturnType<typeof importRedis>>;

interface Client {
  readonly send: (key: string, command: string[], abortSignal: AbortSignal) => Promise<unknown>;
  readonly destroy: () => void;
}

function optionsFor({ tls, username, password }: RedisTarget) {
  return {
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password }),
    name: "orrery",
    disableClientInfo: true,
    maintNotifications: "disabled",
    commandsQueueMaxLength: MOST_WAITING,
    // Questions have a timeout of their own.
    commandOptions: { timeout: 0 },
    socket: {
      connectTimeout: OPEN_MS,
      reconnectStrategy: (attempts: number) => Math.min(100 * 2 ** attempts, LONGEST_PAUSE_MS),
      ...(tls ? { tls } : {}),
    },
  } as const;
}

type Place = { readonly host: string; readonly port: number } | { readonly path: string };

/** Whether a client failed to read what came. Errors of connections and replies have a code, or a class of their own. */
function isGarbage(error: Error): boolean {
  return ["Error", "TypeError", "RangeError"].includes(error.constructor.name) && !("code" in error);
}

/** Parts of a timeout. A part counts as its length however late its timer is: a busy thread is no delay of the server. */
const PARTS = 4;

/** Waits for an answer. Bytes that have arrived by the end are read first. @throws {Error} by `end`, when it is late */
async function inTime<T>(answer: Promise<T>, ms: number, end: () => Error): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    const wait = (parts: number): void => {
      const next = (): unknown => (parts > 1 ? wait(parts - 1) : setImmediate(() => reject(end())));
      timer = setTimeout(next, ms / PARTS);
    };
    wait(PARTS);
  });
  return await Promise.race([answer, late]).finally(() => clearTimeout(timer));
}

export class RedisServer implements CounterServer {
  #redis: RedisModule | undefined;
  readonly #target: RedisTarget;
  readonly #answerMs: number;
  readonly #sha1 = createHash("sha1").update(COUNT_SCRIPT).digest("hex");
  #client: Client | undefined;
  /** Places of a cluster's servers; empty if it is none, or not known yet. */
  #nodes: readonly Place[] = [];
  /** Why there is no connection. */
  #problem: string | undefined;
  #failingSince: number | undefined;
  #waiting = 0;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;
  /** Resolves when it is connected or could not be. */
  readonly tried: Promise<void>;

  /** Begins to connect. @param answerMs longer in tests on busy machines */
  constructor(target: RedisTarget, answerMs = ANSWER_MS) {
    this.#target = target;
    this.#answerMs = answerMs;
    this.tried = this.#connect();
  }

  get(key: string): Promise<unknown> {
    return this.#ask((client, signal) => client.send(key, ["GET", key], signal));
  }

  evaluate(key: string, given: readonly string[]): Promise<unknown> {
    return this.#ask(async (client, signal) => {
      try {
        return await client.send(key, ["EVALSHA", this.#sha1, "1", key, ...given], signal);
      } catch (error) {
        const isUnknown = (error as Error).message.startsWith("NOSCRIPT");
        if (signal.aborted || (error instanceof this.#redis!.ErrorReply && !isUnknown)) throw error;
        // The server does not know the script, or has closed an idle connection.
        return await client.send(key, ["EVAL", COUNT_SCRIPT, "1", key, ...given], signal);
      }
    });
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#client?.destroy();
    this.#client = undefined;
  }

  async #ask(send: (client: Client, signal: AbortSignal) => Promise<unknown>): Promise<unknown> {
    const client = this.#client;
    if (client === undefined) throw new Error(this.#problem ?? "no connection");
    if (this.#waiting >= MOST_WAITING) throw new Error("too many questions wait for an answer");
    const late = new AbortController();
    this.#waiting++;
    const sent = send(client, late.signal).finally(() => this.#waiting--);
    sent.catch(() => {});
    try {
      const answer = await inTime(sent, this.#answerMs, () => {
        // What was not sent yet never will be.
        late.abort();
        return new Error(this.#problem ?? `no answer within ${this.#answerMs} ms`);
      });
      this.#failingSince = undefined;
      this.#problem = undefined;
      return answer;
    } catch (error) {
      this.#failingSince ??= performance.now();
      if (performance.now() - this.#failingSince > SILENT_MS) this.#replace(client);
      throw new Error(safeMessage(error, this.#target));
    }
  }

  async #connect(): Promise<void> {
    try {
      this.#redis ??= await importRedis();
      const client = await (this.#nodes.length > 0
        ? this.#openCluster(this.#redis, this.#nodes)
        : this.#openSingle(this.#redis));
      if (this.#isClosed) return client.destroy();
      this.#client = client;
      this.#problem = undefined;
      this.#failingSince = undefined;
    } catch (error) {
      this.#nodes = [];
      this.#problem = safeMessage(error, this.#target);
      this.#connectLater();
    }
  }

  #connectLater(): void {
    clearTimeout(this.#timer);
    if (this.#isClosed) return;
    this.#timer = setTimeout(() => void this.#connect(), SILENT_MS * (0.5 + Math.random() / 2)).unref();
  }

  #replace(client: Client): void {
    client.destroy();
    if (client !== this.#client) return;
    this.#client = undefined;
    this.#connectLater();
  }

  async #openSingle(redis: RedisModule): Promise<Client> {
    const { host, port, path, tls, database } = this.#target;
    const options = optionsFor(this.#target);
    const place: Place = path === undefined ? { host, port } : { path };
    const name = tls && isIP(host) === 0 ? { servername: host } : {};
    const single = redis.createClient({
      ...options,
      database,
      socket: { ...options.socket, ...place, ...name },
    } as Parameters<RedisModule["createClient"]>[0]);
    const client: Client = {
      send: (_, command, abortSignal) => single.sendCommand(command, { abortSignal }),
      destroy: () => single.destroy(),
    };
    single.on("error", (error: Error) => this.#note(client, error));
    const mode = async (): Promise<unknown> => (await single.hello()).mode;
    if ((await this.#opened(client, single.connect().then(mode))) !== "cluster") return client;
    single.destroy();
    return await this.#openCluster(redis, [place]);
  }

  async #openCluster(redis: RedisModule, nodes: readonly Place[]): Promise<Client> {
    const cluster = redis.createCluster({
      rootNodes: nodes.map((socket) => ({ socket })),
      defaults: optionsFor(this.#target),
      commandOptions: { timeout: 0 },
      // A server that is lost must not keep the others from being asked.
      minimizeConnections: true,
    } as Parameters<RedisModule["createCluster"]>[0]);
    const client: Client = {
      send: (key, command, abortSignal) => cluster.sendCommand(key, false, command, { abortSignal }),
      destroy: () => cluster.destroy(),
    };
    cluster.on("error", () => {}).on("node-error", (error: Error) => this.#note(client, error));
    await this.#opened(client, cluster.connect());
    this.#nodes = cluster.masters.map(({ host, port }) => ({ host, port }));
    return client;
  }

  /** Waits for a client that opens, for a bounded time. */
  async #opened<T>(client: Client, opening: Promise<T>): Promise<T> {
    try {
      return await inTime(opening, OPEN_MS, () => new Error(this.#problem ?? "no connection in time"));
    } catch (error) {
      client.destroy();
      // A socket that is still connecting can be destroyed only when it has connected.
      opening.then(client.destroy, () => {});
      throw error;
    }
  }

  #note(client: Client, error: Error): void {
    this.#problem = safeMessage(error, this.#target);
    if (isGarbage(error)) this.#replace(client);
  }
}
