/** One connection to a counter server, by @redis/client: no queue, no retry, no reconnect, bounded time and bytes. */

import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { connect as connectSocket, type Socket } from "node:net";
import { SettingError } from "../settings/settings.ts";
import { importFailure } from "../util/optional-package.ts";
import { systemErrorText } from "../util/system-error.ts";
import type { RedisTarget } from "./redis-url.ts";
import { ReplyScanner } from "./reply-scanner.ts";

export class ReplyError extends Error {
  override name = "ReplyError";
}

export interface CounterConnection {
  readonly isCluster: boolean;
  /** Sends a command at once or never. @throws {ReplyError} the server's; after any other error it may have run or not */
  readonly run: (command: readonly string[]) => Promise<unknown>;
  readonly close: () => void;
}

/** Opens a connection. @throws the reason why it could not be opened @param onLost called once when an open connection becomes unusable; must not throw */
export type OpenConnection = (
  target: RedisTarget,
  onLost: (problem: string) => void,
) => Promise<CounterConnection>;

const OPEN_MS = 1000;

/** Bytes that a server may send unasked, per pending command, and for the command that reads a cluster's map. */
const SPARE_BYTES = 65_536;
const REPLY_BYTES = 1024;
const MAP_BYTES = 4_194_304;

const MOST_COMMANDS = 100_000;

/** An error about an unknown command quotes the command, truncated: it may contain half of a password, which is not recognized. */
const QUOTED_COMMAND = /,? with args beginning with:.*/;

/** Shorter passwords occur in ordinary words: masking them there would reveal the password. */
const LEAST_MASKED = 4;

export function withoutPassword(text: string, { password }: Pick<RedisTarget, "password">): string {
  return password === undefined || password.length < LEAST_MASKED ? text : text.replaceAll(password, "***");
}

export function problemOf(error: unknown, target: Pick<RedisTarget, "password">): string {
  const first = error instanceof AggregateError ? (error.errors[0] ?? error) : error;
  const text = systemErrorText(first) ?? (first as Error).message ?? String(first);
  const line = text.split("\n", 1)[0]!.replace(QUOTED_COMMAND, "");
  // Truncated only after masking: half of a password would not be recognized.
  return withoutPassword(line, target).slice(0, 200);
}

/** @throws {SettingError} when the package is missing or cannot be read */
async function importClient() {
  try {
    return await import("@redis/client");
  } catch (error) {
    throw importFailure(
      ["@redis/client"],
      error,
      (what) => new SettingError("sharedLimits", ` ${what}`, false),
    );
  }
}

type RedisModule = Awaited<ReturnType<typeof importClient>>;
type Client = ReturnType<RedisModule["createClient"]>;

const SOCKETS = "net.client.socket";

/** Runs a function that makes a socket. @returns the socket, if the runtime announces it */
function socketMadeBy(make: () => void): Socket | undefined {
  let made: Socket | undefined;
  const take = (message: unknown): void => {
    made = (message as { readonly socket: Socket }).socket;
  };
  subscribe(SOCKETS, take);
  try {
    make();
  } finally {
    unsubscribe(SOCKETS, take);
  }
  return made;
}

/** @param socket carries TLS, if there is one */
function createClient(
  { createClient: create }: RedisModule,
  { host, port, path, username, password, database }: RedisTarget,
  socket: Socket | undefined,
): Client {
  // An IP address is no server name.
  const servername = /[^\d.]/.test(host) && !host.includes(":") ? host : "";
  const place = path === undefined ? { host, port } : { path };
  return create({
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password }),
    database,
    name: "orrery",
    RESP: 3,
    disableOfflineQueue: true,
    disableClientInfo: true,
    maintNotifications: "disabled",
    commandsQueueMaxLength: MOST_COMMANDS,
    socket: {
      connectTimeout: OPEN_MS,
      reconnectStrategy: false,
      ...place,
      ...(socket === undefined ? {} : { tls: true, servername, socket }),
    },
  } as Parameters<typeof create>[0]) as unknown as Client;
}

class ClientConnection implements CounterConnection {
  /** `opening ─▶ usable ─▶ closed`, or closed at once. */
  #state: "opening" | "usable" | "closed" = "opening";
  isCluster = false;
  readonly #redis: RedisModule;
  readonly #target: RedisTarget;
  readonly #onLost: (problem: string) => void;
  readonly #client: Client;
  /** With TLS the socket is made here: the runtime does not announce the sockets that node:tls makes. */
  readonly #below: Socket | undefined;
  #socket: Socket | undefined;
  #received = 0;
  #allowed = SPARE_BYTES;
  #awaited = 0;
  #fail: (error: Error) => void = () => {};
  readonly #failed = new Promise<never>((_, reject) => {
    this.#fail = reject;
  });

  constructor(redis: RedisModule, target: RedisTarget, onLost: (problem: string) => void) {
    this.#redis = redis;
    this.#target = target;
    this.#onLost = onLost;
    this.#below = target.tls
      ? connectSocket({ host: target.host, port: target.port, noDelay: true })
      : undefined;
    this.#below?.on("error", (error) => this.#lose(error));
    this.#socket = this.#below;
    this.#client = createClient(redis, target, this.#below);
    this.#client.on("error", (error: Error) => this.#lose(error));
    this.#client.on("end", () => this.#lose(new Error("the connection was closed")));
    this.#failed.catch(() => {});
  }

  /** Call it once. @throws the reason why it could not be opened */
  async open(): Promise<void> {
    const late = (): void => {
      if (this.#state === "opening") this.#lose(new Error("the server did not answer in time"));
    };
    // Bytes that have arrived by then are read first.
    const timer = setTimeout(() => setImmediate(late), OPEN_MS);
    try {
      await Promise.race([this.#connect(), this.#failed]);
      const hello = await Promise.race([this.run(["HELLO"]), this.#failed]);
      this.isCluster = (hello as { readonly mode?: unknown } | null)?.mode === "cluster";
      if (this.#state === "opening") this.#state = "usable";
    } catch (error) {
      this.#lose(error as Error);
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  async run(command: readonly string[]): Promise<unknown> {
    const bytes = command[0] === "CLUSTER" ? MAP_BYTES : REPLY_BYTES;
    this.#awaited += bytes;
    this.#allowed += bytes;
    try {
      return await this.#client.sendCommand([...command]);
    } catch (error) {
      if (error instanceof this.#redis.ErrorReply) throw new ReplyError(problemOf(error, this.#target));
      throw error;
    } finally {
      this.#awaited -= bytes;
      this.#allowed = this.#received + SPARE_BYTES + this.#awaited;
    }
  }

  close(): void {
    this.#state = "closed";
    this.#client.destroy();
    // The client does not stop a socket that is still connecting.
    this.#socket?.destroy();
  }

  #lose(error: Error): void {
    const state = this.#state;
    if (state === "closed") return;
    this.close();
    this.#fail(error);
    if (state === "usable") this.#onLost(problemOf(error, this.#target));
  }

  #connect(): Promise<unknown> {
    let connecting: Promise<unknown> = Promise.resolve();
    const made = socketMadeBy(() => {
      connecting = this.#client.connect();
      connecting.catch(() => {});
    });
    this.#socket ??= made;
    // With TLS the bytes are encrypted and cannot be scanned, but that server has a trusted certificate.
    const scanner = this.#below === undefined ? new ReplyScanner() : undefined;
    // Added before the client's own listener.
    this.#socket?.on("data", (chunk: Buffer) => this.#receive(chunk, scanner?.scan(chunk) ?? 0));
    return connecting;
  }

  /** @param announced bytes that the server has announced but not yet sent */
  #receive(chunk: Buffer, announced: number): void {
    this.#received += chunk.length;
    if (this.#received + announced <= this.#allowed) return;
    const isReply = announced !== Number.POSITIVE_INFINITY;
    this.#lose(
      new Error(
        isReply ? "the server sent more than it was asked for" : "the server answered what is no reply",
      ),
    );
    // The client's listener still gets this chunk.
    chunk.fill(0);
  }
}

/** Gives the function that opens connections with the real client. @throws {SettingError} if it is not installed */
export async function importOpenConnection(): Promise<OpenConnection> {
  const redis = await importClient();
  return async (target, onLost) => {
    const connection = new ClientConnection(redis, target, onLost);
    await connection.open();
    return connection;
  };
}
