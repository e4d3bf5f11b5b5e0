/**
 * Leases permits from a Valkey or Redis server, or from a cluster of them.
 *
 * One rule for trouble: a server that does not answer in time, or answers that it cannot count, is away. It is asked
 * nothing more until it has passed a check over a new connection, in time, so no other request waits for it. A question is
 * sent once and never repeated: without an answer it may have run or not. An answer that comes later is ignored; the next
 * one in time contains it.
 *
 * While a server is away, a new client is opened after each pause. It replaces the one before when it is connected, since
 * the old connection may lead nowhere. In a cluster, the client of @redis/client finds the servers of the keys.
 */

import { createHash } from "node:crypto";
import { GrowingPauses } from "../util/process/pauses.ts";
import {
  argumentsOf,
  LEASE_SCRIPT,
  type LeaseAnswer,
  type LeaseAsk,
  readAnswer,
  stateKey,
} from "./lease-script.ts";
import { startRealTimer } from "./real-timer.ts";
import { type OpenClient, problemOf, type RedisClient, withoutPassword } from "./redis-client.ts";
import { placeOf, type RedisTarget } from "./redis-url.ts";

/** Timeout of an answer, in milliseconds: shorter than a request waits. */
const ANSWER_MS = 40;

/** Backoff between attempts to connect, in milliseconds; each pause is a random part of it, at least half. */
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 5000;

/** If the last attempt was so long ago, the backoff begins anew; longer than the longest pause. */
const STEADY_MS = 15_000;

/** A replaced client of a cluster may wait for answers of its other servers. */
const CLOSE_MS = 1000;

export interface CounterEvents {
  /** A server can no longer be asked; called once. @param server its address */
  readonly onAway: (server: string, problem: string) => void;
  /** That server can be asked again, or another one holds its keys. */
  readonly onBack: (server: string) => void;
  /** A client is connected: keys whose server is up may be asked for again. */
  readonly onUp: () => void;
  /** The server's clock minus the clock here, in milliseconds; measured by the check. */
  readonly onClock: (offset: number) => void;
}

export interface CounterServerOptions {
  readonly target: RedisTarget;
  /** Length of a window. */
  readonly seconds: number;
  /** Name of this lessee at the server. */
  readonly lessee: string;
  readonly events: CounterEvents;
  readonly open: OpenClient;
  /** Timeout of an answer in milliseconds; longer in tests on busy machines. */
  readonly answerMs?: number | undefined;
}

const SCRIPT = { text: LEASE_SCRIPT, sha1: createHash("sha1").update(LEASE_SCRIPT).digest("hex") };

/** Source of leases. Begins to connect at once. */
export class CounterServer {
  readonly #options: CounterServerOptions;
  #client: RedisClient | undefined;
  /** Servers that are away, and a key that each holds; "" if a connection failed before any question. */
  readonly #away = new Map<string, string>();
  readonly #pauses = new GrowingPauses(FIRST_PAUSE_MS, LONGEST_PAUSE_MS);
  #triedAt = Number.NEGATIVE_INFINITY;
  #isConnecting = false;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;
  /** Resolves when the server has answered or could not be reached. */
  readonly tried: Promise<void>;

  constructor(options: CounterServerOptions) {
    this.#options = options;
    this.tried = this.#connect();
  }

  isUp(keyId: string): boolean {
    const key = stateKey(keyId, this.#options.seconds);
    return this.#client !== undefined && !this.#away.has(this.#client.serverOf(key));
  }

  /** Asks once. Rejects if no valid answer came in time, even if the script may have run. */
  async lease(keyId: string, ask: LeaseAsk): Promise<LeaseAnswer> {
    const key = stateKey(keyId, this.#options.seconds);
    const client = this.#client;
    const server = client?.serverOf(key) ?? "";
    if (client === undefined || this.#away.has(server)) throw new Error("away");
    try {
      return await this.#evaluate(client, key, ask);
    } catch (error) {
      if (client === this.#client) this.#lose(server, key, error);
      // The client was replaced meanwhile; the key may be asked for over the new one.
      else setImmediate(this.#options.events.onUp);
      throw error;
    }
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#client?.close();
    this.#client = undefined;
  }

  /** Runs the script. Rejects if the answer is late: bytes that have arrived by then are read first. */
  async #evaluate(client: RedisClient, key: string, ask: LeaseAsk): Promise<LeaseAnswer> {
    const { seconds, lessee, answerMs = ANSWER_MS } = this.#options;
    const answer = client.evaluate(SCRIPT, key, argumentsOf(seconds, lessee, ask));
    let stopTimer = (): void => {};
    const late = new Promise<never>((_, reject) => {
      stopTimer = startRealTimer(() => reject(new Error(`no answer within ${answerMs} ms`)), answerMs);
    });
    const inTime = await Promise.race([answer, late]).finally(() => stopTimer());
    return readAnswer(inTime, seconds);
  }

  async #connect(): Promise<void> {
    this.#isConnecting = true;
    try {
      await this.#openClient();
    } finally {
      this.#isConnecting = false;
    }
    if (this.#away.size > 0) this.#connectLater();
  }

  /** Opens a client, and checks the servers that are away, at first the one of the URL. */
  async #openClient(): Promise<void> {
    const { target, open, events, seconds } = this.#options;
    const place = placeOf(target);
    let opened: RedisClient | undefined;
    try {
      opened = await open(target, this.#client?.servers ?? [], (error) => {
        if (opened !== undefined && opened === this.#client) this.#lose(place, "", error);
      });
    } catch (error) {
      this.#lose(place, "", error);
      return;
    }
    if (this.#isClosed) return opened.close();
    const before = this.#client;
    this.#client = opened;
    if (before !== undefined) setTimeout(() => before.close(), CLOSE_MS).unref();
    const isCluster = opened.servers.length > 0;
    const checked = this.#away.size > 0 ? [...this.#away] : [[place, ""] as const];
    const checks = checked.map(([server, key]) => {
      if (key !== "") return this.#check(server, key);
      // A cluster that can be connected to is there; which of its servers holds a key of a check is a matter of chance.
      return isCluster ? this.#comeBack(server) : this.#check(server, stateKey("check", seconds));
    });
    await Promise.all(checks);
    if (!this.#isClosed) events.onUp();
  }

  /**
   * Checks whether a server can count, by making it write: this lessee leaves the state of a check, and enters it again.
   * @param key one that the server holds, or did; the check's own state lies with it
   */
  async #check(server: string, key: string): Promise<void> {
    const { seconds, events } = this.#options;
    const client = this.#client!;
    const run = (want: number): Promise<LeaseAnswer> =>
      this.#evaluate(client, `${key}:check`, { limit: 0, window: -1, have: 0, used: 0, want });
    try {
      // In one round trip, in this order.
      const [, { window, msLeft }] = await Promise.all([run(-1), run(0)]);
      events.onClock((window + 1) * seconds * 1000 - msLeft - Date.now());
      if (this.#isClosed || client !== this.#client) return;
      this.#comeBack(server);
    } catch (error) {
      if (client === this.#client) this.#lose(server, key, error);
    }
  }

  #comeBack(server: string): void {
    const { events, target } = this.#options;
    if (this.#away.delete(server)) events.onBack(withoutPassword(server, target));
  }

  #lose(server: string, key: string, error: unknown): void {
    if (this.#isClosed) return;
    const { events, target } = this.#options;
    if (!this.#away.has(server)) {
      this.#away.set(server, key);
      events.onAway(withoutPassword(server, target), problemOf(error, target));
    }
    if (!this.#isConnecting) this.#connectLater();
  }

  #connectLater(): void {
    if (this.#timer !== undefined || this.#isClosed) return;
    const now = performance.now();
    if (now - this.#triedAt > STEADY_MS) this.#pauses.reset();
    this.#triedAt = now;
    this.#timer = setTimeout(
      () => {
        this.#timer = undefined;
        void this.#connect();
      },
      this.#pauses.next() * (0.5 + Math.random() / 2),
    );
  }
}
