/** Crowds without a token that send endless pipelines, and ten clients beside them that ask for one thing at a time. */

import assert from "node:assert/strict";
import { fork } from "node:child_process";
import { once } from "node:events";
import { after, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { askHonestly, type Waits } from "../../bench/attack/honest.ts";
import { WITHOUT_TOKEN } from "../../bench/attack/kinds.ts";
import { pin, RUN_TYPESCRIPT, said } from "../../bench/support/child.ts";
import { slowness } from "../support/patience.ts";
import { place, TOKEN } from "../support/place.ts";
import { killAll, serve } from "../support/process.ts";

after(killAll);

const CROWD = fileURLToPath(new URL("../../bench/attack/endless.ts", import.meta.url));
const CONNECTIONS = 200;
const MEASURED_MS = 1500;

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
