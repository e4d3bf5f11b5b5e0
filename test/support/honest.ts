/** Honest clients: connections that stand, one request at a time on each, and how long they wait. */

import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { percentile } from "../../bench/support/load.ts";

const CONNECTIONS = 10;
/** Between an answer and the next request, in milliseconds: so the load is small beside any flood. */
const PAUSE_MS = 2;

/** What they noticed, in milliseconds. */
export interface Waits {
  readonly p50: number;
  readonly p99: number;
  readonly longest: number;
  readonly lost: number;
}

/** Opens a connection. */
export async function dial(port: number): Promise<Socket> {
  const socket = connect({ host: "127.0.0.1", port, noDelay: true });
  await once(socket, "connect");
  return socket;
}

/** Resolves when one answer has arrived whole; rejects when the connection ends before. */
function answered(socket: Socket): Promise<void> {
  return new Promise((resolve, reject) => {
    let text = "";
    const lost = (): void => reject(new Error("the connection has ended"));
    socket.once("close", lost);
    socket.on("data", function read(bytes: Buffer) {
      text += bytes.toString("latin1");
      const end = text.indexOf("\r\n\r\n");
      if (end < 0) return;
      const length = Number(/content-length: (\d+)/i.exec(text)?.[1] ?? 0);
      if (text.length < end + 4 + length) return;
      socket.off("data", read).off("close", lost);
      resolve();
    });
  });
}

/**
 * Asks until something is over.
 *
 * @param request bytes of one request that is answered with a small reply
 */
export async function askHonestly(
  port: number,
  request: (at: number) => string,
  isOver: () => boolean,
): Promise<Waits> {
  const waits: number[] = [];
  let lost = 0;
  const client = async (first: number): Promise<void> => {
    const socket = await dial(port);
    socket.on("error", () => {});
    try {
      for (let at = first; !isOver(); at += CONNECTIONS) {
        const began = performance.now();
        socket.write(request(at));
        await answered(socket);
        waits.push(performance.now() - began);
        await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
      }
    } catch {
      lost++;
    }
    socket.destroy();
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, (_, at) => client(at)));
  const sorted = Float64Array.from(waits).sort();
  const share = (of: number): number => percentile(sorted, of);
  return { p50: share(0.5), p99: share(0.99), longest: sorted.at(-1) ?? Number.NaN, lost };
}
