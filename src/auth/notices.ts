/**
 * Tells operators of refused clients without a line for each request: a key has used up its limit, or an address
 * repeatedly sends bad tokens.
 *
 * A key or an address gets at most one notice a minute, and each kind a maximum per minute in all. Clients cannot make
 * memory grow without bound. A clock that is set back by more than a minute can bring a notice early, but delays none.
 */

import { LRUCache } from "lru-cache";
import type { Observation, Observe } from "../observe/events.ts";

const MINUTE_MS = 60_000;
/** Maximum number of notices of a kind per minute; further ones may follow later. */
const MAX_NOTICES = 100;
/** Bad tokens within a minute that are worth a notice: more than typing errors explain. */
const MANY_TOKENS = 10;
/** Maximum numbers of keys and addresses that are remembered: more keys than get a notice in two hours. */
const MAX_KEYS = 16_384;
const MAX_CLIENTS = 4096;

type NoticeOf<Kind> = Extract<Observation, { kind: Kind }>;

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
  noticedAt: number;
}

/** Passes on the notices that are worth a line, and all other observations. @param clock milliseconds since the epoch */
export function rationNotices(observe: Observe, clock = Date.now): Observe {
  const keys = new LRUCache<string, { readonly reset: number; readonly noticedAt: number }>({
    max: MAX_KEYS,
  });
  const clients = new LRUCache<string, Client>({ max: MAX_CLIENTS });
  const keyRation = createRation();
  const clientRation = createRation();

  function limited(notice: NoticeOf<"key-limited">, now: number): void {
    const { keyId, reset } = notice;
    const known = keys.get(keyId);
    // Most refused requests are not the first of their window.
    if (known !== undefined && known.reset >= reset) return;
    if (known !== undefined && !isOver(known.noticedAt, now)) return;
    if (!keyRation(now)) return;
    keys.set(keyId, { reset, noticedAt: now });
    observe(notice);
  }

  function badTokens({ kind, client: address, count, fault }: NoticeOf<"bad-tokens">, now: number): void {
    const name = networkOf(address);
    const client = clients.get(name) ?? { count: 0, since: now, noticedAt: Number.NEGATIVE_INFINITY };
    clients.set(name, client);
    if (client.count < MANY_TOKENS && isOver(client.since, now)) {
      client.count = 0;
      client.since = now;
    }
    client.count += count;
    if (client.count >= MANY_TOKENS && isOver(client.noticedAt, now) && clientRation(now)) {
      observe({ kind, client: name, count: client.count, fault });
      client.count = 0;
      client.since = now;
      client.noticedAt = now;
    }
  }

  return (observation) => {
    if (observation.kind === "key-limited") limited(observation, clock());
    else if (observation.kind === "bad-tokens") badTokens(observation, clock());
    else observe(observation);
  };
}
