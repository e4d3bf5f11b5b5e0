/** A request sees one generation; a state that fails to open leaves nothing running. */

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { answer } from "../src/api/answer.ts";
import { openState } from "../src/server/open.ts";
import type { Found } from "../src/store/generation.ts";
import { BASE, cleanUp, TOKENS, testOptions } from "./support/http-server.ts";
import { deferred } from "./support/patience.ts";

after(cleanUp);

test("a request sees one generation, also when another comes while it is searched", async (t) => {
  const { state, stop, close } = await openState(await testOptions({}, []));
  t.after(() => {
    stop();
    close();
  });
  let found = deferred<Found>();
  const old = { ...state.generation, etag: '"old"', search: () => found.promise };
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
    found = deferred();
    state.generation = old;
    const asked = ask(ifMatch);
    assert.ok(asked instanceof Promise);
    state.generation = { ...old, etag: '"new"' };
    found.resolve({ total: 1, rows: Uint32Array.of(0) });
    const reply = await asked;
    assert.equal(reply.status, status);
    assert.match(reply.headers, /^ETag: "old"\r$/m);
  }
});
