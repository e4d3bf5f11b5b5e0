/** Shared parts of the tests on the wire: a server with very long timeouts, good requests, and checks of refusals. */

import assert from "node:assert/strict";
import { after } from "node:test";
import type { Found, PageOf } from "../../src/store/generation.ts";
import { cleanUp, serve, type TestServer } from "./http-server.ts";
import { dial, errorOf, header, type RawResponse, requestHead } from "./raw.ts";

export { AUTH, bearer, good, HOST, OK, PAGE, SEARCH, STATS } from "./requests.ts";

/** Sends one request and hangs up like a finished client; the server must keep the connection open until then. */
export async function ask(
  target: string,
  headers: readonly string[] = [],
  method = "GET",
  { port }: Pick<TestServer, "port"> = main,
): Promise<RawResponse> {
  const wire = await dial(port);
  void wire.send(requestHead(target, headers, method));
  const response = await wire.response(method);
  assert.equal(header(response, "Connection"), "keep-alive");
  await wire.hangUp();
  return response;
}

export function isStats(response: RawResponse): void {
  assert.equal(response.status, 200);
  assert.deepEqual(JSON.parse(response.body), {
    data: { totalUsers: 30, totalPublicWorlds: 60, totalPublicInstances: 1 },
  });
}

/**
 * A refusal that does not come from the API: it ends the connection and carries no CORS headers. The error of malformed
 * requests may have a reason.
 */
export function isBareRefusal(response: RawResponse, status: number, error: string): void {
  assert.equal(response.status, status);
  assert.equal(errorOf(response).replace(/^Bad request: [A-Za-z\- ]+$/, "Bad request"), error);
  assert.equal(header(response, "Connection"), "close");
  assert.equal(header(response, "Cache-Control"), "no-store");
  const extra = response.headers.filter(([name]) => /^(access-control-|x-ratelimit-|etag$)/i.test(name));
  assert.deepEqual(extra, []);
}

export const isBadRequest = (response: RawResponse): void => isBareRefusal(response, 400, "Bad request");

// Its timeouts are longer than any test waits: an answer cannot come from a timeout.
export const main = await serve({
  threads: true,
  headersTimeout: 3600,
  requestTimeout: 3600,
});

after(cleanUp);

/** More at once would keep this process from answering its own server in time, on a busy machine. */
export const AT_ONCE = { concurrency: 16 };

/** Searches that wait until the test lets them finish. */
export function slowSearches() {
  const finish: (() => void)[] = [];
  let slow = true;
  return {
    finish,
    later(_name: string, _term: string, { limit, offset }: PageOf): Found | Promise<Found> {
      const found = { total: 3, rows: Uint32Array.of(1, 2, 3).subarray(offset, offset + limit) };
      return slow ? new Promise((resolve) => finish.push(() => resolve(found))) : found;
    },
    finishAll() {
      slow = false;
      for (const done of finish) done();
    },
  };
}
