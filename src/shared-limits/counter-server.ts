/**
 * Leases permits from a Valkey or Redis server, or from a cluster of them.
 *
 * A first link leads to the configured server. If that belongs to a cluster, it is asked for the map of slots, and each
 * server of the map gets its own link. When a server is lost, or answers that a key lies elsewhere, any link that is up
 * reads the map again.
 */

import { createHash } from "node:crypto";
import type { ReceiveAnswer } from "./asking.ts";
import { readSlots, SLOTS, slotOfKey } from "./cluster-slots.ts";
import {
  type CounterConnection,
  type OpenConnection,
  problemOf,
  ReplyError,
  withoutPassword,
} from "./connection.ts";
import {
  argumentsOf,
  LEASE_SCRIPT,
  type LeaseAnswer,
  type LeaseAsk,
  readAnswer,
  stateKey,
} from "./lease-script.ts";
import { AwayError, Link } from "./link.ts";
import { placeOf, type RedisTarget } from "./redis-url.ts";

export interface CounterEvents {
  /** A server can no longer be asked. @param server its address */
  readonly onAway: (server: string, problem: string) => void;
  /** A server, away or not, can be asked, or is no longer needed: its keys lie elsewhere. */
  readonly onBack: (server: string) => void;
  /** Keys that could not be asked for may be asked for again. */
  readonly onUp: () => void;
  /** The server's clock minus the clock here, in milliseconds; measured by the check whether it can count. */
  readonly onClock: (offset: number) => void;
}

export interface CounterServerOptions {
  readonly target: RedisTarget;
  readonly seconds: number;
  readonly replica: string;
  readonly events: CounterEvents;
  readonly open: OpenConnection;
  readonly answerMs?: number | undefined;
}

const SHA1 = createHash("sha1").update(LEASE_SCRIPT).digest("hex");

/** Interval between reads of a cluster's map, in milliseconds. */
const MAP_PAUSE_MS = 1000;

const MOST_SERVERS = 2000;

/** Name of a state that belongs to no API key and lies in one of the slots, to check whether their server can count. */
function checkKey(holds: (slot: number) => boolean, seconds: number): string {
  for (let number = 0; ; number++) {
    const key = stateKey(`check:${number}`, seconds);
    if (number > 64 * SLOTS || holds(slotOfKey(key))) return key;
  }
}

/** Source of leases. Begins to connect at once. */
export class CounterServer {
  readonly #options: CounterServerOptions;
  readonly #first: Link;
  #kind: "single" | "cluster" = "single";
  readonly #nodes = new Map<string, Link>();
  #bySlot: (Link | undefined)[] = [];
  #nextMap = 0;
  #mapTimer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(options: CounterServerOptions) {
    const { target, open } = options;
    this.#options = options;
    const place = placeOf(target);
    this.#first = this.#link(place, {
      open: (onLost) => open(target, onLost),
      check: async (connection) => {
        this.#kind = connection.isCluster ? "cluster" : "single";
        if (connection.isCluster) this.#takeMap(await connection.run(["CLUSTER", "SLOTS"]));
        else await this.#checkCounting(connection, () => true);
      },
      onAway: (problem) => {
        // Once the map is known, each of its servers is reported separately.
        if (this.#nodes.size === 0) options.events.onAway(this.#shown(place), problem);
      },
    });
  }

  /** Resolves when the servers have answered or could not be reached. */
  async tried(): Promise<void> {
    await this.#first.tried;
    await Promise.all([...this.#nodes.values()].map(({ tried }) => tried));
  }

  isUp(keyId: string): boolean {
    return this.#holderOf(stateKey(keyId, this.#options.seconds))?.isUp ?? false;
  }

  /**
   * Asks once. @param onLate receives an answer that comes after this has thrown @throws {AwayError} even if the script
   * may have run
   */
  async lease(keyId: string, ask: LeaseAsk, onLate?: ReceiveAnswer): Promise<LeaseAnswer> {
    const { seconds, replica } = this.#options;
    const key = stateKey(keyId, seconds);
    const link = this.#holderOf(key);
    if (!link?.isUp) {
      this.#readMap();
      throw new AwayError("away");
    }
    const run = (name: string, script: string): Promise<LeaseAnswer> => {
      const command = [name, script, "1", key, ...argumentsOf(seconds, replica, ask)];
      return link.run(command, (answer) => readAnswer(answer, seconds), onLate);
    };
    try {
      return await run("EVALSHA", SHA1).catch((error: unknown) => {
        // Nothing has run: the server does not know the script.
        if (error instanceof ReplyError && error.message.startsWith("NOSCRIPT"))
          return run("EVAL", LEASE_SCRIPT);
        throw error;
      });
    } catch (error) {
      if (!(error instanceof ReplyError)) throw error;
      // Nothing has run: the slot of the key lies on another server, or is being moved.
      this.#readMap();
      throw new AwayError(error.message);
    }
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#mapTimer);
    for (const link of [this.#first, ...this.#nodes.values()]) link.close();
  }

  #holderOf(key: string): Link | undefined {
    return this.#kind === "cluster" ? this.#bySlot[slotOfKey(key)] : this.#first;
  }

  #link(place: string, how: Pick<ConstructorParameters<typeof Link>[0], "open" | "check" | "onAway">): Link {
    const { answerMs, target, events } = this.#options;
    return new Link({
      ...how,
      answerMs,
      onUp: () => {
        events.onBack(this.#shown(place));
        events.onUp();
      },
      say: (error) => problemOf(error, target),
    });
  }

  #linkTo(target: RedisTarget, place: string): Link {
    return this.#link(place, {
      open: (onLost) => this.#options.open(target, onLost),
      check: (connection) =>
        this.#checkCounting(connection, (slot) => this.#bySlot[slot] === this.#nodes.get(place)),
      onAway: (problem) => {
        this.#options.events.onAway(this.#shown(place), problem);
        this.#readMap();
      },
    });
  }

  /** The address of a server, for people. */
  #shown(place: string): string {
    return withoutPassword(place, this.#options.target);
  }

  /** Makes the server write: removes this replica from the state of a key and adds it again. */
  async #checkCounting(connection: CounterConnection, holds: (slot: number) => boolean): Promise<void> {
    const { seconds, replica, events } = this.#options;
    const key = checkKey(holds, seconds);
    // With the script's text: afterwards the server knows it by its hash.
    const run = (want: number): Promise<unknown> => {
      const ask = { limit: 0, window: -1, have: 0, used: 0, want };
      return connection.run(["EVAL", LEASE_SCRIPT, "1", key, ...argumentsOf(seconds, replica, ask)]);
    };
    // In one round trip, in this order.
    const [, answer] = await Promise.all([run(-1), run(0)]);
    const { window, msLeft } = readAnswer(answer, seconds);
    events.onClock((window + 1) * seconds * 1000 - msLeft - Date.now());
  }

  #takeMap(answer: unknown): void {
    const { target, events } = this.#options;
    const ranges = readSlots(answer, target.host).map(({ host, port, from, to }) => {
      const holder = { ...target, host, port, path: undefined };
      return { from, to, holder, place: placeOf(holder) };
    });
    if (ranges.length === 0) throw new AwayError("the cluster has no servers");
    const { size } = new Set(ranges.map(({ place }) => place));
    if (size > MOST_SERVERS) throw new AwayError(`the cluster has ${size} servers`);
    const slots = new Array<Link | undefined>(SLOTS).fill(undefined);
    for (const { from, to, holder, place } of ranges) {
      const link = this.#nodes.get(place) ?? this.#linkTo(holder, place);
      this.#nodes.set(place, link);
      slots.fill(link, from, to + 1);
    }
    this.#bySlot = slots;
    // A server whose slots all went to others holds none, and no key could check it.
    const holders = new Set(slots);
    for (const [place, link] of this.#nodes) {
      if (holders.has(link)) continue;
      this.#nodes.delete(place);
      link.close();
      events.onBack(this.#shown(place));
    }
    events.onUp();
  }

  /**
   * Reads the map of a cluster again, from any server that is up, as soon as the last reading is long enough ago; then
   * repeatedly while a server is lost: a failover takes time.
   */
  #readMap(): void {
    if (this.#isClosed || this.#kind === "single") return;
    this.#mapTimer ??= setTimeout(() => {
      this.#mapTimer = undefined;
      this.#nextMap = performance.now() + MAP_PAUSE_MS;
      const links = [...this.#nodes.values()];
      if (links.some((one) => !one.isUp)) this.#readMap();
      const link = [this.#first, ...links].find((one) => one.isUp);
      link
        ?.run(["CLUSTER", "SLOTS"], (answer) => answer)
        .then((answer) => this.#takeMap(answer))
        .catch(() => {});
    }, this.#nextMap - performance.now());
  }
}
