/**
 * How many connections may stand, so that descriptors are left for all else:
 * reading keys and snapshots, and starting threads. A process that has none left
 * can do neither, and one with several listeners may not even be able to refuse
 * a connection: its threads spin over those that wait.
 */

import { readdirSync, readFileSync } from "node:fs";

/** For a reload: its files and its thread. */
const RESERVE = 24;

/** What a thread that serves opens for itself. */
const THREAD_RESERVE = 16;

/**
 * Most connections of one listener.
 *
 * @param listeners threads that listen, this one if it is 1
 * @returns undefined where the system does not tell its limit, or has none; at least 1
 */
export function connectionLimit(listeners: number): number | undefined {
  let most: number;
  let used: number;
  try {
    most = Number(/^Max open files +(\d+)/m.exec(readFileSync("/proc/self/limits", "latin1"))?.[1]);
    used = readdirSync("/proc/self/fd").length;
  } catch {
    return undefined;
  }
  if (Number.isNaN(most)) return undefined;
  const threads = listeners > 1 ? listeners * THREAD_RESERVE : 0;
  return Math.max(1, Math.floor((most - used - RESERVE - threads) / listeners));
}
