/** Crowds without a token that send endless pipelines, and ten clients beside them that ask for one thing at a time. */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { after, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { pin } from "../../bench/support/child.ts";
import { percentile } from "../../bench/support/load.ts";
import { slowness } from "../support/patience.ts";
import { place, TOKEN } from "../support/place.ts";
import { killAll, serve } from "../support/process.ts";

const HONEST = 10;
/** Between an answer and the next request, in milliseconds: so the load is small beside any flood. */
const PAUSE_MS = 2;

/** What they noticed, in milliseconds. */
interface Waits {
  readonly p50: number;
  readonly p99: number;
  readonly longest: number;
  readonly lost: number;
}

/** Opens a connection. */
async function dial(port: number): Promise<Socket> {
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
async function askHonestly(
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
      for (let at = first; !isOver(); at += HONEST) {
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
  await Promise.all(Array.from({ length: HONEST }, (_, at) => client(at)));
  const sorted = Float64Array.from(waits).sort();
  const share = (of: number): number => percentile(sorted, of);
  return { p50: share(0.5), p99: share(0.99), longest: sorted.at(-1) ?? Number.NaN, lost };
}

after(killAll);

const CROWD = fileURLToPath(new URL("../support/crowd.mjs", import.meta.url));
const CONNECTIONS = 200;
const MEASURED_MS = 1500;

const STATS = "/api/public/v1/stats";

/** Requests without a token, of which a crowd sends nothing else. */
const WITHOUT_TOKEN = [
  { name: "OPTIONS", small: `OPTIONS ${STATS} HTTP/1.1\r\nHost:\r\n\r\n` },
  { name: "GET /", small: "GET / HTTP/1.1\r\nHost:\r\n\r\n" },
  { name: "/openapi.json", small: "GET /openapi.json HTTP/1.1\r\nHost:\r\n\r\n" },
  { name: "304 of a page", small: "GET /docs HTTP/1.1\r\nHost:\r\nIf-None-Match: *\r\n\r\n" },
  { name: "401", small: `GET ${STATS} HTTP/1.1\r\nHost:\r\n\r\n` },
  { name: "404", small: "GET /x HTTP/1.1\r\nHost:\r\n\r\n" },
  { name: "405", small: `PUT ${STATS} HTTP/1.1\r\nHost:\r\n\r\n` },
] as const;

/**
 * Half of the requests wait no longer, in milliseconds of a quiet machine. It is 1 where turns are shared, and hundreds
 * where a connection is answered as much as it asks; the slowest hundredth is the machine's rather than the server's.
 */
const MOST_MS = 50;

describe(`${CONNECTIONS} connections with endless pipelines leave room for others`, {
  concurrency: 1,
}, () => {
  for (const { name, small } of WITHOUT_TOKEN) {
    it(name, async (t) => {
      const { snapshot, keys } = place(t);
      const settings = ["--watch", "0", "--rate-limit", "1000000"];
      const server = await serve(snapshot, keys, settings);
      pin(server.child.pid!, 0);
      const honest = (ms: number): Promise<Waits> => {
        const end = performance.now() + ms;
        const request = `GET /api/public/v1/stats HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${TOKEN}\r\n\r\n`;
        return askHonestly(
          server.port,
          () => request,
          () => performance.now() > end,
        );
      };
      const crowd = spawn(process.execPath, [CROWD, `${server.port}`, `${CONNECTIONS}`, "endless", small], {
        stdio: ["ignore", "pipe", "inherit"],
      });
      t.after(() => crowd.kill("SIGKILL"));
      await once(crowd.stdout, "data");
      pin(crowd.pid!, 1);
      const { p50, p99, longest, lost } = await honest(MEASURED_MS);
      const numbers = [p50, p99, longest].map((ms) => ms.toFixed(1)).join(", ");
      t.diagnostic(`p50, p99 and longest: ${numbers} ms`);
      assert.equal(lost, 0);
      assert.ok(p50 <= MOST_MS || p50 <= MOST_MS * slowness(), `p50, p99 and longest: ${numbers} ms`);
      crowd.kill("SIGKILL");
      await once(crowd, "exit");
      await server.stop();
    });
  }
});
