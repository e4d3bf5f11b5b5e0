/** `match=similar` as it is served: off, on, while names are indexed, over reloads, deaths and floods. */

import assert from "node:assert/strict";
import { after, before, describe, it, type TestContext } from "node:test";
import { modelFold } from "./support/model.ts";
import { modelSubstringDistance } from "./support/similar.ts";
import {
  answersWhileIndexing,
  closesAnyTime,
  makeRows,
  namesIn,
  type Opened,
  open,
  pageOf,
  removeRows,
} from "./support/similar-served.ts";

before(async () => {
  await makeRows();
});
after(removeRows);

const QUERIES = [
  "",
  "q=",
  "q=rabit",
  "q=rabbit&limit=1&offset=1",
  `q=${encodeURIComponent("佐藤")}`,
  "q=%F0%9F",
];

describe("without the setting, or with another value of the parameter,", () => {
  it("replies are those of the exact search, to the byte", async (t) => {
    const off = await open(t, { similar: false, threads: false });
    const on = await open(t, { threads: false });
    await on.observed("similar-ready");
    for (const table of ["users", "worlds"]) {
      for (const query of QUERIES) {
        const expected = await off.ask(`/${table}/search?${query}`);
        for (const match of ["similar", "exact", "", "Similar", "similar%20", "fuzzy"]) {
          const target = `/${table}/search?${query}&match=${match}`;
          assert.deepEqual(await off.ask(target), expected, target);
          if (match !== "similar") assert.deepEqual(await on.ask(target), expected, target);
        }
        const first = `/${table}/search?match=x&${query}&match=similar`;
        assert.deepEqual(await on.ask(first), expected, "the first counts");
      }
      // Where there is no search there is no such parameter.
      assert.deepEqual(await on.ask(`/${table}/x?match=similar`), await off.ask(`/${table}/x`));
    }
    assert.ok(!off.seen.some(({ kind }) => kind.startsWith("similar")));
  });
});

for (const threads of [true, false]) {
  describe(`similar search, ${threads ? "in a thread" : "on the calling thread"}`, () => {
    let opened: Opened;
    const closing: (() => void)[] = [];
    before(async () => {
      const context = { after: (close: () => void) => void closing.push(close) };
      const bounds = { maxPendingSearches: 80, searchCacheBytes: 0 };
      opened = await open(context as Pick<TestContext, "after">, { threads, ...bounds });
      await opened.observed("similar-ready");
    });
    after(() => {
      for (const close of closing) close();
    });

    it("finds names that are misspelt, and says so at the end", async () => {
      const { ask } = opened;
      for (const [query, name] of [
        ["rabit", "Rabbit"],
        ["rabibt", "Rabbit"],
        ["zoe muler", "Zoë Müller"],
        ["佐藤 陽菜", "佐藤 陽葵"],
        ["さくもち", "さくらもち"],
        ["🐱🐱🐶", "🐱🐶🐱"],
      ] as const) {
        const reply = await ask(`/users/search?q=${encodeURIComponent(query)}&match=similar`);
        const page = pageOf(reply);
        assert.ok(namesIn(page).includes(name), `${query}: ${namesIn(page).join()}`);
        assert.match(reply.body, /,"pagination":\{"total":\d+,"limit":20,"offset":0\},"match":"similar"\}$/);
        for (const found of namesIn(page)) {
          const distance = modelSubstringDistance(query, modelFold(found));
          assert.ok(distance <= (query.length > 5 && [...query].length > 5 ? 2 : 1), `${query}: ${found}`);
        }
      }
      const worlds = pageOf(await ask("/worlds/search?q=gardne&match=similar"));
      assert.deepEqual(namesIn(worlds).sort(), ["Garden of Cats", "Secret Garden"]);
      assert.deepEqual(Object.keys(worlds.data[0]!), ["id", "name", "description"]);
      assert.equal(pageOf(await ask("/worlds/search?q=rabbit&match=similar")).pagination.total, 0);
    });

    it("pages through what it found", async () => {
      const { ask } = opened;
      const whole = pageOf(await ask("/users/search?q=user%201&match=similar&limit=50"));
      const { total } = whole.pagination;
      assert.ok(total > 20, `${total}`);
      const pages: string[] = [];
      for (let offset = 0; offset < total; offset += 7) {
        const page = pageOf(await ask(`/users/search?q=user%201&match=similar&limit=7&offset=${offset}`));
        assert.equal(page.pagination.total, total);
        pages.push(...page.data.map(({ id }) => id));
      }
      assert.equal(pages.length, total);
      assert.deepEqual(
        pages.slice(0, 50),
        whole.data.map(({ id }) => id),
      );
      assert.deepEqual(
        pageOf(await ask("/users/search?q=user%201&match=similar&offset=9007199254740991")).data,
        [],
      );
    });

    it("refuses what the exact search refuses; conditions and HEAD are the same", async () => {
      const { ask, orrery } = opened;
      const target = "/users/search?q=rabit&match=similar";
      const etag = `"${orrery.generation()}"`;
      const get = await ask(target);
      const head = await ask(target, { method: "HEAD" });
      assert.deepEqual(head, { ...get, body: "" });
      assert.equal(get.headers.etag, etag);
      assert.equal((await ask(target, { ifNoneMatch: etag })).status, 304);
      assert.equal((await ask(target, { ifMatch: '"other"' })).status, 412);
      for (const q of ["", "%20", "%CC%81"]) {
        assert.equal((await ask(`/users/search?match=similar&q=${q}`)).status, 400);
      }
      assert.equal((await ask(target, { authorization: "Bearer svc_sk_worlds" })).status, 403);
      assert.equal((await ask(target, { authorization: undefined })).status, 401);
      const megabyte = `/users/search?match=similar&q=${"rabit%20".repeat(120_000)}`;
      assert.equal(pageOf(await ask(megabyte)).match, "similar");
      for (const q of [".*", "(a%2B)%2B%24", "%5B", "%5C", "%00", "%EF%B7%BA".repeat(256)]) {
        assert.equal(pageOf(await ask(`/users/search?match=similar&q=${q}`)).match, "similar", q);
      }
    });

    it("is bounded and fair between keys; lookups go before it", async () => {
      const { ask } = opened;
      const order: string[] = [];
      const flood = Array.from({ length: 100 }, async (_, at) => {
        const target = `/users/search?q=user%20${at}x&match=similar`;
        const { status } = await ask(target, { authorization: "Bearer svc_sk_a" });
        order.push(`flood ${status}`);
      });
      const honest = ask("/users/search?q=rabit&match=similar").then(({ status }) =>
        order.push(`honest ${status}`),
      );
      const lookup = ask("/stats").then(({ status }) => order.push(`lookup ${status}`));
      await Promise.all([...flood, honest, lookup]);
      const served = order.filter((one) => one !== "flood 503");
      assert.equal(order.length - served.length, 60, "half of the bound is a key's");
      assert.equal(served[0], "lookup 200");
      assert.ok(served.indexOf("honest 200") < 10, served.join());
      assert.equal((await ask("/users/search?q=rabit&match=similar")).status, 200);
    });

    it("lets go of those who are gone", async () => {
      const { ask } = opened;
      const gone = new AbortController();
      const flood = Array.from({ length: 30 }, (_, at) =>
        ask(`/users/search?q=user%20${at}y&match=similar`, { signal: gone.signal }).catch(
          (error: Error) => error.name,
        ),
      );
      gone.abort();
      assert.ok(
        (await Promise.all(flood)).every((name) => name === "AbortError" || typeof name === "object"),
      );
      assert.equal((await ask("/users/search?q=rabit&match=similar")).status, 200);
    });

    if (threads) return;
    it("is answered by the exact one while names are indexed, also behind a reload", (t) =>
      answersWhileIndexing(t, threads));

    it("can be closed at any time", (t) => closesAnyTime(t, threads));
  });
}
