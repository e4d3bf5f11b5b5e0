/** Leases of a Valkey or Redis server, or of a cluster of them. */

import { createHash } from "node:crypto";
import type { LeaseAnswer, LeaseAsk } from "../../gate/shared-answers.ts";
import { LEASE_SCRIPT } from "../../gate/shared-grant.ts";
import { readSlots, SLOTS, slotOfKey } from "./cluster-slots.ts";
import {
  type Connection,
  MissingClientError,
  type OpenConnection,
  problemOf,
  ReplyError,
} from "./connection.ts";
import { AwayError, createLink, type Link } from "./link.ts";
import { placeOf, type RedisTarget } from "./redis-url.ts";

/** Where leases come from. */
export interface CounterServer {
  /**
   * Asks once for permits of a key.
   *
   * @throws {AwayError} when it could not, or when it is not known whether it did
   */
  readonly lease: (keyId: string, ask: LeaseAsk) => Promise<LeaseAnswer>;
  /** Gives back what is held of a key; for a replica that stops. Never rejects. */
  readonly release: (keyId: string, ask: LeaseAsk) => Promise<void>;
  readonly close: () => void;
}

/** What a counter server tells of itself. */
export interface CounterEvents {
  /** A server can no longer be asked; told once. @param server its place */
  readonly onAway: (server: string, problem: string) => void;
  /** It can again. */
  readonly onBack: (server: string) => void;
}

const SHA1 = createHash("sha1").update(LEASE_SCRIPT).digest("hex");

/** The name of a key's state. The braces have it lie on one server of a cluster. */
export function stateKey(keyId: string, seconds: number): string {
  return `orrery:{${keyId}}:${seconds}`;
}

/** A key that is nobody's and lies in one of the slots, to find out whether a server can count. */
function checkKey(holds: (slot: number) => boolean, seconds: number): string {
  for (let number = 0; ; number++) {
    const key = stateKey(`check:${number}`, seconds);
    if (number > 64 * SLOTS || holds(slotOfKey(key))) return key;
  }
}

function argumentsOf(seconds: number, replica: string, ask: LeaseAsk): string[] {
  const { limit, window, have, used, want } = ask;
  return [seconds, replica, limit, window, have, used, want].map(String);
}

function readAnswer(answer: unknown): LeaseAnswer {
  const numbers = Array.isArray(answer) ? answer.map(Number) : [];
  const [window = -1, total = -1, rest = -1, msLeft = -1] = numbers;
  if (!numbers.every(Number.isSafeInteger) || Math.min(window, total, rest, msLeft) < 0)
    throw new AwayError("the server answered something else than a lease");
  return { window, total, rest, msLeft };
}

/** Between readings of the map of a cluster, in milliseconds. */
const MAP_PAUSE_MS = 500;

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
  { onAway, onBack }: CounterEvents,
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

  /** Of a replica that was forgotten something has to be written: so it is found out whether the server can do that. */
  async function count(connection: Connection, holds: (slot: number) => boolean): Promise<void> {
    // In one round trip, one behind the other.
    await Promise.all([forget(connection, holds), askForNothing(connection, holds)]);
  }

  async function forget(connection: Connection, holds: (slot: number) => boolean): Promise<void> {
    const stop = { limit: 0, window: -1, have: 0, used: 0, want: -1 };
    const values = argumentsOf(seconds, replica, stop);
    await connection.run(["EVAL", LEASE_SCRIPT, "1", checkKey(holds, seconds), ...values]);
  }

  async function askForNothing(connection: Connection, holds: (slot: number) => boolean): Promise<void> {
    const nothing = { limit: 0, window: -1, have: 0, used: 0, want: 0 };
    // The text goes along, so that the server knows it from then on.
    const key = checkKey(holds, seconds);
    readAnswer(
      await connection.run(["EVAL", LEASE_SCRIPT, "1", key, ...argumentsOf(seconds, replica, nothing)]),
    );
  }

  function createNode(host: string, port: number, place: string): Link {
    const of = { ...target, host, port, path: undefined };
    const holds = (slot: number): boolean => bySlot[slot] === nodes.get(place);
    return createLink({
      answerMs,
      open: (onLost) => open(of, onLost),
      check: (connection) => count(connection, holds),
      onAway(problem) {
        onAway(place, problem);
        lookAgain();
      },
      onBack: () => onBack(place),
      say,
    });
  }

  function takeMap(answer: unknown): void {
    const ranges = readSlots(answer, target.host);
    if (ranges.length === 0) throw new AwayError("the cluster has no servers");
    const places = new Set<string>();
    const slots = new Array<Link | undefined>(SLOTS).fill(undefined);
    for (const { host, port, from, to } of ranges) {
      const place = placeOf({ ...target, host, port, path: undefined });
      places.add(place);
      let link = nodes.get(place);
      if (link === undefined) {
        link = createNode(host, port, place);
        nodes.set(place, link);
      }
      slots.fill(link, from, to + 1);
    }
    bySlot = slots;
    for (const [place, link] of nodes) {
      if (places.has(place)) continue;
      nodes.delete(place);
      link.close();
    }
  }

  /** Reads the map of a cluster from whoever answers. */
  function lookAgain(): void {
    if (!isCluster || performance.now() - lastMap < MAP_PAUSE_MS) return;
    lastMap = performance.now();
    const link = [seed, ...nodes.values()].find((one) => one.isUp());
    link
      ?.run(["CLUSTER", "SLOTS"])
      .then(takeMap)
      .catch(() => {});
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
      // Others know the map, too, and are told of themselves.
      if (nodes.size === 0) onAway(seedPlace, problem);
    },
    onBack() {
      if (nodes.size === 0 || !isCluster) onBack(seedPlace);
    },
    say,
  });

  function linkOf(key: string): Link {
    if (!isCluster) return seed;
    const link = bySlot[slotOfKey(key)];
    if (link?.isUp()) return link;
    lookAgain();
    throw new AwayError("away");
  }

  async function run(link: Link, key: string, values: readonly string[]): Promise<unknown> {
    try {
      return await link.run(["EVALSHA", SHA1, "1", key, ...values]);
    } catch (error) {
      // Nothing has run: the server does not know the script.
      if (!(error instanceof ReplyError) || !error.message.startsWith("NOSCRIPT")) throw error;
      return await link.run(["EVAL", LEASE_SCRIPT, "1", key, ...values]);
    }
  }

  async function ask(keyId: string, values: readonly string[]): Promise<unknown> {
    const key = stateKey(keyId, seconds);
    try {
      return await run(linkOf(key), key, values);
    } catch (error) {
      if (!(error instanceof ReplyError)) throw error;
      // Nothing has run: the key lies elsewhere, or is on its way.
      lookAgain();
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
    lease: async (keyId, asked) => readAnswer(await ask(keyId, argumentsOf(seconds, replica, asked))),
    async release(keyId, asked) {
      await ask(keyId, argumentsOf(seconds, replica, { ...asked, want: -1 })).catch(() => {});
    },
    close() {
      seed.close();
      for (const link of nodes.values()) link.close();
    },
  };
}
