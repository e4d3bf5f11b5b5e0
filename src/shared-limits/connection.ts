/** One connection to a counter server: no retry, no reconnect, bounded time and bytes. */

import { connect as connectPlain, isIP, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { systemErrorText } from "../util/system-error.ts";
import { startRealTimer } from "./monotonic.ts";
import { commandText, ReplyError, ReplyReader } from "./protocol.ts";
import type { RedisTarget } from "./redis-url.ts";

export interface CounterConnection {
  readonly isCluster: boolean;
  /** Sends a command at once or never. @throws {ReplyError} the server's; after any other error it may have run or not */
  readonly run: (command: readonly string[]) => Promise<unknown>;
  readonly close: () => void;
}

/**
 * Opens a connection. Messages of errors hold no password. @throws the reason why it could not be opened
 * @param onLost called once when it is closed or becomes unusable; must not throw
 */
export type OpenConnection = (
  target: RedisTarget,
  onLost: (problem: string) => void,
) => Promise<CounterConnection>;

const OPEN_MS = 1000;

/** Most bytes of a reply, and of the one with a cluster's map. */
const REPLY_BYTES = 65_536;
const MAP_BYTES = 4_194_304;

/** An error about an unknown command quotes the command, truncated: it may contain half of a password, which is not recognized. */
const QUOTED_COMMAND = /,? with args beginning with:.*/;

/** Shorter passwords occur in ordinary words: masking them there would reveal the password. */
const LEAST_MASKED = 4;

export function withoutPassword(text: string, { password }: Pick<RedisTarget, "password">): string {
  return password === undefined || password.length < LEAST_MASKED ? text : text.replaceAll(password, "***");
}

function problemOf(error: unknown, target: Pick<RedisTarget, "password">): string {
  const first = error instanceof AggregateError ? (error.errors[0] ?? error) : error;
  const text = systemErrorText(first) ?? (first as Error).message ?? String(first);
  const line = text.split("\n", 1)[0]!.replace(QUOTED_COMMAND, "");
  // Truncated only after masking: half of a password would not be recognized.
  return withoutPassword(line, target).slice(0, 200);
}

function connectTo({ tls, host, port, path }: RedisTarget): Socket {
  if (path !== undefined) return connectPlain(path);
  // An IP address is no server name.
  return tls ? connectTls({ host, port, servername: isIP(host) ? "" : host }) : connectPlain(port, host);
}

/** A command without a reply. */
interface Sent {
  readonly mostBytes: number;
  readonly resolve: (reply: unknown) => void;
  readonly reject: (error: Error) => void;
}

class Connection implements CounterConnection {
  isCluster = false;
  readonly #target: RedisTarget;
  readonly #onLost: (problem: string) => void;
  readonly #socket: Socket;
  readonly #reader = new ReplyReader();
  /** In order, as the replies come. */
  readonly #sent: Sent[] = [];
  /** Why it is closed. */
  #end: Error | undefined;

  constructor(target: RedisTarget, onLost: (problem: string) => void) {
    this.#target = target;
    this.#onLost = onLost;
    this.#socket = connectTo(target)
      .setNoDelay()
      .on("data", (bytes) => this.#receive(bytes))
      .on("error", (error) => this.close(error))
      .on("close", () => this.close());
  }

  /** Call it once. @throws the reason why it could not be opened */
  async open(): Promise<void> {
    const { username = "default", password, database } = this.#target;
    const auth = password === undefined ? [] : ["AUTH", username, password];
    const late = (): void => this.close(new Error("the server did not answer in time"));
    const stopTimer = startRealTimer(late, OPEN_MS);
    try {
      const hello = this.run(["HELLO", "3", ...auth, "SETNAME", "orrery"]);
      const select = database > 0 ? this.run(["SELECT", String(database)]) : undefined;
      const [told] = await Promise.all([hello, select]);
      this.isCluster = Array.isArray(told) && told[told.indexOf("mode") + 1] === "cluster";
    } catch (error) {
      this.close(error);
      throw this.#end;
    } finally {
      stopTimer();
    }
  }

  run(command: readonly string[]): Promise<unknown> {
    const mostBytes = command[0] === "CLUSTER" ? MAP_BYTES : REPLY_BYTES;
    return new Promise((resolve, reject) => {
      if (this.#end !== undefined) return reject(this.#end);
      this.#sent.push({ mostBytes, resolve, reject });
      this.#socket.write(commandText(command));
    });
  }

  close(error: unknown = new Error("the connection was closed")): void {
    if (this.#end !== undefined) return;
    const problem = problemOf(error, this.#target);
    this.#end = new Error(problem);
    this.#socket.destroy();
    for (const { reject } of this.#sent) reject(this.#end);
    this.#onLost(problem);
  }

  #receive(bytes: Buffer): void {
    try {
      const replies = this.#reader.read(bytes);
      const mostBytes = this.#sent[replies.length]?.mostBytes ?? 0;
      if (replies.length > this.#sent.length || this.#reader.size > mostBytes)
        throw new Error("the server sent more than it was asked for");
      for (const reply of replies) {
        const { resolve, reject } = this.#sent.shift()!;
        if (reply instanceof ReplyError) reject(new ReplyError(problemOf(reply, this.#target)));
        else resolve(reply);
      }
    } catch (error) {
      this.close(error);
    }
  }
}

export const openConnection: OpenConnection = async (target, onLost) => {
  const connection = new Connection(target, onLost);
  await connection.open();
  return connection;
};
