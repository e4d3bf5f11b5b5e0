/**
 * What an operator wants to know of clients that are turned away, without a line for each request: that a key has used up
 * its window, and that an address tries bad tokens again and again.
 *
 * There is at most one notice a minute for a key or an address, and so many of either kind in all. Memory is bounded,
 * whatever clients do. A clock that is set back by more than a minute can bring a notice early, and holds none back.
 */

import type { Observation, Observe } from "../observe/events.ts";

const MINUTE_MS = 60_000;
/** Most notices of a kind in a minute; what is beyond may be told later. */
const MAX_NOTICES = 100;
/** Bad tokens within a minute that are worth a notice: nobody mistypes a token so often. */
const MANY_TOKENS = 10;
/** Most keys and addresses that are remembered; the one that is longest unheard of goes first. */
const MAX_KEYS = 65_536;
const MAX_CLIENTS = 4096;
/** How often an address moves up among those remembered. */
const TOUCH_MS = 1000;

export type LimitedKey = Omit<Extract<Observation, { kind: "key-limited" }>, "kind">;

/** Refused tokens of an address (`client`), so many, and why the last one was refused. */
export type BadTokens = Omit<Extract<Observation, { kind: "bad-tokens" }>, "kind">;

/** Receives what may be worth a notice. In both `now` is milliseconds since the epoch. */
export interface Notices {
  readonly limited: (key: LimitedKey, now: number) => void;
  readonly badTokens: (tokens: BadTokens, now: number) => void;
}

function isOver(since: number, now: number): boolean {
  return Math.abs(now - since) >= MINUTE_MS;
}

function createRation(): (now: number) => boolean {
  let began = Number.NEGATIVE_INFINITY;
  let given = 0;
  return (now) => {
    if (isOver(began, now)) {
      began = now;
      given = 0;
    }
    return given++ < MAX_NOTICES;
  };
}

function keep<Value>(map: Map<string, Value>, key: string, value: Value, most: number): void {
  map.delete(key);
  map.set(key, value);
  if (map.size <= most) return;
  const [oldest] = map.keys();
  map.delete(oldest!);
}

/** An address; of IPv6 its network of 64 bits, since within that one host has as many addresses as it likes. */
export function networkOf(address: string): string {
  // Those of IPv4 in IPv6 end in dots.
  if (!address.includes(":") || address.includes(".")) return address;
  const [before = "", behind] = address.split("::");
  const left = before === "" ? [] : before.split(":");
  const right = behind === undefined || behind === "" ? [] : behind.split(":");
  const zeros = behind === undefined ? 0 : Math.max(0, 8 - left.length - right.length);
  return `${[...left, ...Array<string>(zeros).fill("0"), ...right].slice(0, 4).join(":")}::/64`;
}

interface Client {
  readonly name: string;
  /** Bad tokens since the notice before, or since a minute began. */
  count: number;
  since: number;
  told: number;
  touched: number;
}

export function createNotices(observe: Observe): Notices {
  const keys = new Map<string, { readonly reset: number; readonly told: number }>();
  const clients = new Map<string, Client>();
  const keyRation = createRation();
  const clientRation = createRation();
  /** The address that was heard of last and its client: a flood mostly comes from one. */
  let lastAddress: string | undefined;
  let last: Client;

  function clientOf(address: string, now: number): Client {
    const name = networkOf(address);
    const client = clients.get(name) ?? {
      name,
      count: 0,
      since: now,
      told: Number.NEGATIVE_INFINITY,
      touched: Number.NEGATIVE_INFINITY,
    };
    lastAddress = address;
    last = client;
    return client;
  }

  return {
    limited({ keyId, name, limit, reset }, now) {
      const known = keys.get(keyId);
      // Most requests that are refused are not the first.
      if (known !== undefined && known.reset >= reset) return;
      if (known !== undefined && !isOver(known.told, now)) return;
      if (!keyRation(now)) return;
      keep(keys, keyId, { reset, told: now }, MAX_KEYS);
      observe({ kind: "key-limited", keyId, name, limit, reset });
    },
    badTokens({ client: address, count, fault }, now) {
      const client = address === lastAddress ? last : clientOf(address, now);
      if (Math.abs(now - client.touched) >= TOUCH_MS) {
        client.touched = now;
        keep(clients, client.name, client, MAX_CLIENTS);
      }
      if (client.count < MANY_TOKENS && isOver(client.since, now)) {
        client.count = 0;
        client.since = now;
      }
      client.count += count;
      if (client.count >= MANY_TOKENS && isOver(client.told, now) && clientRation(now)) {
        observe({ kind: "bad-tokens", client: client.name, count: client.count, fault });
        client.count = 0;
        client.since = now;
        client.told = now;
      }
    },
  };
}

/** Merges the notices that several threads give of the same key or address, and passes on all else. */
export function mergeNotices(observe: Observe): Observe {
  const notices = createNotices(observe);
  return (observation: Observation) => {
    if (observation.kind === "key-limited") {
      notices.limited(observation, Date.now());
    } else if (observation.kind === "bad-tokens") {
      notices.badTokens(observation, Date.now());
    } else {
      observe(observation);
    }
  };
}
