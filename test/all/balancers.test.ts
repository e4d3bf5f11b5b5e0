/** The load balancers of `deploy/`, real ones, in front of a real server: how they pass HTTP on. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { connect, type IncomingHttpHeaders } from "node:http2";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { after, before, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { type ConnectionOptions, connect as connectTls, type TLSSocket } from "node:tls";
import { gunzipSync } from "node:zlib";
import { temporaryFolder } from "../support/folders.ts";
import { need } from "../support/need.ts";
import { within } from "../support/patience.ts";
import { keyRecord, TOKEN, writeKeys } from "../support/place.ts";
import { freePort } from "../support/ports.ts";
import { type LogLine, type Served, serve, until } from "../support/process.ts";
import { BALANCERS, type RunningProxy } from "../support/proxies.ts";

const BASE = "/api/public/v1";
/** A key with a limit of two requests. */
const ONCE = "svc_sk_balancers-once-0000000001";

const folder = temporaryFolder();

describe("HTTP through a balancer", { skip: need("nginx", "haproxy", "openssl"), concurrency: true }, () => {
  let server: Served;
  let adminPort: number;

  before(async () => {
    const records = [keyRecord(TOKEN), keyRecord(ONCE, { id: "once", limit: 2 })];
    const keys = writeKeys(join(folder, "keys.json"), ...records);
    adminPort = await freePort();
    server = await serve("data/sample", keys, [
      ...["--admin", String(adminPort), "--access-log"],
      // Only this address: clients here use others of the loopback network.
      ...["--trusted-proxies", "127.0.0.1"],
    ]);
  });

  for (const [name, startBalancer] of Object.entries(BALANCERS)) {
    const isNginx = name === "nginx";
    describe(name, { concurrency: 1 }, () => {
      let balancer: RunningProxy;
      let halfHead: Promise<string>;
      before(async () => {
        mkdirSync(join(folder, name));
        balancer = await startBalancer(join(folder, name), [{ port: server.port, adminPort }]);
        // Slow, so it begins here, and a later test checks it.
        halfHead = raw(`GET ${BASE}/stats HTTP/1.1\r\nHost: x\r\nX-Half`);
        halfHead.catch(() => {});
      });
      after(() => balancer?.end());

      const onTls = (options: ConnectionOptions = {}): TLSSocket =>
        connectTls({ host: "127.0.0.1", port: balancer.port, rejectUnauthorized: false, ...options });

      async function ask(path: string, headers: Record<string, string> = {}, localAddress = "127.0.0.1") {
        const session = connect(`https://127.0.0.1:${balancer.port}`, {
          createConnection: () => onTls({ ALPNProtocols: ["h2"], localAddress } as ConnectionOptions),
        });
        const all = { ":path": BASE + path, authorization: `Bearer ${TOKEN}`, ...headers };
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
      const get11 = (
        fields: readonly string[],
        target = "/stats",
        method = "GET",
        version = "1.1",
      ): string => {
        const line = `${method} ${BASE}${target} HTTP/${version}`;
        return [line, `Authorization: Bearer ${TOKEN}`, ...fields, "", ""].join("\r\n");
      };
      const CLOSE = ["Host: api.example.com", "Connection: close"];

      it("speaks HTTP/2 over TLS and passes answers, errors and headers on", async () => {
        const { status, headers, body } = await ask("/stats");
        assert.equal(status, 200);
        assert.equal(JSON.parse(body.toString()).data.totalUsers, 2000);
        assert.equal(headers.etag, `"${server.generation}"`);
        assert.deepEqual(
          [headers["cache-control"], headers["x-ratelimit-limit"]],
          ["private, no-cache", "1000"],
        );
        assert.match(String(headers["x-ratelimit-remaining"]), /^\d+$/);
        assert.match(String(headers["x-ratelimit-reset"]), /^\d+$/);
        const refused = await ask("/stats", { authorization: "Basic x" });
        assert.deepEqual([refused.status, refused.headers["www-authenticate"]], [401, "Bearer"]);
        assert.equal(refused.body.toString(), '{"error":"Invalid token format"}');
        assert.equal((await ask("/nothing")).status, 404);
      });

      it("passes on who used up a limit, once for each request", async () => {
        const once = { authorization: `Bearer ${ONCE}` };
        const replies = await Promise.all([1, 2, 3].map(() => ask("/stats", once)));
        const limited = replies.filter(({ status }) => status === 429);
        // Tests of both balancers run at the same time with one key of two requests.
        assert.ok(limited.length >= 1);
        assert.match(String(limited[0]!.headers["retry-after"]), /^\d+$/);
        assert.equal(limited[0]!.body.toString(), '{"error":"Rate limit exceeded"}');
      });

      it("passes the id of a request on and back", async () => {
        const { headers } = await ask("/stats", { "x-request-id": `given-${name}-1` });
        assert.equal(headers["x-request-id"], `given-${name}-1`);
        const own = await ask("/stats");
        assert.match(String(own.headers["x-request-id"]), /^[\w.~+/=:@-]+$/);
      });

      it("tells the client's address, which no client can forge", async () => {
        const from = `127.0.0.${isNginx ? 7 : 8}`;
        const forged = ["6.6.6.6", "6.6.6.6, 127.0.0.1", "127.0.0.1", "unknown,", "::1"];
        for (const [at, value] of forged.entries()) {
          const id = { "x-request-id": `client-${name}-${at}` };
          await ask("/stats", { ...id, "x-forwarded-for": value }, from);
          const isIts = (line: LogLine): boolean => line.id === id["x-request-id"];
          const logged = await until(() => server.logs("request").find(isIts), "its line");
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
        for (const tag of [etag, `"${server.generation}"`, "*"]) {
          const next = await ask("/worlds?limit=50&offset=50", { ...gzip, "if-match": tag });
          assert.equal(next.status, 200, tag);
        }
        for (const tag of ['W/"another"', '"another"']) {
          const other = await ask("/worlds?limit=50", { ...gzip, "if-match": tag });
          assert.deepEqual([other.status, other.body.toString()], [412, '{"error":"Snapshot has changed"}']);
        }
        for (const tag of [etag, `"${server.generation}"`, `"x", ${etag}`, "*"]) {
          const known = await ask("/worlds?limit=50", { ...gzip, "if-none-match": tag });
          assert.deepEqual([known.status, known.body.length], [304, 0], tag);
          assert.match(String(known.headers.etag), /^(W\/)?"/);
          assert.match(String(known.headers["x-ratelimit-remaining"]), /^\d+$/);
        }
      });

      it("takes HEAD, OPTIONS and the question of a web page", async () => {
        const head = await ask("/worlds?limit=50", { ":method": "HEAD", "accept-encoding": "gzip" });
        assert.deepEqual([head.status, head.body.length], [200, 0]);
        assert.match(String(head.headers.etag), new RegExp(`^(W/)?"${server.generation}"$`));
        const options = await ask("/stats", { ":method": "OPTIONS", authorization: "" });
        assert.deepEqual([options.status, options.headers.allow], [204, "GET, HEAD, OPTIONS"]);
        const preflight = await ask("/stats", {
          ":method": "OPTIONS",
          origin: "https://example.com",
          "access-control-request-method": "GET",
          "access-control-request-headers": "authorization, if-match",
        });
        assert.deepEqual([preflight.status, preflight.headers["access-control-allow-origin"]], [204, "*"]);
        assert.match(String(preflight.headers["access-control-allow-headers"]), /authorization/i);
        const read = await ask("/stats", { origin: "https://example.com" });
        assert.match(String(read.headers["access-control-expose-headers"]), /ETag/);
        const other = await ask("/stats", { ":method": "DELETE" });
        assert.deepEqual([other.status, other.headers.allow], [405, "GET, HEAD, OPTIONS"]);
      });

      it("takes a URL of 8 KiB, and HTTP/1.0, and a head that comes byte by byte", async () => {
        const q = "q=".concat("a".repeat(8192 - `${BASE}/worlds/search?q=`.length));
        assert.equal((await ask(`/worlds/search?${q}`)).status, 200);
        assert.match(await raw(get11(CLOSE, `/worlds/search?${q}`)), /^HTTP\/1\.1 200 /);
        assert.match(await raw(get11([], "/stats", "GET", "1.0")), /^HTTP\/1\.[01] 200 .*"totalUsers":2000/s);
        assert.match(await raw(get11(CLOSE), true), /^HTTP\/1\.1 200 .*"totalUsers":2000/s);
      });

      it("refuses bodies and heads that are too large, itself or by the server", async () => {
        const body = (length: number, method = "GET"): Promise<string> =>
          raw(get11([...CLOSE, `Content-Length: ${length}`], "/stats", method) + "x".repeat(length));
        assert.match(await body(10), /^HTTP\/1\.1 400 .*\{"error":"Request body not allowed"\}$/s);
        assert.match(await body(10, "POST"), /^HTTP\/1\.1 405 .*\{"error":"Method not allowed"\}$/s);
        const large = isNginx ? /^HTTP\/1\.1 413 / : /^HTTP\/1\.1 400 .*"Request body not allowed"/s;
        assert.match(await body(4000), large);
        const headers = (count: number, length: number): string[] =>
          Array.from({ length: count }, (_, n) => `X-Filler-${n}: ${"x".repeat(length)}`);
        const many = await raw(get11([...CLOSE, ...headers(70, 1)]));
        assert.match(many, /^HTTP\/1\.1 431 .*"Request header fields too large"/s);
        assert.match(await raw(get11([...CLOSE, ...headers(40, 1000)])), /^HTTP\/1\.1 (400|431) /);
        // It keeps serving.
        assert.equal((await ask("/stats")).status, 200);
      });

      it("offers HTTP/2 by TLS, of version 1.2 or newer", async () => {
        const offered = async (options: ConnectionOptions): Promise<string | false | null> => {
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

      it("ends a connection that sent half a head, within its time", async () => {
        assert.match(await halfHead, isNginx ? /^(HTTP\/1\.1 408 |$)/ : /^HTTP\/1\.[01] 408 /);
      });
    });
  }
});
