/** Connections on the wire: slow peers and readers, versions, keep-alive and closing, pipelining, many peers. */

import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { setImmediate } from "node:timers/promises";
import type { Found } from "../../src/store/generation.ts";
import {
  AT_ONCE,
  ask,
  bearer,
  good,
  isBadRequest,
  isBareRefusal,
  isStats,
  main,
  OK,
  PAGE,
  SEARCH,
  STATS,
  slowSearches,
} from "../support/hostile.ts";
import {
  BASE,
  cleanUp,
  INSTANCE,
  IS_ON_BUN,
  IS_ON_DENO,
  serve,
  serveAlone,
  serveOpen,
  WORLD,
} from "../support/http-server.ts";
import { within } from "../support/patience.ts";
import { dial, errorOf, header, lastWord, type RawResponse, requestHead } from "../support/raw.ts";

const quick = await serve({
  headersTimeout: 0.2,
  requestTimeout: 0.4,
  timeoutCheckInterval: 0.05,
  keepAliveTimeout: 0.3,
  socketTimeout: 5,
});

// Its start is slow, so it begins here; a later test awaits it.
const narrow = serveAlone({}, 128);
narrow.catch(() => {});

describe("slow peers", AT_ONCE, () => {
  const slow = (response: RawResponse): void => isBareRefusal(response, 408, "Request timeout");

  for (const http of ["direct", "node"] as const) {
    // See docs/runtimes.md.
    const skip = IS_ON_BUN && http === "node" && "Bun's node:http ends no slow head";
    const name = `a head that may take longer than the whole request: the shorter time counts (--http ${http})`;
    test(name, { skip }, async () => {
      // On a busy machine the bytes come some time after the connection.
      const times = { headersTimeout: 60, requestTimeout: 1, timeoutCheckInterval: 0.05 };
      const { port } = await serve({ http, ...times });
      slow(await lastWord(port, "GET /api"));
    });
  }

  test("a head that drips in: 408 although bytes keep coming", async () => {
    const wire = await dial(quick.port);
    void wire.send(OK);
    const drip = setInterval(() => void wire.send("X"), 20).unref();
    slow(await wire.response());
    clearInterval(drip);
    await wire.closed();
  });

  test("an idle connection that was answered is closed without a word", async () => {
    const wire = await dial(quick.port);
    void wire.send(good(STATS));
    isStats(await wire.response());
    await wire.closed();
  });
});

describe("versions and connections", AT_ONCE, () => {
  test("a client that half-closes and reads slowly gets all it asked for", async () => {
    const wire = await dial(main.port);
    wire.socket.pause();
    await wire.send(good(PAGE).repeat(100));
    wire.end();
    for (let at = 0; at < 3; at++) isStats(await ask(STATS, [bearer("cli")]));
    wire.socket.resume();
    for (let at = 0; at < 100; at++) assert.equal(JSON.parse((await wire.response()).body).data.length, 50);
    await wire.closed();
  });

  for (const target of ["orrery.test:443", STATS, "*"]) {
    test(`CONNECT ${target}: 405 and the end`, async () => {
      const bytes = requestHead(target, [], "CONNECT");
      const response = await lastWord(main.port, `${bytes}\x16\x03\x01 tunnelled ${good(STATS)}`, "CONNECT");
      isBareRefusal(response, 405, "Method not allowed");
      assert.equal(header(response, "Allow"), "GET, HEAD, OPTIONS");
    });
  }

  test("CONNECT after good requests: 405 in its turn", async () => {
    const wire = await dial(main.port);
    void wire.send(good(SEARCH) + good(PAGE) + requestHead("orrery.test:443", [], "CONNECT") + good(STATS));
    for (let at = 0; at < 2; at++) assert.equal((await wire.response()).status, 200);
    assert.equal((await wire.response("CONNECT")).status, 405);
    await wire.closed();
  });

  test("requests a connection are limited, the last answer says so", async () => {
    const three = await serve({ maxRequestsPerSocket: 3 });
    for (const target of [STATS, SEARCH]) {
      for (const pipelined of [true, false]) {
        const wire = await dial(three.port);
        if (pipelined) void wire.send(good(target).repeat(5));
        for (let at = 1; at <= 3; at++) {
          if (!pipelined) void wire.send(good(target));
          const response = await wire.response();
          assert.equal(response.status, 200);
          assert.equal(header(response, "Connection"), at < 3 ? "keep-alive" : "close");
        }
        await wire.closed();
      }
    }
  });
});

describe("pipelining", AT_ONCE, () => {
  const MIX = [
    ...[`GET ${STATS}`, `GET ${SEARCH}`, `HEAD ${SEARCH}`, `GET ${BASE}/worlds/${WORLD}`],
    ...[`GET ${BASE}/worlds/search`, `HEAD ${PAGE}`, `GET ${BASE}/users/search?q=user&limit=1`],
    ...[`OPTIONS ${STATS}`, `GET ${PAGE}`, "GET /nowhere", `POST ${STATS}`],
    `GET ${BASE}/instances/${INSTANCE}`,
  ].map((asked) => asked.split(" ") as [method: string, target: string]);

  test("20 requests with HEAD and searches among them are answered in order", async () => {
    const asks = [...MIX, ...MIX].slice(0, 20);
    const told = (one: RawResponse): unknown[] => [one.status, header(one, "Content-Length"), one.body];
    const alone = await Promise.all(asks.map(([method, target]) => ask(target, [bearer("cli")], method)));
    const wire = await dial(main.port);
    void wire.send(asks.map(([method, target]) => good(target, [], method)).join(""));
    for (const [at, [method, target]] of asks.entries())
      assert.deepEqual(told(await wire.response(method)), told(alone[at]!), `${at}: ${method} ${target}`);
    await wire.hangUp();
  });

  test("searches that are answered in reverse are sent in order", async () => {
    const waiting: (() => void)[] = [];
    const later = (): Promise<Found> =>
      new Promise((resolve) => {
        waiting.push(() => resolve({ total: 1, rows: Uint32Array.of(waiting.length % 60) }));
        // Once all three wait, the newest is answered first.
        if (waiting.length === 3) for (const go of waiting.toReversed()) void setImmediate().then(go);
      });
    const server = await serveOpen({}, later);
    const wire = await dial(server.port);
    void wire.send(good(`${SEARCH}&limit=1`) + good(STATS) + good(`${BASE}/users/search?q=a&limit=2`));
    void wire.send(`${good(`${SEARCH}&limit=3`, [], "HEAD")}${good(STATS)}BREW / HTTP/1.1\r\n\r\n`);
    assert.equal(JSON.parse((await wire.response()).body).pagination.limit, 1);
    isStats(await wire.response());
    assert.equal(JSON.parse((await wire.response()).body).pagination.limit, 2);
    assert.equal((await wire.response("HEAD")).status, 200);
    isStats(await wire.response());
    isBadRequest(await wire.response());
    await wire.closed();
    assert.equal(waiting.length, 3);
  });

  test("requests after slow ones are not even read, and answered in the end", async () => {
    const { later, finish, finishAll } = slowSearches();
    const server = await serveOpen({}, later);
    const wire = await dial(server.port);
    const bytes = good(`${SEARCH}&limit=1`).repeat(5000);
    const sent = wire.send(bytes);
    while (finish.length === 0) isStats(await ask(STATS, [bearer("cli")], "GET", server));
    const taken = finish.length;
    // Each answer that was sent lets one more request in.
    for (const done of finish.slice(0, taken - 1)) {
      done();
      assert.equal((await wire.response()).status, 200);
      isStats(await ask(STATS, [bearer("cli")], "GET", server));
    }
    assert.equal(finish.length, 2 * taken - 1);
    const read = server.sockets().map(({ bytesRead }) => bytesRead);
    assert.ok(Math.max(...read) < 200_000 && bytes.length > 500_000, `${read} bytes were read`);
    finishAll();
    for (let at = taken - 1; at < 5000; at++) assert.equal((await wire.response()).status, 200);
    await sent;
    await wire.hangUp();
  });

  test("a search that fails is a 500 that says nothing; its neighbours are answered", async () => {
    const secret = "the disk is on fire";
    const server = await serveOpen({}, (table) => {
      if (table === "users") throw new Error(secret);
      return Promise.reject(new Error(secret));
    });
    const wire = await dial(server.port);
    void wire.send(good(STATS) + good(SEARCH) + good(`${BASE}/users/search?q=a`) + good(STATS));
    isStats(await wire.response());
    for (let at = 0; at < 2; at++) {
      const response = await wire.response();
      assert.deepEqual([response.status, errorOf(response)], [500, "Internal server error"]);
      assert.equal(header(response, "Access-Control-Allow-Origin"), "*");
    }
    isStats(await wire.response());
    await wire.hangUp();
    assert.equal(server.observations.filter(({ kind }) => kind === "defect").length, 2);
  });
});

describe("many peers", AT_ONCE, () => {
  test("peers that never read cost little memory and are cut off", async () => {
    const server = await serveOpen({ accessLog: true, socketTimeout: 1.5, timeoutCheckInterval: 0.1 });
    const size = (await ask(PAGE, [bearer("cli")], "GET", server)).body.length;
    assert.ok(size > 100_000);
    const before = server.observations.length;
    const deaf = await Promise.all(Array.from({ length: 4 }, () => dial(server.port)));
    // The first peer's few pages may all fit in the system's buffers.
    const mustStall = deaf.slice(1).map(({ socket }) => socket.localPort);
    for (const [who, wire] of deaf.entries()) {
      wire.socket.pause();
      // After a CONNECT, node:http no longer watches the connection.
      if (who === 0) void wire.send(good(PAGE).repeat(40) + requestHead("orrery.test:443", [], "CONNECT"));
      // More than the system's buffers hold: a write still waits when the server closes, and it reports the error.
      void wire.send(good(PAGE).repeat(100_000));
    }
    // Most bytes of replies made but not yet passed to the system's buffers.
    let most = 0;
    const stalled = new Set<number | undefined>();
    let made = 0;
    const look = setInterval(() => {
      for (const socket of server.sockets()) if (socket.writableLength > 0) stalled.add(socket.remotePort);
      if (server.sockets().length !== deaf.length) return;
      made = server.observations.length - before;
      let held = made * size;
      for (const socket of server.sockets()) held -= socket.bytesWritten - socket.writableLength;
      most = Math.max(most, held);
    }, 10).unref();
    const broken = await within(Promise.all(deaf.map(({ gone }) => gone)), "the peers to be cut off");
    clearInterval(look);
    while (server.sockets().length > 0) await setImmediate();
    for (const error of broken) assert.match(error ?? "none", /^(ECONNRESET|EPIPE)$/);
    for (const port of mustStall) assert.ok(stalled.has(port), `the peer at ${port} never stalled`);
    assert.ok(most > 0 && most < deaf.length * 2_000_000, `${most} bytes of replies were kept`);
    const late = server.observations.length - before - made;
    assert.ok(late < deaf.length * 32, `${late} replies were made for connections that were gone`);
  });

  test("1,000 idle connections: others are served beside them, and so are they", async () => {
    // On a busy machine they may stay silent longer than the default timeouts allow.
    const long = 600;
    const server = await serve({ headersTimeout: long, requestTimeout: long, socketTimeout: long });
    const askIt = (target: string) => ask(target, [bearer("cli")], "GET", server);
    const idle = await Promise.all(Array.from({ length: 1000 }, () => dial(server.port)));
    for (let at = 0; at < 100; at++) isStats(await askIt(STATS));
    for (const wire of idle) void wire.send(good(STATS));
    for (const wire of idle) isStats(await wire.response());
    for (let at = 0; at < 100; at++) assert.equal((await askIt(SEARCH)).status, 200);
    for (const wire of idle) wire.end();
    await Promise.all(idle.map((wire) => wire.closed()));
  });

  // See docs/runtimes.md.
  const skip = IS_ON_DENO && "a listener of Deno's that has met EMFILE accepts nothing more";
  const name = "file descriptors run out: connections that stand are served, and new ones again later";
  test(name, { skip }, async () => {
    const server = await narrow;
    const wire = await dial(server.port);
    const stands = async (): Promise<void> => {
      void wire.send(good(STATS));
      isStats(await wire.response());
    };
    const askNew = async () => {
      const one = await dial(server.port);
      void one.send(good(STATS));
      return { one, isRefused: await one.response().then(isStats, () => true) };
    };
    await stands();
    const crowd = await Promise.all(Array.from({ length: 300 }, askNew));
    const refused = crowd.filter(({ isRefused }) => isRefused).length;
    assert.ok(refused > 0 && refused < crowd.length, `${refused} were refused`);
    await stands();
    for (const { one } of crowd) one.destroy();
    await Promise.all(crowd.map(({ one }) => one.gone));
    const again = async (): Promise<void> => {
      const { one, isRefused } = await askNew();
      one.destroy();
      if (isRefused) await again();
    };
    await within(again(), "new connections to be accepted");
    await stands();
    await wire.hangUp();
    assert.equal((await server.stop()).status, 0);
  });
});

after(cleanUp);
