/** Searches that wait: their bound, their order, and searches of clients that are gone. */

import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import { BASE_PATH } from "../src/model/model.ts";
import { CachedSearch } from "../src/search/cache.ts";
import { createPendingSearches } from "../src/search/pending.ts";
import { Scheduler } from "../src/search/schedule.ts";
import type { Searches } from "../src/search/search.ts";
import { BUSY, type Caller, type Found, type PageOf } from "../src/store/generation.ts";
import { cleanUp, serveOpen, type TokenName } from "./support/http-server.ts";
import { until as untilTrue } from "./support/process.ts";
import { dial, errorOf, header, type RawResponse, requestHead } from "./support/raw.ts";
import { bearer } from "./support/requests.ts";

after(cleanUp);

const PAGE: PageOf = { limit: 2, offset: 0 };
const LONG = "long";

const caller = (key: number): Caller => ({ key, isGone: () => false });

/** Searches for "long…" end when the test ends them; others take a tenth of a millisecond. */
function createSearch(most: number, cacheBytes = 0) {
  const begun: string[] = [];
  /** The steps of each long search that has begun. */
  const steps = new Map<string, number>();
  const ended = new Set<string>();
  const searches: Searches = function* search(_name, term) {
    begun.push(term);
    for (let step = 1; term.startsWith(LONG) && !ended.has(term); step++) {
      steps.set(term, step);
      yield;
    }
    const until = performance.now() + 0.1;
    // No yield: on a busy machine it could make the search long.
    while (performance.now() < until);
    return { total: 3, rows: Uint32Array.of(1, 2, 3) };
  };
  const scheduler = new Scheduler(createPendingSearches(most));
  const search = new CachedSearch(searches, { cacheBytes, scheduler, count: undefined });
  const end = (...terms: string[]): void => {
    for (const term of terms) ended.add(term);
  };
  return { begun, steps, end, search };
}

const until = (what: () => boolean | Promise<boolean>) => untilTrue(what, "it");

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe("searches that wait", () => {
  it("never keep out what is answered at once", async () => {
    const { search, end } = createSearch(1, 1_000_000);
    const ask = (term: string) => search.find("worlds", term, PAGE, caller(1));
    assert.equal((ask("short") as Found).total, 3);
    await turn();
    const long = ask("long");
    for (let at = 0; at < 100; at++) assert.equal((ask("short") as Found).total, 3, "from the cache");
    assert.equal(ask("another"), BUSY);
    end("long");
    await long;
    await turn();
    assert.equal((ask("another") as Found).total, 3);
  });
});

const target = (term: string): string => `${BASE_PATH}/worlds/search?q=${encodeURIComponent(term)}&limit=2`;
const request = (path: string, token: TokenName = "api", more: string[] = [], method = "GET"): string =>
  requestHead(path, [bearer(token), ...more], method);

async function serveSearches(most: number) {
  const made = createSearch(most);
  const server = await serveOpen({}, made.search.find);
  return { ...made, server };
}

function isBusyReply(response: RawResponse): void {
  assert.deepEqual([response.status, errorOf(response)], [503, "Server is busy"]);
  const names = ["Retry-After", "Cache-Control", "ETag", "Access-Control-Allow-Origin"];
  const values = names.map((name) => header(response, name));
  assert.deepEqual(values, ["1", "no-store", undefined, "*"]);
}

describe("a server with more searches than may wait", () => {
  it("answers those beyond the bound with a 503, counted, and everything else as ever", async () => {
    const { server, steps, end } = await serveSearches(4);
    const slow = [await dial(server.port), await dial(server.port)];
    for (const [at, one] of slow.entries()) void one.send(request(target(`long ${at + 1}`)));
    await until(() => steps.size === 1);
    const wire = await dial(server.port);
    void wire.send(request(`${BASE_PATH}/stats`));
    const before = Number(header(await wire.response(), "X-RateLimit-Remaining"));
    const refuse = async (more: string[] = [], method = "GET"): Promise<RawResponse> => {
      void wire.send(request(target("long 3"), "api", more, method));
      return await wire.response(method);
    };
    // The second of the two may come late.
    await until(async () => (await refuse()).status === 503);
    const refused = await refuse();
    isBusyReply(refused);
    assert.ok(Number(header(refused, "X-RateLimit-Remaining")) < before);
    assert.ok(Number(header(refused, "X-RateLimit-Limit")) > 0);
    // A condition matters only where the answer would be 200.
    isBusyReply(await refuse([`If-None-Match: ${server.etag}`]));
    assert.equal((await refuse([], "HEAD")).status, 503);
    void wire.send(request(target("  ")));
    assert.equal((await wire.response()).status, 400);
    // A CLI token has its own bound of waiting searches, and its replies show no limit.
    const others = [await dial(server.port), await dial(server.port)];
    for (const [at, one] of others.entries()) void one.send(request(target(`long ${at + 4}`), "cli"));
    await until(() => steps.size === 2);
    void wire.send(request(target("long 6"), "cli"));
    const unlimited = await wire.response();
    isBusyReply(unlimited);
    assert.equal(header(unlimited, "X-RateLimit-Limit"), undefined);
    end("long 1", "long 2", "long 4", "long 5");
    for (const one of [...slow, ...others]) assert.equal((await one.response()).status, 200);
    void wire.send(request(target("short")));
    assert.equal((await wire.response()).status, 200);
  });

  it("drops the search of a client that closed its connection, and not of one that half-closed it", async () => {
    const { server, steps, end } = await serveSearches(8);
    const [closing, halfClosing] = [await dial(server.port), await dial(server.port)];
    void closing.send(request(target("long 1")));
    void halfClosing.send(request(target("long 2"), "cli"));
    await until(() => steps.size === 2);
    closing.destroy();
    halfClosing.end();
    let before = -1;
    await until(async () => {
      const now = steps.get("long 1")!;
      const goesOn = now !== before;
      before = now;
      await new Promise((resolve) => setTimeout(resolve, 50));
      return !goesOn;
    });
    const ofHalfClosing = steps.get("long 2")!;
    await new Promise((resolve) => setTimeout(resolve, 50));
    assert.ok(steps.get("long 2")! > ofHalfClosing);
    end("long 2");
    // Only a half-closed client gets an interim response, and only one.
    const interim = await halfClosing.response();
    assert.deepEqual([interim.status, interim.headers], [102, []]);
    assert.equal((await halfClosing.response()).status, 200);
    await halfClosing.closed();
  });
});
