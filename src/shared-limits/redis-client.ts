/**
 * A connected client of a counter server, or of a cluster of them, by @redis/client. It never reconnects and keeps no
 * command for later: `counter-server.ts` opens another one.
 */

import { SettingError } from "../settings/settings.ts";
import { importFailure } from "../util/optional-package.ts";
import { systemErrorText } from "../util/system-error.ts";
import { placeOf, type RedisTarget } from "./redis-url.ts";

export interface RedisClient {
  /** Address of the server that holds a key. */
  readonly serverOf: (key: string) => string;
  /** Addresses of all servers of a cluster; empty if this is none. */
  readonly servers: readonly string[];
  /** Runs a script with one key. @throws the server's error, or that of the connection: then it may have run or not */
  readonly evaluate: (script: Script, key: string, args: string[]) => Promise<unknown>;
  readonly close: () => void;
}

export interface Script {
  readonly text: string;
  readonly sha1: string;
}

/**
 * Opens a client. @param known servers of the cluster that an earlier client belonged to @param onLost called when an
 * open connection becomes unusable; must not throw @throws the reason why it could not be opened
 */
export type OpenClient = (
  target: RedisTarget,
  known: readonly string[],
  onLost: (error: Error) => void,
) => Promise<RedisClient>;

const OPEN_MS = 1000;

/** Servers of a cluster that is believed; a cluster has a thousand at most. */
const MOST_SERVERS = 2000;

/** More than ever wait: a late server is asked nothing more. */
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

/** @throws {SettingError} when the package is missing */
async function importRedis() {
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

type RedisModule = Awaited<ReturnType<typeof importRedis>>;

function optionsFor({ tls, username, password }: RedisTarget) {
  return {
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password }),
    name: "orrery",
    disableOfflineQueue: true,
    disableClientInfo: true,
    maintNotifications: "disabled",
    commandsQueueMaxLength: MOST_COMMANDS,
    socket: { connectTimeout: OPEN_MS, reconnectStrategy: false, ...(tls ? { tls } : {}) },
  } as const;
}

interface Opening {
  connect(): Promise<unknown>;
  destroy(): void;
}

/** Connects a client, for a bounded time. @param ask a first question @returns its answer */
async function open<Client extends Opening, Answer>(
  client: Client,
  ask: () => Promise<Answer>,
): Promise<Answer> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    // Bytes that have arrived by then are read first.
    const end = (): void => reject(new Error("the server did not answer in time"));
    timer = setTimeout(() => setImmediate(end), OPEN_MS);
  });
  const connecting = client.connect();
  try {
    return await Promise.race([connecting.then(ask), late]);
  } catch (error) {
    client.destroy();
    // A socket that is still connecting can be destroyed only when it has connected.
    connecting.then(() => client.destroy()).catch(() => {});
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

/** Host and port of a server; with TLS its name, which must be no IP address. */
function socketTo(host: string, port: number, tls: boolean) {
  const isName = /[^\d.]/.test(host) && !host.includes(":");
  return { host, port, ...(tls && isName ? { servername: host } : {}) };
}

/** The same from `host:port`, where the host may be an IPv6 address, in brackets or not. */
function socketToServer(server: string, tls: boolean) {
  const colon = server.lastIndexOf(":");
  const host = server.slice(0, colon).replace(/^\[(.*)\]$/, "$1");
  return socketTo(host, Number(server.slice(colon + 1)), tls);
}

type Evaluate = (sha1OrText: string, options: { keys: string[]; arguments: string[] }) => Promise<unknown>;

/** Runs a script by its hash; where the server does not know it, by its text. */
function evaluateWith(client: { evalSha: Evaluate; eval: Evaluate }): RedisClient["evaluate"] {
  return ({ text, sha1 }, key, args) => {
    const options = { keys: [key], arguments: args };
    return client.evalSha(sha1, options).catch((error: Error) => {
      if (error.message.startsWith("NOSCRIPT")) return client.eval(text, options);
      throw error;
    });
  };
}

async function openSingle(
  { createClient }: RedisModule,
  target: RedisTarget,
  onLost: (error: Error) => void,
) {
  const { path, host, port, database, tls } = target;
  const options = optionsFor(target);
  const place = path === undefined ? socketTo(host, port, tls) : { path };
  const client = createClient({
    ...options,
    database,
    socket: { ...options.socket, ...place },
  } as Parameters<typeof createClient>[0]);
  let lose = (_: Error): void => {};
  client.on("error", (error: Error) => lose(error));
  client.on("end", () => lose(new Error("the connection was closed")));
  const hello = (await open(client, () => client.hello())) as { readonly mode?: unknown };
  lose = onLost;
  const close = (): void => {
    lose = () => {};
    client.destroy();
  };
  return { client, close, isCluster: hello.mode === "cluster" };
}

async function openCluster({ createCluster }: RedisModule, target: RedisTarget, servers: readonly string[]) {
  const { tls } = target;
  const cluster = createCluster({
    rootNodes: servers.map((server) => ({ socket: socketToServer(server, tls) })),
    defaults: optionsFor(target),
    nodeAddressMap: (server: string) => socketToServer(server, tls),
    // A server that is lost must not keep the others from being asked.
    minimizeConnections: true,
  } as unknown as Parameters<typeof createCluster>[0]);
  // Each failure is that of a question, too.
  cluster.on("error", () => {}).on("node-error", () => {});
  await open(cluster, async () => {});
  const found = cluster.masters.filter(({ port }) => port > 0).map(({ address }) => address);
  if (found.length > 0 && found.length <= MOST_SERVERS) return { cluster, found };
  cluster.destroy();
  throw new Error(`the cluster has ${found.length} servers`);
}

const SLOTS = 16_384;

const POLYNOMIAL = 0x1021;

/** The slot of a key: CRC-16 (XMODEM) of the text in its first braces, else of the whole key. The client does not export it. */
export function slotOfKey(key: string): number {
  const [, inBraces = ""] = /^[^{]*\{([^}]*)\}/.exec(key) ?? [];
  let crc = 0;
  for (const byte of Buffer.from(inBraces || key)) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit++) crc = crc & 0x8000 ? (crc << 1) ^ POLYNOMIAL : crc << 1;
    crc &= 0xffff;
  }
  return crc % SLOTS;
}

/** Gives the function that opens real clients. @throws {SettingError} if @redis/client is not installed */
export async function importOpenClient(): Promise<OpenClient> {
  const redis = await importRedis();
  return async (target, known, onLost) => {
    const place = placeOf(target);
    let servers = known;
    try {
      const { client, close, isCluster } = await openSingle(redis, target, onLost);
      if (!isCluster) return { serverOf: () => place, servers: [], evaluate: evaluateWith(client), close };
      close();
      servers = [place, ...known];
    } catch (error) {
      // Another server of the cluster may know where the keys lie.
      if (known.length === 0) throw error;
    }
    const { cluster, found } = await openCluster(redis, target, servers);
    return {
      serverOf(key) {
        const { master } = cluster.slots[slotOfKey(key)] ?? {};
        return master?.port ? master.address : place;
      },
      servers: found,
      evaluate: evaluateWith(cluster),
      close: () => cluster.destroy(),
    };
  };
}
