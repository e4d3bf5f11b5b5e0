/** Crowds without a token that send endless pipelines, and ten clients beside them that ask for one thing at a time. */

import assert from "node:assert/strict";
import { fork } from "node:child_process";
import { once } from "node:events";
import { after, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { pin, RUN_TYPESCRIPT, said } from "../../bench/support/child.ts";
import { askHonestly, type Waits } from "../support/honest.ts";
import { slowness } from "../support/patience.ts";
import { place, TOKEN } from "../support/place.ts";
import { killAll, serve } from "../support/process.ts";

after(killAll);

const CROWD = fileURLToPath(new URL("../support/crowd.ts", import.meta.url));
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
      const crowd = fork(CROWD, [String(server.port), String(CONNECTIONS), small], {
        execArgv: RUN_TYPESCRIPT,
      });
      t.after(() => crowd.kill("SIGKILL"));
      await said(crowd, "crowded");
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
