/**
 * Limits of open connections, so that descriptors remain to read keys and snapshots and to start threads. A process without
 * free descriptors may not even be able to refuse a connection: its threads spin over the waiting ones.
 */

import { readdirSync, readFileSync } from "node:fs";
import { codeOf } from "../system-error.ts";

/** For a reload: its files and its thread. */
const RESERVE = 24;

const THREAD_RESERVE = 16;

/** For the operators' listener: bounds of its connection limit, and its share of the free descriptors. */
const FEWEST_ADMIN = 32;
const MOST_ADMIN = 512;
const ADMIN_SHARE = 1 / 4;

/** Descriptors that this process may still open; undefined where the system reports no limit, or has none. */
function freeDescriptors(): number | undefined {
  try {
    const limit = /^Max open files +(\d+)/m.exec(readFileSync("/proc/self/limits", "latin1"))?.[1];
    return limit === undefined ? undefined : Number(limit) - readdirSync("/proc/self/fd").length;
  } catch (error) {
    // No descriptor is left for this read.
    return codeOf(error) === "EMFILE" ? 0 : undefined;
  }
}

/**
 * Most connections of one listener; undefined where the system reports no limit, or has none.
 * @param listeners number of listening threads; 1 stands for this thread
 * @param others connections to reserve for another listener
 */
export function connectionLimit(listeners: number, others = 0): number | undefined {
  const free = freeDescriptors();
  if (free === undefined) return undefined;
  const threads = listeners > 1 ? listeners * THREAD_RESERVE : 0;
  return Math.max(1, Math.floor((free - RESERVE - others - threads) / listeners));
}

export function adminConnectionLimit(): number {
  const share = Math.floor((freeDescriptors() ?? Number.POSITIVE_INFINITY) * ADMIN_SHARE);
  return Math.min(MOST_ADMIN, Math.max(FEWEST_ADMIN, share));
}

/** Why no thread can start: without enough descriptors it dies, and on Bun the process with it. Undefined if it can. */
export function whyNoThread(): string | undefined {
  if ((freeDescriptors() ?? THREAD_RESERVE) >= THREAD_RESERVE) return undefined;
  return "no thread can be started: there are too few file descriptors left (EMFILE)";
}
