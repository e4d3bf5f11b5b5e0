/**
 * The load balancers of `deploy/`, real ones, in front of stand-ins for replicas: which replica they ask, how often, and
 * how one client can affect the others.
 */

import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { type ClientRequest, createServer, type IncomingMessage } from "node:http";
import { type ClientHttp2Session, connect as connectByHttp2, constants } from "node:http2";
import { Agent, request } from "node:https";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { after, afterEach, before, describe, it } from "node:test";
import { connect as connectTls } from "node:tls";
import { BASE_PATH } from "../../src/model/model.ts";
import { ask as askAt } from "../support/fleet.ts";
import { temporaryFolder } from "../support/folders.ts";
import { need } from "../support/need.ts";
import { assertInTime } from "../support/patience.ts";
import { listen } from "../support/ports.ts";
import { type Response, until } from "../support/process.ts";
import { BALANCERS, type RunningProxy } from "../support/proxies.ts";

const MUCH = JSON.stringify("x".repeat(300_000));

type StandIn = ReturnType<typeof createStandIn>;

/** A stand-in for a replica, with a port for health checks. Each reply names its stand-in in `x-replica`. */
function createStandIn(name: string) {
  const standIn = {
    name,
    port: 0,
    adminPort: 0,
    manner: "answers" as "answers" | "hangs" | "is busy" | "says much",
    /** Pause before each reply, in milliseconds. */
    delayMs: 0,
    isReady: true,
    /** Requests and connections so far, and requests whose connection ended before the answer. */
    requests: 0,
    connections: 0,
    aborted: 0,
    /** Begins to listen, on the same ports as before. */
    async open(): Promise<void> {
      standIn.port = await listen(api, standIn.port);
      standIn.adminPort = await listen(admin, standIn.adminPort);
    },
    /** Stops, and breaks all of its connections. */
    async close(): Promise<void> {
      for (const server of [api, admin]) {
        const closed = new Promise((resolve) => server.close(resolve));
        server.closeAllConnections();
        await closed;
      }
    },
  };
  const api = createServer({ keepAliveTimeout: 65_000 }, (request, response) => {
    standIn.requests++;
    request.resume();
    response.once("close", () => {
      if (!response.writableFinished) standIn.aborted++;
    });
    if (standIn.manner === "hangs") return;
    response.setHeader("x-replica", name);
    response.setHeader("content-type", "application/json");
    if (standIn.manner === "is busy") {
      response.writeHead(503, { "retry-after": "1" }).end('{"error":"Server is busy"}');
      return;
    }
    setTimeout(() => response.end(standIn.manner === "says much" ? MUCH : '{"data":{}}'), standIn.delayMs);
  });
  api.on("connection", () => standIn.connections++);
  const admin = createServer((_request, response) => {
    response.writeHead(standIn.isReady ? 200 : 503).end();
  });
  return standIn;
}

const SEARCH = "/worlds/search?q=a";
const tokens = Array.from({ length: 40 }, (_, n) => `svc_sk_stand-in-${n}`);

const folder = temporaryFolder();
const skip = need("nginx", "haproxy", "openssl");

describe("which replica a balancer asks", { skip, concurrency: true }, () => {
  for (const [name, startBalancer] of Object.entries(BALANCERS)) {
    const isNginx = name === "nginx";

    describe(`stand-ins behind ${name}`, { concurrency: 1 }, () => {
      const replicas = ["a", "b", "c"].map(createStandIn);
      let balancer: RunningProxy;
      const agent = new Agent({ keepAlive: true, maxSockets: 12 });
      const ask = (path: string, token: string): Promise<Response> =>
        askAt(balancer.port, path, token, { agent });
      /** The replica for the key of each token. */
      const homes = new Map<string, StandIn>();

      before(async () => {
        for (const replica of replicas) await replica.open();
        mkdirSync(join(folder, name));
        balancer = await startBalancer(join(folder, name), replicas);
        for (const token of tokens) homes.set(token, answeredBy(await ask("/stats", token)));
      });
      after(async () => {
        agent.destroy();
        await balancer?.end();
        for (const replica of replicas) await replica.close();
      });
      // A replica that failed in a test must be asked again before the next one.
      afterEach(async () => {
        for (const replica of replicas)
          Object.assign(replica, { manner: "answers", delayMs: 0, isReady: true });
        await untilHome();
      });

      function answeredBy({ status, headers, text }: Response): StandIn {
        assert.equal(status, 200, text);
        return replicas.find((replica) => replica.name === headers["x-replica"])!;
      }
      const tokensOf = (home: StandIn): string[] => tokens.filter((token) => homes.get(token) === home);
      const requests = (): number => replicas.reduce((sum, replica) => sum + replica.requests, 0);
      /** Makes the first one hang. @returns it, and a token of its */
      function hangOne(): [StandIn, string] {
        const [hung] = replicas as [StandIn];
        hung.manner = "hangs";
        return [hung, tokensOf(hung)[0]!];
      }

      /** A request on a connection of its own. */
      const requestOf = (token: string, path: string, method = "GET"): ClientRequest =>
        request({
          host: "127.0.0.1",
          port: balancer.port,
          path: BASE_PATH + path,
          method,
          agent: false,
          headers: { authorization: `Bearer ${token}` },
          rejectUnauthorized: false,
        });

      /** Waits until every key is back at its replica. */
      async function untilHome(): Promise<void> {
        await until(async () => {
          const replies = await Promise.all(tokens.map((token) => ask("/stats", token)));
          return replies.every(
            (reply, n) => reply.status === 200 && answeredBy(reply) === homes.get(tokens[n]!),
          );
        }, "all keys to be at home");
      }

      it("has each key at one replica, however many requests run", async () => {
        assert.deepEqual(new Set(homes.values()), new Set(replicas));
        for (const replica of replicas) replica.delayMs = 20;
        const many = [0, 1, 2, 3].flatMap(() => tokens);
        const replies = await Promise.all(many.map((token) => ask("/stats", token)));
        for (const [n, token] of many.entries())
          assert.equal(answeredBy(replies[n]!), homes.get(token), token);
      });

      it("asks over connections that it keeps", async () => {
        const opened = (): number => replicas.reduce((sum, { connections }) => sum + connections, 0);
        for (const token of tokens) await ask("/stats", token);
        const before = opened();
        for (const token of tokens) await ask("/stats", token);
        assert.ok(opened() - before <= 3, `${opened() - before} connections for ${tokens.length} requests`);
      });

      it("gives the keys of a replica that is gone to the others, and back; all others stay", async () => {
        const [gone] = replicas as [StandIn];
        await gone.close();
        for (let round = 0; round < 3; round++)
          for (const token of tokens) {
            const by = answeredBy(await ask("/stats", token));
            if (homes.get(token) === gone) assert.notEqual(by, gone);
            else assert.equal(by, homes.get(token));
          }
        await gone.open();
        await untilHome();
      });

      it("passes a 503 on and asks nobody else", async () => {
        for (const replica of replicas) replica.manner = "is busy";
        const before = requests();
        for (let times = 0; times < 10; times++) {
          const { status, headers, text } = await ask(SEARCH, tokens[0]!);
          assert.deepEqual([status, headers["retry-after"], text], [503, "1", '{"error":"Server is busy"}']);
        }
        assert.equal(requests() - before, 10);
      });

      it("asks another one when one hangs, for a search not as soon as for all else", async () => {
        const [hung, token] = hangOne();
        const before = requests();
        const msOf = async (path: string): Promise<number> => {
          const began = performance.now();
          assert.notEqual(answeredBy(await ask(path, token)), hung);
          return performance.now() - began;
        };
        const [lookup, search] = (await Promise.all([msOf("/stats"), msOf(SEARCH)])) as [number, number];
        assert.equal(requests() - before, 4);
        // The timeouts are two seconds and three; a busy machine adds to both.
        assert.ok(lookup < 0.9 * search, `${lookup} and ${search} ms`);
      });

      it("asks two at most when all hang", async () => {
        for (const replica of replicas) replica.manner = "hangs";
        const before = requests();
        const { status } = await ask("/stats", tokens[0]!);
        assert.equal(status, 504);
        assert.equal(requests() - before, 2);
      });

      it("asks what is no read of one alone", async () => {
        const [, token] = hangOne();
        const before = requests();
        const posted = requestOf(token, "/stats", "POST").end();
        const [response] = (await once(posted, "response")) as [IncomingMessage];
        response.resume();
        assert.equal(response.statusCode, 504);
        assert.equal(requests() - before, 1);
      });

      it("waits longer for a search", async () => {
        for (const replica of replicas) replica.delayMs = 1700;
        const before = requests();
        const began = performance.now();
        const [token] = tokens as [string];
        const by = answeredBy(await ask(SEARCH, token));
        // On a machine too busy for this test, the balancer asks another replica.
        if (performance.now() - began > 2900) return;
        assert.equal(by, homes.get(token));
        assert.equal(requests() - before, 1);
      });

      it("takes requests back whose client has gone, and asks nobody else", async () => {
        const [hung, token] = hangOne();
        const before = { all: requests(), hung: hung.requests, aborted: hung.aborted };
        const began = performance.now();
        const session = connectByHttp2(`https://127.0.0.1:${balancer.port}`, { rejectUnauthorized: false });
        session.on("error", () => {});
        const headers = { ":path": BASE_PATH + SEARCH, authorization: `Bearer ${token}` };
        const streams = Array.from({ length: 10 }, () => session.request(headers).on("error", () => {}));
        const plain = streams.map(() => requestOf(token, SEARCH).on("error", () => {}));
        for (const one of plain) one.end();
        await until(() => hung.requests - before.hung >= 20, "the requests to arrive");
        for (const stream of streams) stream.close(constants.NGHTTP2_CANCEL);
        for (const one of plain) one.destroy();
        await until(
          () => hung.aborted - before.aborted >= 20,
          () => `requests to be taken back; so many were: ${hung.aborted - before.aborted}`,
        );
        session.close();
        // On a slow machine the timeout of a search passes meanwhile, and others are asked.
        assertInTime(began, 2900, "to take them back, in which time a search hangs,");
        if (performance.now() - began < 2900) assert.equal(requests() - before.all, 20);
      });

      if (!isNginx)
        it("sends nothing to a replica that is not ready", async () => {
          const [stopping] = replicas as [StandIn];
          stopping.isReady = false;
          const token = tokensOf(stopping)[0]!;
          const isElsewhere = async () => answeredBy(await ask("/stats", token)) !== stopping;
          await until(isElsewhere, "its keys to go elsewhere");
          const before = stopping.requests;
          for (const one of tokens) answeredBy(await ask("/stats", one));
          assert.equal(stopping.requests, before);
        });

      it("asks as soon as one is there again when all were gone", async () => {
        // Connections of their own: a balancer that answers an error may end the connection.
        const askAnew = (token: string): Promise<Response> => askAt(balancer.port, "/stats", token);
        for (const replica of replicas) await replica.close();
        const refused = await Promise.allSettled(tokens.slice(0, 10).map(askAnew));
        for (const replica of replicas) await replica.open();
        for (const settled of refused) {
          assert.ok(settled.status === "fulfilled", String((settled as PromiseRejectedResult).reason));
          assert.ok([502, 503].includes(settled.value.status), String(settled.value.status));
        }
        // nginx leaves all of them alone for two seconds, and so asks its fallback list of the same servers.
        if (isNginx) for (const token of tokens) answeredBy(await askAnew(token));
        else await until(async () => (await askAnew(tokens[0]!)).status === 200, "one to be asked");
      });

      it("answers others beside idle connections, half heads, and readers that take nothing", async () => {
        const sockets: Socket[] = [];
        const sessions: ClientHttp2Session[] = [];
        try {
          for (const replica of replicas) replica.manner = "says much";
          for (let count = 0; count < 1000; count++)
            sockets.push(connect(balancer.port, "127.0.0.1").on("error", () => {}));
          for (let count = 0; count < 60; count++) {
            const half = connectTls({ port: balancer.port, host: "127.0.0.1", rejectUnauthorized: false });
            half.write("GET / HTTP/1.1\r\nHost: x\r\nX-Half");
            sockets.push(half.on("error", () => {}));
          }
          const before = requests();
          const settings = { settings: { initialWindowSize: 0 }, rejectUnauthorized: false };
          for (let count = 0; count < 6; count++) {
            const session = connectByHttp2(`https://127.0.0.1:${balancer.port}`, settings);
            session.on("error", () => {});
            sessions.push(session);
            for (let stream = 0; stream < 90; stream++)
              session
                .request({ ":path": "/docs", authorization: `Bearer ${tokens[stream % tokens.length]}` })
                .on("error", () => {});
          }
          await until(
            () => requests() - before >= 500,
            () => `the readers' requests to arrive: ${requests() - before}`,
          );
          for (const replica of replicas) replica.manner = "answers";
          // This process itself was busy.
          await until(async () => (await ask("/stats", tokens[0]!)).status === 200, "it to be quiet");
          const began = performance.now();
          for (const token of tokens) answeredBy(await askAt(balancer.port, "/stats", token));
          assertInTime(began, 4000, "the others' requests");
        } finally {
          for (const session of sessions) session.destroy();
          for (const socket of sockets) socket.destroy();
        }
      });
    });
  }
});
