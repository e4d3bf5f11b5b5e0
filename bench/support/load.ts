/** A constant load over HTTP: requests leave on schedule whether or not replies came, and latency counts from that time. */

import { Agent, get } from "node:http";

/** The result of a load. Latencies in milliseconds. */
export interface LoadResult {
  readonly requests: number;
  readonly failures: number;
  readonly p50: number;
  readonly p99: number;
  readonly p999: number;
  readonly max: number;
}

/** The value below which a share of sorted values lies. */
export function percentile(sorted: Float64Array, share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

/** The middle value, or the mean of the two in the middle. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

/**
 * Sends requests at a constant rate until told to stop.
 *
 * @param url makes the URL of each request
 * @param headers of all requests, or a function that makes them for each
 * @param isOver asked at every tick
 */
export async function constantLoad(
  url: () => string,
  headers: Record<string, string> | (() => Record<string, string>),
  perSecond: number,
  isOver: () => boolean,
): Promise<LoadResult> {
  const agent = new Agent({ keepAlive: true, maxSockets: 64 });
  const latencies: number[] = [];
  let failures = 0;
  let sent = 0;
  let pending = 0;
  const began = performance.now();

  function send(due: number): void {
    pending++;
    const own = typeof headers === "function" ? headers() : headers;
    const request = get(url(), { agent, headers: own, timeout: 10_000 }, (response) => {
      if (response.statusCode !== 200) failures++;
      response.resume().on("end", () => {
        latencies.push(performance.now() - due);
        pending--;
      });
    });
    request.on("timeout", () => request.destroy(new Error("timeout")));
    request.on("error", () => {
      failures++;
      pending--;
    });
  }

  await new Promise<void>((resolve) => {
    const timer = setInterval(() => {
      const now = performance.now();
      if (isOver()) {
        clearInterval(timer);
        resolve();
        return;
      }
      for (; sent < ((now - began) / 1000) * perSecond; sent++) send(began + (sent / perSecond) * 1000);
    }, 1);
  });
  while (pending > 0) await new Promise((resolve) => setTimeout(resolve, 10));
  agent.destroy();
  const sorted = Float64Array.from(latencies).sort();
  return {
    requests: sent,
    failures,
    p50: percentile(sorted, 0.5),
    p99: percentile(sorted, 0.99),
    p999: percentile(sorted, 0.999),
    max: sorted.at(-1) ?? Number.NaN,
  };
}
