/** A request sees one generation; a state whose opening fails leaves nothing behind. */

import assert from "node:assert/strict";
import { after, it, test } from "node:test";
import { answer } from "../src/api/answer.ts";
import { KeysFileError } from "../src/auth/keys.ts";
import { openState } from "../src/server/open.ts";
import type { OpenConnection } from "../src/shared-limits/connection.ts";
import { readRedisUrl } from "../src/shared-limits/redis-url.ts";
import { planOf } from "../src/shared-limits/settings.ts";
import type { Found } from "../src/store/generation.ts";
import { BASE, cleanUp, TOKENS, testOptions } from "./support/http-server.ts";
import { until } from "./support/process.ts";

after(cleanUp);

test("a request sees one generation, also when another comes while it is searched", async (t) => {
  const { state, stop, close } = await openState(await testOptions({}, []));
  t.after(() => {
    stop();
    close();
  });
  let finish = (_found: Found): void => {};
  const users = (): Promise<Found> =>
    new Promise((resolve) => {
      finish = resolve;
    });
  const old = { ...state.generation, etag: '"old"', search: { ...state.generation.search, users } };
  const ask = (ifMatch: string) =>
    answer(
      {
        method: "GET",
        target: `${BASE}/users/search?q=a`,
        authorization: `Bearer ${TOKENS.cli}`,
        ifNoneMatch: undefined,
        ifMatch,
        now: Date.now(),
      },
      state,
    );
  for (const [ifMatch, status] of [
    ['"old"', 200],
    ['"new"', 412],
  ] as const) {
    state.generation = old;
    const asked = ask(ifMatch);
    assert.ok(asked instanceof Promise);
    state.generation = { ...old, etag: '"new"' };
    finish({ total: 1, rows: Uint32Array.of(0) });
    const reply = await asked;
    assert.equal(reply.status, status);
    assert.match(reply.headers, /^ETag: "old"\r$/m);
  }
});

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
