/** Opening a state that fails: nothing of what was opened by then goes on. */

import assert from "node:assert/strict";
import { after, it } from "node:test";
import { KeysFileError } from "../src/auth/keys.ts";
import { openState } from "../src/server/open.ts";
import type { OpenConnection } from "../src/shared-limits/connection.ts";
import { readRedisUrl } from "../src/shared-limits/redis-url.ts";
import { planOf } from "../src/shared-limits/settings.ts";
import { cleanUp, testOptions } from "./support/http-server.ts";
import { until } from "./support/process.ts";

after(cleanUp);

/** A counter server that answers, and how many connections to it are open and were opened. */
function createCounterServer() {
  let connections = 0;
  let opened = 0;
  const open: OpenConnection = async () => {
    connections++;
    opened++;
    return {
      isCluster: false,
      run: async () => [Math.floor(Date.now() / 3_600_000), 0, 0, 1000],
      close() {
        connections--;
      },
    };
  };
  return { open, connections: () => connections, opened: () => opened };
}

it("a keys file that cannot be read leaves no connection to the counter server behind", async () => {
  const { open, connections, opened } = createCounterServer();
  const options = await testOptions({ rateWindow: 3600, keys: "no/such/file" }, []);
  const target = readRedisUrl("redis://127.0.0.1");
  const sharedLimits = planOf({ target, replicas: 1, denies: false, open });
  await assert.rejects(openState({ ...options, sharedLimits }), KeysFileError);
  assert.ok(opened() > 0);
  await until(() => connections() === 0, "the connection is closed");
});
