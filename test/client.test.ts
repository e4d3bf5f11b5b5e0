/** `orrery/client` against a real server, and against one that fails in every way. */

import assert from "node:assert/strict";
import type { IncomingMessage, ServerResponse } from "node:http";
import { describe, it, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { ROUTES } from "../src/api/routes.ts";
import {
  ApiError,
  type Client,
  createClient,
  NetworkError,
  OrreryError,
  RateLimitError,
  type ReplyHead,
  SnapshotChangedError,
} from "../src/client/mod.ts";
import { BASE_PATH } from "../src/model/model.ts";
import { documentOf } from "./support/documents.ts";
import { collect, openSample } from "./support/library.ts";
import { serveHttp as serve } from "./support/ports.ts";

const TOKEN = "svcx_of-this-test";

/** A faulty server's behaviour for one request; the last step repeats. */
type Step = (response: ServerResponse, request: IncomingMessage) => void;

function reply(status: number, body: unknown, headers: Record<string, string> = {}): Step {
  return (response) => {
    response.writeHead(status, headers);
    response.end(typeof body === "string" ? body : JSON.stringify(body));
  };
}

const STATS = { data: { totalUsers: 1, totalPublicWorlds: 2, totalPublicInstances: 3 } };
const good = reply(200, STATS);

/** A client, and the targets that it asks a faulty server for, each with its If-Match. */
async function faulty(t: TestContext, steps: Step[], options = {}) {
  const asked: string[] = [];
  const baseUrl = await serve(t, (request, response) => {
    const step = steps[Math.min(asked.length, steps.length - 1)]!;
    asked.push(`${request.url}${request.headers["if-match"] ? ` ${request.headers["if-match"]}` : ""}`);
    step(response, request);
  });
  return { client: createClient({ baseUrl, token: TOKEN, ...options }), asked };
}

/** A client whose server is not asked. */
const clientWith = (options: object) =>
  createClient({ baseUrl: "http://127.0.0.1", token: TOKEN, ...options });

it("the documents name every function of the client", () => {
  const { stats, ...groups } = clientWith({});
  assert.equal(typeof stats, "function");
  const functions = Object.entries(groups).flatMap(([group, all]) =>
    Object.keys(all).map((name) => `${group}.${name}(`),
  );
  assert.equal(functions.length, ROUTES.length - 1);
  const table = documentOf("docs/client.md")
    .text.match(/^\| `.*$/gm)!
    .join();
  for (const name of [...functions, "stats("]) assert.ok(table.includes(`\`${name}`), name);
});

describe("the client and a server", () => {
  it("do every operation", async (t) => {
    const orrery = await openSample(t, { keys: [{ id: "me", kind: "cli", token: TOKEN }] });
    const asked = new Set<string>();
    const origin = await serve(t, (request, response) => {
      asked.add(request.url!.replace(/\?.*/, "").replace(/[0-9a-f-]{36}/, ":id"));
      orrery.handle(request, response);
    });
    const client = createClient({ baseUrl: origin, token: TOKEN });
    const { data: stats } = await client.stats();
    assert.ok(stats.totalPublicWorlds > 100);
    for (const baseUrl of [`${origin}/`, `${origin}/api/public/v1`, new URL("/api/public/v1/", origin)])
      assert.deepEqual((await createClient({ baseUrl, token: TOKEN }).stats()).data, stats);
    const { data: worlds, pagination } = await client.worlds.list({ limit: 3, offset: 2 });
    assert.deepEqual(pagination, { total: stats.totalPublicWorlds, limit: 3, offset: 2 });
    const all = await collect(client.worlds.list.all());
    assert.equal(all.length, stats.totalPublicWorlds);
    assert.deepEqual(all.slice(2, 5), worlds);
    assert.deepEqual(await collect(client.worlds.list.all({ offset: 2, limit: 7 })), all.slice(2));

    const world = worlds[0]!;
    assert.deepEqual((await client.worlds.get(world.id)).data, world);
    assert.equal((await client.worlds.stats(world.id)).data.worldId, world.id);
    const week = await client.worlds.popular({ period: "week", limit: 1 });
    assert.equal(week.period, "week");
    assert.equal((await collect(client.worlds.popular.all({ period: "month" }))).length, all.length);
    const found = await client.worlds.search(world.name, { limit: 50 });
    assert.ok(found.data.some(({ id }) => id === world.id));
    assert.equal((await collect(client.worlds.search.all(world.name))).length, found.pagination.total);

    const instances = await collect(client.instances.list.all());
    assert.equal(instances.length, stats.totalPublicInstances);
    const instance = instances[0]!;
    assert.deepEqual((await client.instances.get(instance.id)).data, instance);
    const ofWorld = (await client.worlds.instances(instance.worldId)).data;
    assert.ok(ofWorld.some(({ id }) => id === instance.id));
    assert.deepEqual((await client.instances.list({ worldId: instance.worldId })).data, ofWorld);
    assert.deepEqual((await collect(client.worlds.instances.all(instance.worldId))).slice(0, 20), ofWorld);

    const { data: owner } = await client.users.get(world.ownerId);
    const byName = await client.users.search(owner.displayName, { match: "similar", limit: 50 });
    assert.ok(byName.data.some(({ id }) => id === owner.id));
    assert.ok((await client.users.worlds(owner.id)).data.some(({ id }) => id === world.id));
    assert.ok((await collect(client.users.worlds.all(owner.id))).some(({ id }) => id === world.id));
    assert.ok((await collect(client.users.search.all(owner.displayName))).length >= 1);
    assert.deepEqual([...asked].sort(), ROUTES.map(({ path }) => BASE_PATH + path).sort());
  });

  it("tell what is missing and what is refused", async (t) => {
    const few = { id: "me", kind: "api", token: "svc_sk_few", scopes: ["read:worlds"], limit: 3 } as const;
    const baseUrl = await serve(t, (await openSample(t, { keys: [few] })).handle);
    const client = createClient({ baseUrl, token: few.token, maxWaitMs: 0 });
    const rejections: [() => Promise<unknown>, number, string][] = [
      [() => client.worlds.get("nobody/../"), 404, "World not found"],
      [() => client.users.get("x"), 403, "Insufficient scope. Required: read:users"],
      [() => client.worlds.search(" "), 400, 'Query parameter "q" is required'],
      [() => createClient({ baseUrl, token: "svc_sk_z" }).stats(), 401, "Invalid API key"],
    ];
    for (const [run, status, message] of rejections)
      await assert.rejects(run, { name: "ApiError", status, message });
    await assert.rejects(client.stats(), (error) => {
      assert.ok(error instanceof RateLimitError && error instanceof ApiError && error instanceof OrreryError);
      return error.status === 429 && error.retryAfterMs > 0 && error.retryAfterMs <= 3_600_000;
    });
  });
});

describe("the client is given", () => {
  it("options that cannot be used, and says so without the token", () => {
    const cases: Readonly<Record<string, unknown[]>> = {
      baseUrl: ["nowhere", undefined, "ftp://127.0.0.1/", 5, null],
      token: ["", undefined, "svcx_\n", "svcx_ü", 5],
      retries: [-1, "3", null],
      fetch: ["fetch", null],
      tokn: [TOKEN],
      constructor: [5],
    };
    const known = "baseUrl,token,fetch,retries,maxWaitMs,onResponse";
    for (const [name, values] of Object.entries(cases)) {
      const message = known.split(",").includes(name) ? `${name}: ` : `${name}: must be one of ${known}`;
      for (const value of values)
        assert.throws(
          () => clientWith({ [name]: value }),
          (error: Error) =>
            error instanceof TypeError && error.message.startsWith(message) && !/svcx/.test(error.message),
        );
    }
  });

  it("ids that would lead elsewhere, and encodes them", async (t) => {
    const { client, asked } = await faulty(t, [reply(404, { error: "World not found" })]);
    for (const id of ["a/b", "?q=1", "#", "%2e%2e"]) await assert.rejects(client.worlds.get(id), ApiError);
    const worlds = "/api/public/v1/worlds/";
    assert.deepEqual(asked, [`${worlds}a%2Fb`, `${worlds}%3Fq%3D1`, `${worlds}%23`, `${worlds}%252e%252e`]);
  });
});

describe("a call is given", () => {
  /** A call that must fail without sending anything. Each case's name begins the message. */
  type Run = (client: Client, value: never) => Promise<unknown>;
  const cases: Readonly<Record<string, [values: unknown[], ...runs: Run[]]>> = {
    limit: [
      [Number.NaN, 1.5, -1, "5", null, Number.POSITIVE_INFINITY, 2 ** 53, 5n],
      (client, limit) => client.users.search("a", { limit }),
      (client, limit) => client.worlds.list.all({ limit }).next(),
    ],
    offset: [
      [1.5, -1, "5"],
      (client, offset) => client.instances.list({ offset }),
      (client, offset) => client.users.worlds.all("a", { offset }).next(),
    ],
    id: [
      ["", ".", "..", "\ud800", "a\udc00b", undefined, null, 5, {}, ["a"], Symbol.iterator],
      (client, id) => client.worlds.get(id),
      (client, id) => client.worlds.instances.all(id).next(),
    ],
    worldId: [["\ud800", 5, null, {}], (client, worldId) => client.instances.list({ worldId })],
    q: [
      [undefined, null, 5, {}],
      (client, q) => client.worlds.search(q),
      (client, q) => client.users.search.all(q).next(),
    ],
    period: [[5, null, {}], (client, period) => client.worlds.popular({ period })],
    match: [[5, true, null], (client, match) => client.users.search("a", { match })],
    onChange: [[5, null, {}, "restrat"], (client, onChange) => client.worlds.list.all({ onChange }).next()],
    ifMatch: [
      ["", null, 5, '"a b"', "\n", '"ü"', ['"a"']],
      (client, ifMatch) => client.stats({ ifMatch }),
      (client, ifMatch) => client.worlds.list.all({ ifMatch }).next(),
    ],
    signal: [
      [{}, 5, "x", null, new AbortController()],
      (client, signal) => client.stats({ signal }),
      (client, signal) => client.worlds.list.all({ signal }).next(),
    ],
    limt: [
      [5, undefined],
      (client, limt) => client.worlds.get("a", { limt } as never),
      (client, limt) => client.users.search.all("a", { limt } as never).next(),
    ],
    options: [
      [null, 5, "abc", true],
      (client, options) => client.worlds.get("a", options),
      (client, options) => client.worlds.list.all(options).next(),
      (client, options) => client.users.search("a", options),
    ],
  };
  for (const [name, [values, ...runs]] of Object.entries(cases)) {
    it(`${name} that cannot be used, and sends nothing`, async (t) => {
      const { client, asked } = await faulty(t, [good]);
      for (const run of runs) {
        for (const value of values) {
          await assert.rejects(
            run(client, value as never),
            (error: Error) => error instanceof TypeError && error.message.startsWith(`${name}: must be `),
            `${name} ${String(value)}`,
          );
        }
      }
      assert.deepEqual(asked, []);
    });
  }

  it("numbers and texts that can be sent, half an emoji to search for among them", async (t) => {
    const { client, asked } = await faulty(t, [good]);
    await client.worlds.list({ limit: 0, offset: Number.MAX_SAFE_INTEGER });
    await client.users.search("a\ud83d", { limit: 50 });
    await client.instances.list({ worldId: "" });
    assert.deepEqual(asked, [
      "/api/public/v1/worlds?limit=0&offset=9007199254740991",
      "/api/public/v1/users/search?limit=50&q=a%EF%BF%BD",
      "/api/public/v1/instances?worldId=",
    ]);
  });
});

describe("each reply", () => {
  it("is shown with its headers and without the token, one after which a request is sent again as well", async (t) => {
    const seen: ReplyHead[] = [];
    const refuse = reply(429, { error: "Rate limit exceeded" }, { "retry-after": "0", "x-request-id": "a" });
    const found = reply(200, STATS, { "x-request-id": "c" });
    const changed = reply(412, "", { etag: '"b"', "x-request-id": "d" });
    const onResponse = (head: ReplyHead) => seen.push(head);
    const { client } = await faulty(t, [refuse, reply(503, ""), found, changed], { onResponse });
    await client.stats();
    await assert.rejects(client.users.get("x"), SnapshotChangedError);
    const path = "/api/public/v1/stats";
    assert.deepEqual(
      seen.map(({ url, status, headers }) => [new URL(url).pathname, status, headers.get("x-request-id")]),
      [
        [path, 429, "a"],
        [path, 503, null],
        [path, 200, "c"],
        ["/api/public/v1/users/x", 412, "d"],
      ],
    );
    assert.equal(seen[3]!.headers.get("etag"), '"b"');
    assert.deepEqual(Object.keys(seen[0]!), ["url", "status", "headers"]);
    for (const { url, headers } of seen)
      assert.doesNotMatch(JSON.stringify([url, ...headers]), /of-this-test/);
  });

  it("ends the call where that throws, and is not asked for again", async (t) => {
    // One of the client's own errors does not cause a retry either.
    for (const problem of [new Error("mine"), new NetworkError("mine"), undefined]) {
      const fail = (): never => {
        throw problem;
      };
      for (const onResponse of [fail, async () => fail()]) {
        for (const step of [good, reply(503, "")]) {
          const { client, asked } = await faulty(t, [step], { onResponse });
          const outcome = await client.stats().catch((error: unknown) => [error]);
          assert.deepEqual([outcome, asked.length], [[problem], 1]);
        }
      }
    }
  });
});

describe("an abort", { concurrency: true }, () => {
  const reason = new Error("enough");
  const refusal = async (status: number) => new Response("{}", { status, headers: { "retry-after": "50" } });
  /** Each would take about a minute; none listens to the signal. */
  const fetches: Record<string, () => Promise<Response>> = {
    "a wait for the next window": () => refusal(429),
    "a pause between tries": () => refusal(503),
    "a request without an answer": () => new Promise(() => {}),
    "a body without an end": async () => new Response(new ReadableStream()),
  };
  for (const [name, fetch] of Object.entries(fetches)) {
    for (const call of ["stats", "all"] as const) {
      for (const when of [0, 30]) {
        it(`ends ${name} at once: ${call}, after ${when} ms`, async () => {
          const controller = new AbortController();
          // At 0 ms, aborts while the reply is shown or, without a reply, before any wait.
          const onResponse = (): void => {
            if (when === 0) controller.abort(reason);
          };
          const client = clientWith({ onResponse, fetch });
          const { signal } = controller;
          const start = performance.now();
          const waiting =
            call === "all" ? client.worlds.list.all({ signal }).next() : client.stats({ signal });
          setTimeout(() => controller.abort(reason), when);
          await assert.rejects(waiting, (error) => error === reason);
          assert.ok(performance.now() - start < 5000);
        });
      }
    }
  }
});

describe("the client waits", { concurrency: true }, () => {
  it("as long as Retry-After says", async (t) => {
    const cases: [string, Record<string, string>, number][] = [
      ["seconds", { "retry-after": "1" }, 1000],
      // Without the part of a second, and begun before the request.
      ["a time", { "retry-after": new Date(Date.now() + 3000).toUTCString() }, 1000],
      ["nothing", {}, 100],
      ["at once", { "retry-after": "0" }, 190],
    ];
    await Promise.all(
      cases.map(async ([name, headers, atLeast]) => {
        const refuse = reply(429, { error: "Rate limit exceeded" }, headers);
        const { client, asked } = await faulty(t, [refuse, good]);
        const start = performance.now();
        assert.deepEqual(await client.stats(), STATS);
        // Timers may come a millisecond early.
        assert.ok(performance.now() - start >= atLeast - 2, name);
        assert.equal(asked.length, 2, name);
      }),
    );
  });

  it("no longer than it may, in all", async (t) => {
    const refuse = reply(429, { error: "Rate limit exceeded" }, { "retry-after": "0" });
    const { client, asked } = await faulty(t, [refuse], { maxWaitMs: 700 });
    await assert.rejects(client.stats(), RateLimitError);
    assert.equal(asked.length, 4);
  });
});

describe("the client tries again", { concurrency: true }, () => {
  const broken: Record<string, Step> = {
    "a reset": (response) => response.socket!.resetAndDestroy(),
    "a reset in the middle of a body": (response) => {
      response.writeHead(200, { "content-length": "1000" });
      response.write('{"data":', () => response.socket!.resetAndDestroy());
    },
    "a defect": reply(500, { error: "Internal server error" }, { "x-ratelimit-reset": "99999999999" }),
    "a page of a proxy": reply(502, "<html>Bad gateway</html>"),
    "a busy server": reply(503, { error: "Server is busy" }, { "retry-after": "0" }),
  };

  for (const [name, step] of Object.entries(broken)) {
    it(`after ${name}`, async (t) => {
      const { client, asked } = await faulty(t, [step, step, good]);
      assert.deepEqual(await client.stats(), STATS);
      assert.equal(asked.length, 3);
    });
  }

  it("as often as it may", async (t) => {
    for (const [name, step] of Object.entries(broken)) {
      const { client, asked } = await faulty(t, [step], { retries: 1 });
      const error = name.startsWith("a reset") ? NetworkError : ApiError;
      await assert.rejects(
        client.stats(),
        (found: Error) => found instanceof error && !/svcx_/.test(found.stack!),
        name,
      );
      assert.equal(asked.length, 2, name);
    }
  });

  it("also where the server may not ask it to wait, if the server does not", async (t) => {
    const { client, asked } = await faulty(t, [reply(500, ""), good], { maxWaitMs: 0 });
    assert.deepEqual(await client.stats(), STATS);
    assert.equal(asked.length, 2);
    const busy = await faulty(t, [reply(503, "", { "retry-after": "1" })], { maxWaitMs: 0 });
    await assert.rejects(busy.client.stats(), ApiError);
    assert.equal(busy.asked.length, 1);
  });

  it("and says no word of the token, whatever is thrown", async () => {
    const cause = Object.assign(new Error(TOKEN), { code: "EWHAT" });
    const thrown = [new TypeError(`Bearer ${TOKEN}`, { cause }), TOKEN, undefined, null, { message: 5 }];
    for (const error of thrown) {
      const client = clientWith({ retries: 0, fetch: () => Promise.reject(error) });
      await assert.rejects(client.stats(), (found: Error) => {
        assert.doesNotMatch(`${found.message}${found.stack}`, /of-this-test/);
        return found instanceof NetworkError && found.cause === undefined;
      });
    }
  });
});

/** A server of a list of `total` numbers; `nameOf` gives the generation for each request. */
function pages(total: number, nameOf: (at: number) => string | undefined): Step {
  let requests = 0;
  return (response, request) => {
    const { searchParams } = new URL(request.url!, "http://x");
    const [limit, offset] = [Number(searchParams.get("limit")), Number(searchParams.get("offset"))];
    const etag = nameOf(requests++);
    const wanted = request.headers["if-match"];
    if (wanted !== undefined && wanted !== etag) {
      reply(412, { error: "Snapshot has changed" })(response, request);
      return;
    }
    const count = Math.max(0, Math.min(limit, total - offset));
    const data = Array.from({ length: count }, (_, at) => ({ id: `${etag}:${offset + at}` }));
    reply(200, { data, pagination: { total, limit, offset } }, etag ? { etag } : {})(response, request);
  };
}

/** Pages with these names, whatever `If-Match` says. */
function shown(tags: (string | undefined)[]): Step {
  const serve = pages(130, (at) => tags[at]);
  return (response, request) => {
    delete request.headers["if-match"];
    serve(response, request);
  };
}

describe("a call for one generation", () => {
  const calls: Readonly<Record<string, (client: Client, ifMatch: string | undefined) => Promise<unknown>>> = {
    one: (client, ifMatch) => client.stats({ ifMatch }),
    page: (client, ifMatch) => client.worlds.list({ ifMatch }),
    all: (client, ifMatch) => collect(client.worlds.list.all({ ifMatch, onChange: "restart" })),
  };
  const body = { data: [{ id: "a" }], pagination: { total: 1, limit: 50, offset: 0 } };
  /** The wanted ETag, that of the reply, whether the call succeeds; a strong one alone is sent. */
  const replies: [wanted: string | undefined, etag: string | undefined, isGood: boolean][] = [
    ['"a"', '"a"', true],
    ['"a"', 'W/"a"', true],
    ['"a"', '"a-gzip"', true],
    ['"a"', '"b"', false],
    ['W/"a"', '"a"', true],
    ['W/"a"', undefined, false],
    [undefined, '"b"', true],
  ];
  for (const [name, call] of Object.entries(calls)) {
    it(`gets a reply of that one, or a SnapshotChangedError: ${name}`, async (t) => {
      for (const [wanted, etag, isGood] of replies) {
        const { client, asked } = await faulty(t, [reply(200, body, etag ? { etag } : {})]);
        if (isGood) await call(client, wanted);
        else await assert.rejects(call(client, wanted), SnapshotChangedError, `${wanted} ${etag}`);
        assert.equal(asked.length, 1);
        assert.equal(asked[0]!.split(" ")[1], wanted?.startsWith("W") ? undefined : wanted);
      }
      const { client } = await faulty(t, [reply(412, { error: "Snapshot has changed" }, { etag: '"b"' })]);
      await assert.rejects(call(client, '"a"'), SnapshotChangedError);
    });
  }

  it("holds further pages to it where the first does not name it", async (t) => {
    const { client, asked } = await faulty(t, [shown([])]);
    assert.equal((await collect(client.worlds.list.all({ ifMatch: '"a"' }))).length, 130);
    assert.deepEqual(new Set(asked.map((line) => line.split(" ")[1])), new Set(['"a"']));
  });
});

describe("an iteration", () => {
  it("asks for pages of one generation", async (t) => {
    const { client, asked } = await faulty(t, [pages(120, () => '"a"')]);
    const items = await collect(client.worlds.list.all());
    assert.equal(new Set(items.map(({ id }) => id)).size, 120);
    const path = "/api/public/v1/worlds?limit=50";
    assert.deepEqual(asked, [`${path}&offset=0`, `${path}&offset=50 "a"`, `${path}&offset=100 "a"`]);
  });

  /** The names of pages from a server that ignores If-Match, and whether they are those of one generation. */
  const names: [what: string, isOne: boolean, ...tags: (string | undefined)[]][] = [
    ["another", false, '"a"', '"b"'],
    ["weak", true, 'W/"a"', 'W/"a"', 'W/"a"'],
    ["weak, then another", false, 'W/"a"', 'W/"a"', 'W/"b"'],
    ["weak, then none", false, 'W/"a"', undefined],
    // As after a proxy that compresses some pages, which may mark their names.
    ["strong, then weak", true, '"a"', 'W/"a"', 'W/"a"'],
    ["marked later, in several ways", true, '"a"', 'W/"a--zstd"', '"a-gzip"'],
    ["marked, then another", false, '"a-gzip"', '"b-gzip"', '"b-gzip"'],
  ];
  for (const [what, isOne, ...tags] of names) {
    it(`${isOne ? "goes on" : "ends"} where the names of pages are ${what}; sends a strong one alone`, async (t) => {
      const { client, asked } = await faulty(t, [shown(tags)]);
      const all = collect(client.worlds.list.all());
      if (isOne) assert.equal((await all).length, 130);
      else await assert.rejects(all, SnapshotChangedError);
      const sent = tags[0]?.startsWith('"') ? tags[0] : undefined;
      for (const line of asked.slice(1)) assert.equal(line.split(" ")[1], sent);
    });
  }

  it("does not mix pages that were compared in different ways", async (t) => {
    // While similar search is not ready, a server answers with the exact search and names no generation.
    const page = (match: string, headers = {}) =>
      reply(200, { data: [{}], pagination: { total: 2, limit: 1, offset: 0 }, match }, headers);
    const { client } = await faulty(t, [page("exact"), page("similar", { etag: '"a"' })]);
    const items = client.users.search.all("ada", { match: "similar", limit: 1 });
    await assert.rejects(collect(items), SnapshotChangedError);
  });

  it("ends when the data change, having given what it had", async (t) => {
    for (const onChange of ["error", "restart"] as const) {
      const { client } = await faulty(t, [pages(200, (at) => (at < 2 ? '"a"' : '"b"'))]);
      const given: string[] = [];
      await assert.rejects(async () => {
        for await (const { id } of client.worlds.list.all({ onChange })) given.push(id);
      }, SnapshotChangedError);
      assert.equal(given.length, 100, onChange);
    }
  });

  it("starts over where that is asked for and nothing was given yet", async (t) => {
    for (const weak of ["", "W/"]) {
      const { client } = await faulty(t, [pages(80, (at) => weak + (at === 0 ? '"a"' : '"b"'))]);
      const items = await collect(client.worlds.list.all({ onChange: "restart" }));
      assert.equal(items.length, 80);
      for (const [at, { id }] of items.entries()) assert.equal(id, `${weak}"b":${at}`);
    }
    // The client gives up on data that change all the time.
    const restless = await faulty(t, [pages(80, (at) => `"${at}"`)]);
    const all = collect(restless.client.worlds.list.all({ onChange: "restart" }));
    await assert.rejects(all, SnapshotChangedError);
  });

  it("that is left early asks for no more, and one that is aborted ends", async (t) => {
    const { client, asked } = await faulty(t, [pages(1000, () => '"a"')]);
    for await (const { id } of client.worlds.list.all()) if (id === '"a":3') break;
    await new Promise((resolve) => setTimeout(resolve, 50));
    assert.ok(asked.length <= 2, asked.join("\n"));
    const reason = new Error("enough");
    for (const [which, total] of [
      [60, 1000],
      [3, 5],
    ] as const) {
      const whole = await faulty(t, [pages(total, () => '"a"')]);
      const controller = new AbortController();
      let given = 0;
      const iteration = async (): Promise<void> => {
        for await (const _ of whole.client.worlds.list.all({ signal: controller.signal }))
          if (++given === which) controller.abort(reason);
      };
      await assert.rejects(iteration, (error) => error === reason);
      // Gives nothing of the page already fetched, even if it is the last.
      assert.equal(given, which);
    }
  });

  it("is over where a list is empty, and refuses what is no list", async (t) => {
    const { client } = await faulty(t, [pages(0, () => '"a"')]);
    assert.deepEqual(await collect(client.users.search.all("x")), []);
    // A total that is never reached must not cause endless requests.
    const liar = await faulty(t, [reply(200, { data: [], pagination: { total: 9, limit: 50, offset: 0 } })]);
    assert.deepEqual(await collect(liar.client.worlds.list.all()), []);
    for (const body of [STATS, { data: [], pagination: null }, { data: [{}] }]) {
      const strange = await faulty(t, [reply(200, body)]);
      await assert.rejects(collect(strange.client.worlds.list.all()), ApiError);
    }
  });
});

it("the client takes 2.5 kB of a page, minified and gzipped", async () => {
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(new URL("../src/client/mod.ts", import.meta.url))],
    bundle: true,
    minify: true,
    format: "esm",
    target: "es2022",
    write: false,
  });
  const bytes = gzipSync(outputFiles[0]!.contents, { level: 9 }).length;
  assert.equal((bytes / 1000).toFixed(1), "2.5", `${bytes} bytes`);
});
