/**
 * Tells operators of refused clients without a line for each request: a key has used up its limit, or an address
 * repeatedly sends bad tokens.
 *
 * A key or an address gets at most one notice a minute, and each kind a maximum per minute in all. Clients cannot make
 * memory grow without bound. A clock that is set back by more than a minute can bring a notice early, but delays none.
 */

import type { Observation, Observe } from "../observe/events.ts";

const MINUTE_MS = 60_000;
/** Maximum number of notices of a kind per minute; further ones may follow later. */
const MAX_NOTICES = 100;
/** Bad tokens within a minute that are worth a notice: more than typing errors explain. */
const MANY_TOKENS = 10;
/** Maximum numbers of keys and addresses kept; the least recently seen goes first. */
const MAX_KEYS = 65_536;
const MAX_CLIENTS = 4096;
/** Interval at which an address is moved up among the kept ones. */
const TOUCH_MS = 1000;

export type LimitedKey = Omit<Extract<Observation, { kind: "key-limited" }>, "kind">;

/** Refused tokens of an address (`client`), their number, and why the last one was refused. */
export type BadTokens = Omit<Extract<Observation, { kind: "bad-tokens" }>, "kind">;

/** Receives events that may be worth a notice. In both, `now` is milliseconds since the epoch. */
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

/** The address; for IPv6 its /64 network, since one host can use any address within it. */
export function networkOf(address: string): string {
  // IPv4 addresses in IPv6 form contain dots.
  if (!address.includes(":") || address.includes(".")) return address;
  const [before = "", behind] = address.split("::");
  const left = before === "" ? [] : before.split(":");
  const right = behind === undefined || behind === "" ? [] : behind.split(":");
  const zeros = behind === undefined ? 0 : Math.max(0, 8 - left.length - right.length);
  return `${[...left, ...Array<string>(zeros).fill("0"), ...right].slice(0, 4).join(":")}::/64`;
}

interface Client {
  /** Bad tokens since the last notice, or since a minute began. */
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
  return {
    limited({ keyId, name, limit, reset }, now) {
      const known = keys.get(keyId);
      // Most refused requests are not the first of their window.
      if (known !== undefined && known.reset >= reset) return;
      if (known !== undefined && !isOver(known.told, now)) return;
      if (!keyRation(now)) return;
      keep(keys, keyId, { reset, told: now }, MAX_KEYS);
      observe({ kind: "key-limited", keyId, name, limit, reset });
    },
    badTokens({ client: address, count, fault }, now) {
      const name = networkOf(address);
      const never = Number.NEGATIVE_INFINITY;
      const client = clients.get(name) ?? { count: 0, since: now, told: never, touched: never };
      if (Math.abs(now - client.touched) >= TOUCH_MS) {
        client.touched = now;
        keep(clients, name, client, MAX_CLIENTS);
      }
      if (client.count < MANY_TOKENS && isOver(client.since, now)) {
        client.count = 0;
        client.since = now;
      }
      client.count += count;
      if (client.count >= MANY_TOKENS && isOver(client.told, now) && clientRation(now)) {
        observe({ kind: "bad-tokens", client: name, count: client.count, fault });
        client.count = 0;
        client.since = now;
        client.told = now;
      }
    },
  };
}

/** Merges the notices of several threads about the same key or address, and passes on all other observations. */
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
