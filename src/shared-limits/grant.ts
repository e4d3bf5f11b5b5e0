/**
 * How a counter server grants permits: for each key the permits that every
 * replica was leased in the running window, in all. It is written twice: as
 * functions, for simulations, and as a Lua script, which a server runs
 * atomically. A test holds one to the other.
 *
 * A replica says how many permits it knows of and how many it used, both as
 * totals of the window. So the next answer makes up for one that was lost, a
 * question that arrives twice or late does nothing, and what a replica let
 * through while it could not ask is counted once.
 */

import type { LeaseAnswer, LeaseAsk } from "./answers.ts";

/** What a server keeps of one key. */
export interface KeyState {
  window: number;
  /** Permits that were leased in the window, those of replicas that have left included. */
  granted: number;
  /** By replica. */
  readonly totals: Map<string, number>;
}

/**
 * A replica is leased permits for the requests that wait, and some ahead: a part
 * of what is left, divided among the replicas that have asked in the window, but
 * hardly more than the replica has used. So a replica that stops after a few
 * requests holds few; of three replicas, those that stop hold no more than a
 * twelfth together; and a key that is used at one replica of a thousand is not
 * leased as if it were used at all of them.
 */
const PART = 12;

/**
 * A replica may hold this part ahead even if it has used less. Otherwise a key's
 * first requests at each replica would ask one by one, however high its limit.
 */
const FIRST_PART = 1000;

/** Fewer than these are not leased ahead: then each request asks, and its caller is told exactly what remains. */
const FEWEST = 4;

/**
 * How many permits a replica may hold ahead.
 *
 * @param rest permits that are left for anybody
 * @param used requests that the replica let pass in this window
 * @param replicas that have asked in this window
 */
export type LeasePolicy = (rest: number, used: number, replicas: number) => number;

/** The policy of the script. */
const permitsAhead: LeasePolicy = (rest, used, replicas) => {
  const others = Math.max(2, replicas - 1);
  const part = Math.floor(rest / (PART * others));
  const ahead = Math.min(part, Math.max(used, Math.floor(rest / (FIRST_PART * others))));
  return ahead < FEWEST ? 0 : ahead;
};

/** Makes the state of a key that nobody has asked for. */
export function createKeyState(): KeyState {
  return { window: -1, granted: 0, totals: new Map() };
}

/** Opens the window that is running, and merges what a replica says of it. @returns permits of the replica in all */
function merge(
  state: KeyState,
  replica: string,
  { window, have, used }: LeaseAsk,
  seconds: number,
  now: number,
): number {
  const running = Math.floor(now / 1000 / seconds);
  if (running > state.window) {
    state.window = running;
    state.granted = 0;
    state.totals.clear();
  }
  const known = state.totals.get(replica) ?? 0;
  const total = window === state.window ? Math.max(known, have, used) : known;
  state.granted += total - known;
  return total;
}

/**
 * Leases permits.
 *
 * @param seconds length of a window
 * @param now the server's clock, in milliseconds since the epoch
 * @param policy that of the script; others are for comparisons
 */
export function grant(
  state: KeyState,
  replica: string,
  ask: LeaseAsk,
  seconds: number,
  now: number,
  policy = permitsAhead,
): LeaseAnswer {
  let total = merge(state, replica, ask, seconds, now);
  const used = ask.window === state.window ? ask.used : 0;
  const rest = Math.max(0, ask.limit - state.granted);
  state.totals.set(replica, total);
  const ahead = policy(rest, used, state.totals.size);
  const more = Math.max(0, Math.min(rest, Math.max(ask.want, ahead) - (total - used)));
  total += more;
  state.granted += more;
  state.totals.set(replica, total);
  const msLeft = (state.window + 1) * seconds * 1000 - now;
  return { window: state.window, total, rest: rest - more, msLeft };
}

/** Takes back what a replica that has stopped did not use. */
export function release(state: KeyState, replica: string, ask: LeaseAsk, seconds: number, now: number): void {
  const total = merge(state, replica, ask, seconds, now);
  if (ask.window === state.window) state.granted -= total - ask.used;
  state.totals.delete(replica);
}

/** How long a key's state is kept after its window, in seconds, so that a clock that steps back finds it. */
const KEPT_SECONDS = 7200;

/**
 * The script. Its key is a hash: `w` the window, `g` what was granted, and a field for each replica. Numbers are written in
 * full, since Lua would round large ones.
 *
 * Arguments: length of a window in seconds, replica, limit, window, have, used, want (-1: the replica stops).
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
