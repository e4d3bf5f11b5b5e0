/**
 * How a counter server grants permits: a Lua script, which a server runs atomically, and its questions and answers. For
 * each key the server keeps the total of permits leased to every lessee, a serving thread of a replica, in the current window.
 *
 * A lessee reports the permits that it knows of and the requests that it let pass, both as totals of the window. So the
 * next answer makes up for a lost one, a question that arrives twice or late has no effect, and requests that a lessee
 * let pass while it could not ask are counted once.
 */

import { isCount } from "../util/json.ts";

/** A question: the permits of a key that this lessee has, used and wants. */
export interface LeaseAsk {
  readonly limit: number;
  /** Window of the following numbers, counted from the epoch. */
  readonly window: number;
  /** Total of permits leased to this lessee in the window, as far as it knows. */
  readonly have: number;
  /** Requests that it let pass, including requests without a permit. */
  readonly used: number;
  readonly want: number;
}

export interface LeaseAnswer {
  /** The current window, counted from the epoch. */
  readonly window: number;
  /** Total of permits leased to this lessee in it. */
  readonly total: number;
  readonly rest: number;
  readonly msLeft: number;
}

/**
 * A lessee gets permits for its waiting requests, and some ahead: a part of the rest, divided among the lessees that
 * have asked in the window, but hardly more than the lessee has used. So a lessee that stops after a few requests
 * holds few; if two of three lessees stop, they hold at most a twelfth together; and a key that is used at one lessee
 * of a thousand is not leased as if it were used at all of them.
 */
const PART = 12;

/** Leased ahead even if less was used. Otherwise the first requests at each lessee would ask one by one. */
const FIRST_PART = 1000;

/** Minimum number of permits to lease ahead: below it each request asks, and its caller learns the exact rest. */
const FEWEST = 4;

/** How long a key's state is kept after its window, in seconds, so that a clock that steps back finds it. */
const KEPT_SECONDS = 7200;

/**
 * The script. Its key is a hash: `w` is the window, `g` the granted permits, and each lessee has a field. Numbers are
 * written in full, since Lua would round large ones.
 *
 * Arguments: length of a window in seconds, lessee, limit, window, have, used, want (-1: the lessee stops).
 * Returns window, total, rest, milliseconds left.
 */
export const LEASE_SCRIPT = `local key, seconds, me = KEYS[1], tonumber(ARGV[1]), ARGV[2]
local limit, window, have, used, want =
  tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local running = math.floor(now / 1000 / seconds)
local state = redis.call('HMGET', key, 'w', 'g', me)
local before = tonumber(state[1] or -1)
local granted, known, is_new = 0, 0, false
if running > before then
  is_new = true
else
  running, granted, known = before, tonumber(state[2] or 0), tonumber(state[3] or 0)
end
local total = known
if window == running then total = math.max(known, have, used) else used = 0 end
granted = granted + total - known
local rest = math.max(0, limit - granted)
if want < 0 then
  if window == running then granted = granted - (total - used) end
else
  local others = 0
  if not is_new then
    others = redis.call('HLEN', key) - 2
    if state[3] then others = others - 1 end
  end
  others = math.max(2, others)
  local ahead = math.max(used, math.floor(rest / (${FIRST_PART} * others)))
  ahead = math.min(ahead, math.floor(rest / (${PART} * others)))
  if ahead < ${FEWEST} then ahead = 0 end
  local more = math.max(0, math.min(rest, math.max(want, ahead) - (total - used)))
  total, granted, rest = total + more, granted + more, rest - more
end
local written = string.format('%.0f', granted)
if is_new then
  redis.call('DEL', key)
  redis.call('HSET', key, 'w', string.format('%.0f', running), 'g', written)
  redis.call('EXPIRE', key, string.format('%.0f', 2 * seconds + ${KEPT_SECONDS}))
elseif written ~= state[2] then
  redis.call('HSET', key, 'g', written)
end
if want < 0 then
  redis.call('HDEL', key, me)
elseif is_new or not state[3] or total ~= known then
  redis.call('HSET', key, me, string.format('%.0f', total))
end
return { running, total, rest, (running + 1) * seconds * 1000 - now }`;

/** Name of the state of an API key. The braces make the id alone decide which server of a cluster holds it. */
export function stateKey(keyId: string, seconds: number): string {
  return `orrery:{${keyId}}:${seconds}`;
}

export function argumentsOf(seconds: number, lessee: string, ask: LeaseAsk): string[] {
  const { limit, window, have, used, want } = ask;
  return [seconds, lessee, limit, window, have, used, want].map(String);
}

/** Windows end before this, in seconds since the epoch: cells have no room for later ones. */
const LAST_SECOND = 2 ** 32;

export function readAnswer(answer: unknown, seconds: number): LeaseAnswer {
  const numbers: readonly unknown[] = Array.isArray(answer) ? answer : [];
  const [window, total, rest, msLeft] = numbers;
  const isLease = isCount(window) && isCount(total) && isCount(rest) && isCount(msLeft);
  if (!isLease || numbers.length !== 4 || (window + 1) * seconds > LAST_SECOND)
    throw new Error("the server answered something else than a lease");
  return { window, total, rest, msLeft };
}
