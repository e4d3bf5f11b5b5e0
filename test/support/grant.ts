/** How a counter server grants permits, as functions for simulations; tests hold the script of `lease-script.ts` to them. */

import type { LeaseAnswer, LeaseAsk } from "../../src/shared-limits/lease-script.ts";

export interface KeyState {
  window: number;
  /** Permits leased in the window, also by replicas that have left. */
  granted: number;
  readonly totals: Map<string, number>;
}

/** How many permits a replica may hold in advance, as in the script. */
function permitsAhead(rest: number, used: number, replicas: number): number {
  const others = Math.max(2, replicas - 1);
  const ahead = Math.min(
    Math.floor(rest / (12 * others)),
    Math.max(used, Math.floor(rest / (1000 * others))),
  );
  return ahead < 4 ? 0 : ahead;
}

export function createKeyState(): KeyState {
  return { window: -1, granted: 0, totals: new Map() };
}

/** Opens the current window, and merges the report of a replica. @returns the replica's total permits */
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
 */
export function grant(
  state: KeyState,
  replica: string,
  ask: LeaseAsk,
  seconds: number,
  now: number,
): LeaseAnswer {
  let total = merge(state, replica, ask, seconds, now);
  const used = ask.window === state.window ? ask.used : 0;
  const rest = Math.max(0, ask.limit - state.granted);
  state.totals.set(replica, total);
  const ahead = permitsAhead(rest, used, state.totals.size);
  const more = Math.max(0, Math.min(rest, Math.max(ask.want, ahead) - (total - used)));
  total += more;
  state.granted += more;
  state.totals.set(replica, total);
  const msLeft = (state.window + 1) * seconds * 1000 - now;
  return { window: state.window, total, rest: rest - more, msLeft };
}

/** Takes back the unused permits of a replica that has stopped. */
export function release(state: KeyState, replica: string, ask: LeaseAsk, seconds: number, now: number): void {
  const total = merge(state, replica, ask, seconds, now);
  if (ask.window === state.window) state.granted -= total - ask.used;
  state.totals.delete(replica);
}
