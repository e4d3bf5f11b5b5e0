/**
 * The load balancers of `deploy/`, real ones: how they pass HTTP on to a real server; and in front of stand-ins for replicas
 * which one they ask, and how often. `fleet.test.ts` has replicas that fail behind them.
 */

import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { createServer, type IncomingMessage } from "node:http";
import { connect as connectByHttp2, type IncomingHttpHeaders } from "node:http2";
import { Agent, request } from "node:https";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { after, afterEach, before, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { type ConnectionOptions, connect as connectTls, type TLSSocket } from "node:tls";
import { gunzipSync } from "node:zlib";
import { BASE_PATH } from "../../src/model/model.ts";
import { temporaryFolder } from "../support/folders.ts";
import { need } from "../support/need.ts";
import { within } from "../support/patience.ts";
import { keyRecord, TOKEN, writeKeys } from "../support/place.ts";
import { freePort, listen } from "../support/ports.ts";
import { get, type Response, type Served, serve, until } from "../support/process.ts";
import { ask as askAt } from "./support/fleet.ts";
import { BALANCERS, type RunningProxy } from "./support/proxies.ts";

const folder = temporaryFolder();
const skip = need("nginx", "haproxy", "openssl");

describe("HTTP through a balancer", { skip, concurrency: true }, () => {
  let server: Served;
  let adminPort: number;

  before(async () => {
    const keys = writeKeys(join(folder, "keys.json"), keyRecord(TOKEN));
    adminPort = await freePort();
    // Only this proxy: clients here use other addresses of the loopback network.
    const proxies = ["--trusted-proxies", "127.0.0.1"];
    server = await serve("data/sample", keys, ["--admin", `${adminPort}`, "--access-log", ...proxies]);
  });

  for (const [name, startBalancer] of Object.entries(BALANCERS)) {
    const isNginx = name === "nginx";
    describe(name, { concurrency: 1 }, () => {
      let balancer: RunningProxy;
      before(async () => {
        mkdirSync(join(folder, name));
        balancer = await startBalancer(join(folder, name), [{ port: server.port, adminPort }]);
      });
      after(() => balancer?.end());

      const onTls = (options: ConnectionOptions = {}): TLSSocket =>
        connectTls({ host: "127.0.0.1", port: balancer.port, rejectUnauthorized: false, ...options });

      async function ask(path: string, headers: Record<string, string> = {}, localAddress = "127.0.0.1") {
        const session = connectByHttp2(`https://127.0.0.1:${balancer.port}`, {
          createConnection: () => onTls({ ALPNProtocols: ["h2"], localAddress } as ConnectionOptions),
        });
        const all = { ":path": BASE_PATH + path, authorization: `Bearer ${TOKEN}`, ...headers };
        const stream = session.request(all, { endStream: true });
        // An error of the session also fails its stream, which is awaited.
        session.on("error", () => {});
        const [answered] = (await once(stream, "response")) as [IncomingHttpHeaders];
        const body = await buffer(stream);
        session.close();
        return { status: Number(answered[":status"]), headers: answered, body };
      }

      /** Sends bytes over TLS, byte by byte if slow, and waits for the end of the connection. */
      async function raw(bytes: string, isSlow = false): Promise<string> {
        const socket = onTls();
        const answer = buffer(socket);
        answer.catch(() => {});
        await once(socket, "secureConnect");
        for (const part of isSlow ? bytes : [bytes]) {
          socket.write(part);
          if (isSlow) await sleep(2);
        }
        return (await within(answer, "the end of the connection")).toString("latin1");
      }
      const CLOSE = ["Host: api.example.com", "Connection: close"];
      const head = (fields = CLOSE, target = "/stats", method = "GET", version = "1.1"): string => {
        const line = `${method} ${BASE_PATH}${target} HTTP/${version}`;
        return [line, `Authorization: Bearer ${TOKEN}`, ...fields, "", ""].join("\r\n");
      };

      it("speaks HTTP/2 over TLS and passes answers, errors and headers on", async () => {
        const { status, headers, body } = await ask("/stats");
        assert.equal(status, 200);
        assert.equal(JSON.parse(body.toString()).data.totalUsers, 2000);
        assert.equal(headers.etag, `"${server.generation}"`);
        assert.equal(headers["cache-control"], "private, no-cache");
        assert.equal(headers["x-ratelimit-limit"], "1000");
        assert.match(String(headers["x-ratelimit-remaining"]), /^\d+$/);
        assert.match(String(headers["x-ratelimit-reset"]), /^\d+$/);
        const refused = await ask("/stats", { authorization: "Basic x" });
        assert.deepEqual([refused.status, refused.headers["www-authenticate"]], [401, "Bearer"]);
        assert.equal(refused.body.toString(), '{"error":"Invalid token format"}');
        assert.equal((await ask("/nothing")).status, 404);
      });

      it("passes the id of a request on and back", async () => {
        const { headers } = await ask("/stats", { "x-request-id": `given-${name}-1` });
        assert.equal(headers["x-request-id"], `given-${name}-1`);
        const own = await ask("/stats");
        assert.match(String(own.headers["x-request-id"]), /^[\w.~+/=:@-]+$/);
      });

      it("tells the client's address, which no client can forge", async () => {
        const from = `127.0.0.${isNginx ? 7 : 8}`;
        const forged = ["6.6.6.6, 127.0.0.1", "unknown,"];
        for (const [at, value] of forged.entries()) {
          const own = `client-${name}-${at}`;
          await ask("/stats", { "x-request-id": own, "x-forwarded-for": value }, from);
          const logged = await until(() => server.logs("request").find(({ id }) => id === own), "its line");
          assert.equal(logged.client, from, value);
        }
        for (let times = 0; times < 12; times++)
          await ask("/stats", { authorization: "Bearer svc_sk_wrong", "x-forwarded-for": "6.6.6.6" }, from);
        const isTold = (): boolean => server.logs("bad-tokens").some(({ client }) => client === from);
        await until(isTold, () => server.stderr());
      });

      it("compresses pages, and a crawler keeps its generation by If-Match all the same", async () => {
        const gzip = { "accept-encoding": "gzip" };
        const plain = await ask("/worlds?limit=50");
        assert.equal(plain.headers["content-encoding"], undefined);
        assert.equal(plain.headers.etag, `"${server.generation}"`);
        const first = await ask("/worlds?limit=50", gzip);
        assert.equal(first.headers["content-encoding"], "gzip");
        assert.match(String(first.headers.vary), /accept-encoding/i);
        assert.deepEqual(JSON.parse(gunzipSync(first.body).toString()), JSON.parse(plain.body.toString()));
        const etag = first.headers.etag!;
        assert.equal(etag, `W/"${server.generation}"`);
        const next = await ask("/worlds?limit=50&offset=50", { ...gzip, "if-match": etag });
        assert.equal(next.status, 200);
        const other = await ask("/worlds?limit=50", { ...gzip, "if-match": 'W/"another"' });
        assert.deepEqual([other.status, other.body.toString()], [412, '{"error":"Snapshot has changed"}']);
        const known = await ask("/worlds?limit=50", { ...gzip, "if-none-match": etag });
        assert.deepEqual([known.status, known.body.length], [304, 0]);
      });

      it("takes a URL of 8 KiB, and HTTP/1.0, and a head that comes byte by byte", async () => {
        const q = "q=".concat("a".repeat(8192 - `${BASE_PATH}/worlds/search?q=`.length));
        assert.equal((await ask(`/worlds/search?${q}`)).status, 200);
        assert.match(await raw(head(CLOSE, `/worlds/search?${q}`)), /^HTTP\/1\.1 200 /);
        assert.match(await raw(head([], "/stats", "GET", "1.0")), /^HTTP\/1\.[01] 200 .*"totalUsers":2000/s);
        assert.match(await raw(head(), true), /^HTTP\/1\.1 200 .*"totalUsers":2000/s);
      });

      it("passes short bodies on, and refuses bodies and heads that are too large, itself or by the server", async () => {
        const body = (length: number, method = "GET"): Promise<string> =>
          raw(head([...CLOSE, `Content-Length: ${length}`], "/stats", method) + "x".repeat(length));
        assert.match(await body(10), /^HTTP\/1\.1 200 .*"totalUsers":2000/s);
        assert.match(await body(10, "POST"), /^HTTP\/1\.1 405 .*\{"error":"Method not allowed"\}$/s);
        const large = isNginx ? /^HTTP\/1\.1 413 / : /^HTTP\/1\.1 400 .*"Request body not allowed"/s;
        assert.match(await body(65_536, "POST"), /^HTTP\/1\.1 405 .*\{"error":"Method not allowed"\}$/s);
        assert.match(await body(65_537), large);
        const headers = (count: number, length: number): string[] =>
          Array.from({ length: count }, (_, n) => `X-Filler-${n}: ${"x".repeat(length)}`);
        // HAProxy itself takes 101.
        const tooMany = isNginx
          ? /^HTTP\/1\.1 431 .*"Request header fields too large"/s
          : /^HTTP\/1\.1 4(00|31) /;
        assert.match(await raw(head([...CLOSE, ...headers(130, 1)])), tooMany);
        assert.match(await raw(head([...CLOSE, ...headers(40, 1000)])), /^HTTP\/1\.1 (400|431) /);
        // It keeps serving.
        assert.equal((await ask("/stats")).status, 200);
      });

      it("offers HTTP/2 by TLS, of version 1.2 or newer", async () => {
        const offered = async (options: ConnectionOptions) => {
          const socket = onTls(options);
          await once(socket, "secureConnect");
          socket.destroy();
          return socket.alpnProtocol;
        };
        for (const version of ["TLSv1.2", "TLSv1.3"] as const) {
          const only = { minVersion: version, maxVersion: version, ALPNProtocols: ["h2", "http/1.1"] };
          assert.equal(await offered(only), "h2");
        }
        assert.equal(await offered({ ALPNProtocols: ["http/1.1"] }), "http/1.1");
        const old = { maxVersion: "TLSv1.1", minVersion: "TLSv1", ciphers: "ALL:@SECLEVEL=0" } as const;
        await assert.rejects(offered(old));
      });
    });
  }
});

type StandIn = ReturnType<typeof createStandIn>;

/** A stand-in for a replica, with a port for health checks. Each reply names its stand-in in `x-replica`. */
function createStandIn(name: string) {
  const standIn = {
    name,
    port: 0,
    adminPort: 0,
    manner: "answers" as "answers" | "hangs" | "is busy",
    /** Requests so far. */
    requests: 0,
    async open(): Promise<void> {
      standIn.port = await listen(api);
      standIn.adminPort = await listen(admin);
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
    if (standIn.manner === "hangs") return;
    response.setHeader("x-replica", name);
    response.setHeader("content-type", "application/json");
    if (standIn.manner === "is busy") {
      response.writeHead(503, { "retry-after": "1" }).end('{"error":"Server is busy"}');
      return;
    }
    response.end('{"data":{}}');
  });
  const admin = createServer((_request, response) => {
    response.end();
  });
  return standIn;
}

const SEARCH = "/worlds/search?q=a";
const tokens = Array.from({ length: 40 }, (_, n) => `svc_sk_stand-in-${n}`);

describe("which replica a balancer asks", { skip, concurrency: true }, () => {
  for (const [name, startBalancer] of Object.entries(BALANCERS)) {
    describe(`stand-ins behind ${name}`, { concurrency: 1 }, () => {
      const replicas = ["a", "b", "c"].map(createStandIn);
      let balancer: RunningProxy;
      const agent = new Agent({ keepAlive: true, maxSockets: 12 });
      const ask = (path: string, token: string) => askAt(balancer.port, path, token, { agent });
      /** The replica for the key of each token. */
      const homes = new Map<string, StandIn>();

      before(async () => {
        for (const replica of replicas) await replica.open();
        mkdirSync(join(folder, `${name}-of-stand-ins`));
        balancer = await startBalancer(join(folder, `${name}-of-stand-ins`), replicas);
        for (const token of tokens) homes.set(token, answeredBy(await ask("/stats", token)));
      });
      after(async () => {
        agent.destroy();
        await balancer?.end();
        for (const replica of replicas) await replica.close();
      });
      // A replica that failed in a test must be asked again before the next one.
      afterEach(async () => {
        for (const replica of replicas) replica.manner = "answers";
        await untilHome();
      });

      function answeredBy({ status, headers, text }: Response): StandIn {
        assert.equal(status, 200, text);
        return replicas.find((replica) => replica.name === headers["x-replica"])!;
      }
      const requests = (): number => replicas.reduce((sum, replica) => sum + replica.requests, 0);

      /** Waits until every key is back at its replica. */
      async function untilHome(): Promise<void> {
        await until(async () => {
          const replies = await Promise.all(tokens.map((token) => ask("/stats", token)));
          return replies.every(
            (reply, n) => reply.status === 200 && answeredBy(reply) === homes.get(tokens[n]!),
          );
        }, "all keys to be at home");
      }

      it("has a key at one replica, however its header is spelt", async () => {
        assert.deepEqual(new Set(homes.values()), new Set(replicas));
        const url = `https://127.0.0.1:${balancer.port}${BASE_PATH}/stats`;
        for (const token of tokens)
          for (const scheme of ["bearer ", "Bearer  ", "BEARER    "]) {
            const headers = { authorization: scheme + token };
            assert.equal(answeredBy(await get(url, { headers, agent })), homes.get(token), scheme + token);
          }
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

      it("asks two at most when all hang", async () => {
        for (const replica of replicas) replica.manner = "hangs";
        const before = requests();
        assert.equal((await ask("/stats", tokens[0]!)).status, 504);
        assert.equal(requests() - before, 2);
      });

      it("asks what is no read of one alone", async () => {
        const [hung] = replicas as [StandIn];
        hung.manner = "hangs";
        const token = tokens.find((one) => homes.get(one) === hung)!;
        const before = requests();
        const posted = request(`https://127.0.0.1:${balancer.port}${BASE_PATH}/stats`, {
          method: "POST",
          agent: false,
          headers: { authorization: `Bearer ${token}` },
          rejectUnauthorized: false,
        });
        const [response] = (await once(posted.end(), "response")) as [IncomingMessage];
        response.resume();
        assert.equal(response.statusCode, 504);
        assert.equal(requests() - before, 1);
      });
    });
  }
});
