/** Leases of a Valkey or Redis server, or of a cluster of them. */

import { createHash } from "node:crypto";
import type { LeaseAnswer, LeaseAsk, ReceiveAnswer } from "./answers.ts";
import { readSlots, SLOTS, slotOfKey } from "./cluster-slots.ts";
import {
  type Connection,
  MissingClientError,
  type OpenConnection,
  problemOf,
  ReplyError,
  withoutPassword,
} from "./connection.ts";
import { LEASE_SCRIPT } from "./grant.ts";
import { argumentsOf, checkKey, readAnswer, stateKey } from "./lease-commands.ts";
import { AwayError, createLink, type Link } from "./link.ts";
import { placeOf, type RedisTarget } from "./redis-url.ts";

/** Where leases come from. */
export interface CounterServer {
  /** Whether the server of a key can be asked. */
  readonly isUp: (keyId: string) => boolean;
  /**
   * Asks once for permits of a key; `onLate` receives an answer that comes too late, after this has thrown.
   *
   * @throws {AwayError} when it could not, or when it is not known whether it did
   */
  readonly lease: (keyId: string, ask: LeaseAsk, onLate: ReceiveAnswer) => Promise<LeaseAnswer>;
  /** Gives back what is held of a key; for a replica that stops. Never rejects. */
  readonly release: (keyId: string, ask: LeaseAsk) => Promise<void>;
  readonly close: () => void;
}

/** Told of changes. */
export interface CounterEvents {
  /** A server can no longer be asked; told once. @param server its place */
  readonly onAway: (server: string, problem: string) => void;
  /** It can again, or is no longer needed: its keys lie elsewhere. */
  readonly onBack: (server: string) => void;
  /** Keys that could not be asked for may be asked for again. */
  readonly onUp: () => void;
  /** Its clock minus the one here, in milliseconds, when it was asked whether it can count. */
  readonly onClock: (offset: number) => void;
}

const SHA1 = createHash("sha1").update(LEASE_SCRIPT).digest("hex");

/** Between readings of the map of a cluster, in milliseconds, and between attempts while it is not known who holds a key. */
const MAP_PAUSE_MS = 500;
const ATTEMPT_MS = 1000;

/** Most servers of a cluster. */
const MOST_SERVERS = 2000;

/**
 * Connects. Resolves when a server has answered or could not be reached.
 *
 * @param seconds length of a window
 * @param replica name of this replica, unlike that of any other
 * @param answerMs how long an answer may take; that of a link when absent
 * @throws {MissingClientError}
 */
export async function createCounterServer(
  target: RedisTarget,
  seconds: number,
  replica: string,
  { onAway, onBack, onUp, onClock }: CounterEvents,
  open: OpenConnection,
  answerMs?: number,
): Promise<CounterServer> {
  const say = (error: unknown): string => problemOf(error, target);
  const nodes = new Map<string, Link>();
  /** By slot; undefined while it is not known, or where there is no cluster. */
  let bySlot: (Link | undefined)[] = [];
  let isCluster = false;
  let missing: MissingClientError | undefined;
  let lastMap = Number.NEGATIVE_INFINITY;
  let attempt: NodeJS.Timeout | undefined;
  let isClosed = false;
  /** Servers that were reported as away, by their places. */
  const told = new Set<string>();

  function tellAway(place: string, problem: string): void {
    told.add(place);
    onAway(withoutPassword(place, target), problem);
  }

  function tellBack(place: string): void {
    if (told.delete(place)) onBack(withoutPassword(place, target));
  }

  /**
   * Finds out whether the server can count: this replica is removed from the state of a key and added again, so the
   * server has to write something.
   */
  async function count(connection: Connection, holds: (slot: number) => boolean): Promise<void> {
    // In one round trip, in this order.
    await Promise.all([forget(connection, holds), askForNothing(connection, holds)]);
  }

  async function forget(connection: Connection, holds: (slot: number) => boolean): Promise<void> {
    const stop = { limit: 0, window: -1, have: 0, used: 0, want: -1 };
    const values = argumentsOf(seconds, replica, stop);
    await connection.run(["EVAL", LEASE_SCRIPT, "1", checkKey(holds, seconds), ...values]);
  }

  async function askForNothing(connection: Connection, holds: (slot: number) => boolean): Promise<void> {
    const nothing = { limit: 0, window: -1, have: 0, used: 0, want: 0 };
    // With the script's text: from then on the server knows it by its hash.
    const key = checkKey(holds, seconds);
    const { window, msLeft } = readAnswer(
      await connection.run(["EVAL", LEASE_SCRIPT, "1", key, ...argumentsOf(seconds, replica, nothing)]),
      seconds,
    );
    onClock((window + 1) * seconds * 1000 - msLeft - Date.now());
  }

  function createNode(host: string, port: number, place: string): Link {
    const of = { ...target, host, port, path: undefined };
    const holds = (slot: number): boolean => bySlot[slot] === nodes.get(place);
    return createLink({
      answerMs,
      open: (onLost) => open(of, onLost),
      check: (connection) => count(connection, holds),
      onAway(problem) {
        tellAway(place, problem);
        refreshMap();
        refreshMapLater();
      },
      onBack: () => tellBack(place),
      onUp,
      say,
    });
  }

  function takeMap(answer: unknown): void {
    const ranges = readSlots(answer, target.host);
    if (ranges.length === 0) throw new AwayError("the cluster has no servers");
    const places = new Set(
      ranges.map(({ host, port }) => placeOf({ ...target, host, port, path: undefined })),
    );
    if (places.size > MOST_SERVERS) throw new AwayError(`the cluster has ${places.size} servers`);
    const slots = new Array<Link | undefined>(SLOTS).fill(undefined);
    for (const { host, port, from, to } of ranges) {
      const place = placeOf({ ...target, host, port, path: undefined });
      let link = nodes.get(place);
      if (link === undefined) {
        link = createNode(host, port, place);
        nodes.set(place, link);
      }
      slots.fill(link, from, to + 1);
    }
    bySlot = slots;
    // One whose slots others have, too, holds none, and there would be no key to check it with.
    const holders = new Set(slots);
    for (const [place, link] of nodes) {
      if (holders.has(link)) continue;
      nodes.delete(place);
      link.close();
      tellBack(place);
    }
    onUp();
  }

  /** Reads the map of a cluster again, from any server that is up. */
  function refreshMap(): void {
    if (!isCluster || performance.now() - lastMap < MAP_PAUSE_MS) return;
    lastMap = performance.now();
    const link = [seed, ...nodes.values()].find((one) => one.isUp());
    link
      ?.run(["CLUSTER", "SLOTS"], (answer) => answer)
      .then(takeMap)
      .catch(() => {});
  }

  /** The same later: a failover and the move of a slot take their time. */
  function refreshMapLater(): void {
    if (isClosed || !isCluster) return;
    attempt ??= setTimeout(() => {
      attempt = undefined;
      refreshMap();
      if ([...nodes.values()].some((one) => !one.isUp())) refreshMapLater();
    }, ATTEMPT_MS);
  }

  const seedPlace = placeOf(target);
  const seed = createLink({
    answerMs,
    open: (onLost) =>
      open(target, onLost).catch((error: unknown) => {
        if (error instanceof MissingClientError) missing = error;
        throw error;
      }),
    async check(connection) {
      isCluster = connection.isCluster;
      if (isCluster) takeMap(await connection.run(["CLUSTER", "SLOTS"]));
      else await count(connection, () => true);
    },
    onAway(problem) {
      // Once the map is known, its servers are reported, each by itself.
      if (nodes.size === 0 && missing === undefined) tellAway(seedPlace, problem);
    },
    onBack: () => tellBack(seedPlace),
    onUp,
    say,
  });

  const holderOf = (key: string): Link | undefined => (isCluster ? bySlot[slotOfKey(key)] : seed);

  function linkOf(key: string): Link {
    const link = holderOf(key);
    if (link?.isUp()) return link;
    refreshMap();
    throw new AwayError("away");
  }

  async function run(link: Link, key: string, values: readonly string[], onLate?: ReceiveAnswer) {
    const read = (answer: unknown) => readAnswer(answer, seconds);
    try {
      return await link.run(["EVALSHA", SHA1, "1", key, ...values], read, onLate);
    } catch (error) {
      // Nothing has run: the server does not know the script.
      if (!(error instanceof ReplyError) || !error.message.startsWith("NOSCRIPT")) throw error;
      return await link.run(["EVAL", LEASE_SCRIPT, "1", key, ...values], read, onLate);
    }
  }

  async function ask(keyId: string, asked: LeaseAsk, onLate?: ReceiveAnswer): Promise<LeaseAnswer> {
    const key = stateKey(keyId, seconds);
    try {
      return await run(linkOf(key), key, argumentsOf(seconds, replica, asked), onLate);
    } catch (error) {
      if (!(error instanceof ReplyError)) throw error;
      // Nothing has run: the slot of the key lies on another server, or is being moved.
      refreshMap();
      refreshMapLater();
      throw new AwayError(error.message);
    }
  }

  await seed.tried;
  if (missing !== undefined) {
    seed.close();
    throw missing;
  }
  await Promise.all([...nodes.values()].map(({ tried }) => tried));
  return {
    isUp: (keyId) => holderOf(stateKey(keyId, seconds))?.isUp() ?? false,
    lease: ask,
    async release(keyId, asked) {
      await ask(keyId, { ...asked, want: -1 }).catch(() => {});
    },
    close() {
      isClosed = true;
      clearTimeout(attempt);
      seed.close();
      for (const link of nodes.values()) link.close();
    },
  };
}
