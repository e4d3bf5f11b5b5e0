/** One connection to a counter server, by @redis/client: no queue, no retry, no reconnect, bounded time and bytes. */

import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { connect as connectSocket, type Socket } from "node:net";
import { systemErrorText } from "../util/system-error.ts";
import type { RedisTarget } from "./redis-url.ts";
import { createReplyScanner } from "./reply-scanner.ts";

/** The package that this needs is not installed. */
export class MissingClientError extends Error {
  override name = "MissingClientError";
}

/** A server answered a command with an error: it has done nothing. */
export class ReplyError extends Error {
  override name = "ReplyError";
}

/** A connection that can be used. */
export interface Connection {
  /** Whether the server is one of a cluster. */
  readonly isCluster: boolean;
  /**
   * Runs one command, at once or never.
   *
   * @throws {ReplyError} the server's; any other error when it is not known whether the command has run
   */
  readonly run: (command: readonly string[]) => Promise<unknown>;
  readonly close: () => void;
}

/** Opens connections. @param onLost told once when an open one can no longer be used; must not throw */
export type OpenConnection = (target: RedisTarget, onLost: (problem: string) => void) => Promise<Connection>;

/** How long a connection may take to be usable, in milliseconds. */
const OPEN_MS = 1000;

/** Bytes that a server may send unasked, for each pending command, and for one that asks for the map of a cluster. */
const SPARE_BYTES = 65_536;
const REPLY_BYTES = 1024;
const MAP_BYTES = 4_194_304;

/** Most pending commands. */
const MOST_COMMANDS = 100_000;

/** An error about an unknown command quotes the command, cut short: half of a password would not be recognized in it. */
const QUOTED_COMMAND = /,? with args beginning with:.*/;

/** Shorter passwords are part of ordinary words: masking those would tell the password. */
const LEAST_MASKED = 4;

/** A text without the password. */
export function withoutPassword(text: string, { password }: Pick<RedisTarget, "password">): string {
  return password === undefined || password.length < LEAST_MASKED ? text : text.replaceAll(password, "***");
}

/** An error as a line without the password. */
export function problemOf(error: unknown, target: Pick<RedisTarget, "password">): string {
  const first = error instanceof AggregateError ? (error.errors[0] ?? error) : error;
  const text = systemErrorText(first) ?? (first as Error).message ?? String(first);
  const line = text.split("\n", 1)[0]!.replace(QUOTED_COMMAND, "");
  // Cut short only now: half of a password would not be recognized.
  return withoutPassword(line, target).slice(0, 200);
}

/**
 * Imports the client: an optional package, which nothing else needs.
 *
 * @throws {MissingClientError} naming the command that installs it
 */
async function importClient() {
  try {
    return await import("@redis/client");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== "ERR_MODULE_NOT_FOUND" && code !== "MODULE_NOT_FOUND") throw error;
    throw new MissingClientError(
      "needs a package that is not installed: npm install @redis/client (with --global where orrery was)",
    );
  }
}

type Client = ReturnType<Awaited<ReturnType<typeof importClient>>["createClient"]>;

/** The diagnostics channel that announces client sockets. */
const SOCKETS = "net.client.socket";

/** Runs what makes a socket. @returns the socket, where the runtime announces it */
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

function createClient(
  { createClient: create }: Awaited<ReturnType<typeof importClient>>,
  target: RedisTarget,
  socket: Socket | undefined,
): Client {
  const { host, port, path, tls, username, password, database } = target;
  const common = { connectTimeout: OPEN_MS, reconnectStrategy: false } as const;
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
    socket: tls
      ? {
          ...common,
          tls: true,
          host,
          port,
          servername: /[^\d.]/.test(host) && !host.includes(":") ? host : "",
          ...(socket ? { socket } : {}),
        }
      : path === undefined
        ? { ...common, host, port }
        : { ...common, path },
  }) as unknown as Client;
}

function isCluster(hello: unknown): boolean {
  if (hello instanceof Map) return hello.get("mode") === "cluster";
  if (Array.isArray(hello)) return hello[hello.indexOf("mode") + 1] === "cluster";
  return (hello as { readonly mode?: unknown } | null)?.mode === "cluster";
}

/** Opens a connection with the real client. @throws {MissingClientError} or why it could not be opened */
export const openConnection: OpenConnection = async (target, onLost) => {
  const redis = await importClient();
  // Under TLS the socket is made here: those that node:tls makes are not announced.
  const below = target.tls
    ? connectSocket({ host: target.host, port: target.port, noDelay: true })
    : undefined;
  const client = createClient(redis, target, below);
  let received = 0;
  let allowed = SPARE_BYTES;
  /** Bytes that pending commands may bring. */
  let awaited = 0;
  let isOpen = true;
  let isUsable = false;
  let fail: (error: Error) => void = () => {};
  const failed = new Promise<never>((_, reject) => {
    fail = reject;
  });
  failed.catch(() => {});
  let socket = below;
  function close(): void {
    isOpen = false;
    client.destroy();
    // The client does not stop one that is still connecting.
    socket?.destroy();
  }
  const lose = (error: Error): void => {
    if (!isOpen) return;
    close();
    fail(error);
    if (isUsable) onLost(problemOf(error, target));
  };
  below?.on("error", lose);
  client.on("error", (error: Error) => lose(error));
  client.on("end", () => lose(new Error("the connection was closed")));
  const late = (): void => lose(new Error("the server did not answer in time"));
  // What has arrived by then is read first.
  const timer = setTimeout(() => setImmediate(() => isUsable || late()), OPEN_MS);
  async function run(command: readonly string[]): Promise<unknown> {
    const bytes = command[0] === "CLUSTER" ? MAP_BYTES : REPLY_BYTES;
    awaited += bytes;
    allowed += bytes;
    try {
      return await client.sendCommand([...command]);
    } catch (error) {
      if (error instanceof redis.ErrorReply) throw new ReplyError(problemOf(error, target));
      throw error;
    } finally {
      awaited -= bytes;
      allowed = received + SPARE_BYTES + awaited;
    }
  }
  try {
    let connecting: Promise<unknown> = Promise.resolve();
    const made = socketMadeBy(() => {
      connecting = client.connect();
      connecting.catch(() => {});
    });
    socket = below ?? made;
    // Added before the client's own listener. Under TLS the bytes are encrypted, but that server has a trusted certificate.
    const scan = below === undefined ? createReplyScanner() : () => 0;
    socket?.on("data", (chunk: Buffer) => {
      received += chunk.length;
      const announced = scan(chunk);
      if (received + announced <= allowed) return;
      lose(
        new Error(
          announced === Number.POSITIVE_INFINITY
            ? "the server answered what is no reply"
            : "the server sent more than it was asked for",
        ),
      );
      // The client's listener gets this chunk all the same.
      chunk.fill(0);
    });
    await Promise.race([connecting, failed]);
    const hello = await Promise.race([run(["HELLO"]), failed]);
    isUsable = true;
    return {
      isCluster: isCluster(hello),
      run,
      close,
    };
  } catch (error) {
    lose(error as Error);
    throw error;
  } finally {
    clearTimeout(timer);
  }
};
