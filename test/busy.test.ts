/** Searches that wait: their bound, their order, and searches of clients that are gone. */

import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import { BASE_PATH } from "../src/model/model.ts";
import { CachedSearch, type FindResults } from "../src/search/cache.ts";
import { ListedResults, type ResultSet } from "../src/search/result-set.ts";
import { createPendingSearches } from "../src/search/schedule/pending.ts";
import type { Searches } from "../src/search/search.ts";
import type { Work } from "../src/search/work.ts";
import { createInlineSearch } from "../src/server/search/inline-search.ts";
import { BUSY, type Busy, type Caller, type Found, type PageOf } from "../src/store/generation.ts";
import { cleanUp, serveOpen, type TokenName } from "./support/http-server.ts";
import { until as untilTrue } from "./support/process.ts";
import { dial, errorOf, header, type RawResponse, requestHead } from "./support/raw.ts";
import { bearer } from "./support/requests.ts";

after(cleanUp);

const PAGE: PageOf = { limit: 2, offset: 0 };
const LONG = "long";

function caller(key: number): Caller & { gone: boolean } {
  const made = { key, gone: false, isGone: () => made.gone };
  return made;
}

/** Searches for "long…" end when the test ends them; others take a tenth of a millisecond. */
function createSearch(most: number, cacheBytes = 0) {
  const begun: string[] = [];
  const far: { term: string; caller: Caller; end: (matches?: Busy) => void }[] = [];
  const found = new ListedResults(Uint32Array.of(1, 2, 3));
  function* short(term: string): Work<ResultSet> {
    begun.push(term);
    if (term.startsWith(LONG)) yield LONG;
    const until = performance.now() + 0.1;
    // No yield: on a busy machine it could make the search long.
    while (performance.now() < until);
    return found;
  }
  const elsewhere: FindResults = (_name, term, _page, asking) =>
    new Promise((resolve) => far.push({ term, caller: asking, end: (matches) => resolve(matches ?? found) }));
  const searches: Searches = { users: short, worlds: short };
  const pending = createPendingSearches(most);
  const near = createInlineSearch(searches, elsewhere, pending);
  return { begun, far, near, search: new CachedSearch(near, cacheBytes, pending) };
}

const until = (what: () => boolean) => untilTrue(what, "it");

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe("searches that wait", () => {
  it("are bounded over all and by key, and places are given back", async () => {
    const { search, far } = createSearch(4);
    const ask = (key: number, term: string) => search.find("worlds", term, PAGE, caller(key));
    const waiting = [ask(1, "long 1"), ask(1, "long 2")];
    assert.equal(ask(1, "long 3"), BUSY);
    waiting.push(ask(2, "long 4"), ask(3, "long 5"));
    assert.equal(ask(4, "long 6"), BUSY);
    await until(() => far.length === 4);
    for (const { end } of far) end();
    for (const found of await Promise.all(waiting)) assert.equal((found as Found).total, 3);
    await turn();
    assert.ok(ask(1, "long 7") instanceof Promise);
  });

  it("never keep out what is answered at once", async () => {
    const { search } = createSearch(1, 1_000_000);
    assert.notEqual(search.find("worlds", "short", PAGE, caller(1)), BUSY);
    await turn();
    search.find("worlds", "long", PAGE, caller(1));
    await turn();
    assert.equal((search.find("worlds", "another", PAGE, caller(1)) as Found).total, 3);
    await turn();
    for (let at = 0; at < 100; at++) {
      assert.equal((search.find("worlds", "short", PAGE, caller(1)) as Found).total, 3, "from the cache");
    }
    await turn();
    assert.equal(search.find("worlds", "long too", PAGE, caller(1)), BUSY);
  });

  it("of a key that floods let others in after a turn", async () => {
    const { near, begun } = createSearch(1000);
    const flood = Array.from({ length: 400 }, (_, at) => near("users", `flood ${at}`, PAGE, caller(1)));
    await turn();
    const honest = ["a", "b", "c"].map((term, at) => near("users", term, PAGE, caller(2 + at)));
    const before = begun.length;
    await Promise.all(honest);
    assert.ok(begun.length - before <= 20, `${begun.length - before} before them`);
    await Promise.all(flood);
    const floods = begun.filter((term) => term.startsWith("flood"));
    for (const [at, term] of floods.entries()) assert.equal(term, `flood ${at}`, "in order");
    assert.equal(floods.length, 400);
  });

  it("are not begun when their callers are gone", async () => {
    const { near, begun } = createSearch(1000);
    const callers = Array.from({ length: 100 }, () => caller(1));
    const found = callers.map((one, at) => near("users", String(at), PAGE, one));
    const soon = begun.length;
    for (const one of callers) one.gone = true;
    const results = await Promise.all(found);
    assert.equal(begun.length, soon);
    assert.ok(results.slice(soon).every((result) => result === BUSY));
  });

  it("are shared by callers of one key while one of them is left, and bounded as others are", async () => {
    const { search, far } = createSearch(6, 1_000_000);
    const [first, second, third] = [caller(1), caller(1), caller(1)];
    const answers = [first, second, third].map((one) => search.find("worlds", LONG, PAGE, one));
    assert.equal(search.find("worlds", LONG, PAGE, caller(1)), BUSY);
    // Another key's search does not wait in the first key's queue.
    const other = search.find("worlds", LONG, PAGE, caller(2));
    await until(() => far.length === 2);
    const [joint, own] = far;
    first!.gone = true;
    third!.gone = true;
    assert.equal(joint!.caller.isGone(), false);
    second!.gone = true;
    assert.equal(joint!.caller.isGone(), true);
    joint!.end(BUSY);
    assert.deepEqual(await Promise.all(answers), [BUSY, BUSY, BUSY]);
    assert.equal(search.counts().entries, 0);
    own!.end();
    assert.equal(((await other) as Found).total, 3);
    assert.equal(search.counts().entries, 1);
  });

  it("that were dropped are searched again for who joined in the last moment", async () => {
    const { search, far } = createSearch(6, 1_000_000);
    const first = caller(1);
    const dropped = search.find("worlds", LONG, PAGE, first);
    await until(() => far.length === 1);
    first.gone = true;
    far[0]!.end(BUSY);
    const late = search.find("worlds", LONG, PAGE, caller(1));
    assert.equal(await dropped, BUSY);
    await until(() => far.length === 2);
    far[1]!.end();
    assert.equal(((await late) as Found).total, 3);
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
    const { server, far } = await serveSearches(4);
    const slow = await dial(server.port);
    void slow.send(request(target("long 1")) + request(target("long 2")));
    await until(() => far.length === 2);
    const wire = await dial(server.port);
    void wire.send(request(`${BASE_PATH}/stats`));
    const before = Number(header(await wire.response(), "X-RateLimit-Remaining"));
    void wire.send(request(target("long 3")));
    const refused = await wire.response();
    isBusyReply(refused);
    assert.equal(Number(header(refused, "X-RateLimit-Remaining")), before - 1);
    assert.ok(Number(header(refused, "X-RateLimit-Limit")) > 0);
    // A condition matters only where the answer would be 200.
    void wire.send(request(target("long 3"), "api", [`If-None-Match: ${server.etag}`]));
    isBusyReply(await wire.response());
    void wire.send(request(target("long 3"), "api", [], "HEAD"));
    assert.equal((await wire.response("HEAD")).status, 503);
    void wire.send(request(target("  ")) + request(target("short")));
    assert.equal((await wire.response()).status, 400);
    assert.equal((await wire.response()).status, 200);
    // A CLI token has its own bound of waiting searches, and its replies show no limit.
    const other = await dial(server.port);
    void other.send(request(target("long 4"), "cli") + request(target("long 5"), "cli"));
    await until(() => far.length === 4);
    void wire.send(request(target("long 6"), "cli"));
    const unlimited = await wire.response();
    isBusyReply(unlimited);
    assert.equal(header(unlimited, "X-RateLimit-Limit"), undefined);
    for (const { end } of far) end();
    for (const one of [slow, slow, other, other]) assert.equal((await one.response()).status, 200);
    void wire.send(request(target("long 7")));
    await until(() => far.length === 5);
    far[4]!.end();
    assert.equal((await wire.response()).status, 200);
  });

  it("learns that a client is gone that closed its connection, and not that one is that half-closed it", async () => {
    const { server, far } = await serveSearches(8);
    const [closing, halfClosing] = [await dial(server.port), await dial(server.port)];
    void closing.send(request(target("long 1")));
    await until(() => far.length === 1);
    void halfClosing.send(request(target("long 2")));
    await until(() => far.length === 2);
    const [ofClosing, ofHalfClosing] = far.map(({ caller: asking }) => asking);
    assert.equal(ofClosing!.isGone(), false);
    closing.destroy();
    halfClosing.end();
    await until(() => {
      assert.equal(ofHalfClosing!.isGone(), false);
      return ofClosing!.isGone();
    });
    for (let at = 0; at < 10; at++) {
      await new Promise((resolve) => setTimeout(resolve, 10));
      assert.equal(ofHalfClosing!.isGone(), false);
    }
    for (const { end } of far) end();
    // Only a half-closed client gets an interim response, and only one.
    const interim = await halfClosing.response();
    assert.deepEqual([interim.status, interim.headers], [102, []]);
    assert.equal((await halfClosing.response()).status, 200);
    await halfClosing.closed();
  });
});
