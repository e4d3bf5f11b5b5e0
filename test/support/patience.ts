/** How long tests wait, on quiet machines and on busy ones. */

import assert from "node:assert/strict";

/** No good step takes this long; one that does has failed. */
export const PATIENCE_MS = Number(process.env.ORRERY_TEST_PATIENCE_MS ?? 60_000);

const PROBE_MICROSECONDS = 40_000;

/**
 * How many times slower than a quiet machine this one is right now, by the share of a
 * processor that this process gets when it wants one. At least 1.
 */
export function slowness(): number {
  const began = performance.now();
  const before = process.cpuUsage();
  for (;;) {
    const { user, system } = process.cpuUsage(before);
    if (user + system < PROBE_MICROSECONDS) continue;
    return Math.max(1, ((performance.now() - began) * 1000) / (user + system));
  }
}

/**
 * Milliseconds left of a time limit. The limit is that of a quiet machine; only
 * when it is over does this check whether the machine deserves a longer one.
 *
 * @param began a time of `performance.now()`
 */
export function timeLeft(began: number, limit: number): number {
  const spent = performance.now() - began;
  return spent < limit ? limit - spent : limit * slowness() - spent;
}

/** Asserts that a time limit was kept; see {@link timeLeft}. */
export function assertInTime(began: number, limit: number, what = "it"): void {
  const spent = performance.now() - began;
  if (spent >= limit) assert.ok(timeLeft(began, limit) > 0, `${what} took ${spent} ms of ${limit}`);
}

/** A promise, and the function that fulfils it. */
export function deferred<T = void>(): { promise: Promise<T>; resolve: (value: T) => void } {
  let resolve = (_value: T): void => {};
  const promise = new Promise<T>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}

export async function within<T>(promise: Promise<T>, what: string, limit = PATIENCE_MS): Promise<T> {
  const began = performance.now();
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    const wait = (): void => {
      const left = timeLeft(began, limit);
      if (left > 0) timer = setTimeout(wait, left + 1);
      else reject(new Error(`waited ${performance.now() - began} ms in vain: ${what}`));
    };
    wait();
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Rejects when a promise settles after a timer that started at the same time. A stalled machine delays both, so the limit
 * may be short: this compares, and measures no time.
 */
export async function beforeTimer<T>(promise: Promise<T>, ms: number, what: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(async () => {
      // Callbacks that were due by then run first.
      for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
      reject(new Error(`${what} took longer than a timer of ${ms} ms`));
    }, ms);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
