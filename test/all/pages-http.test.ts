/** The pages beside the API over a socket: requests, refusals, counts, log lines, and the cost of slow readers. */

import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import { ROUTES } from "../../src/api/routes.ts";
import { createOpenApi } from "../../src/docs-page/openapi.ts";
import { collectGarbage } from "../../src/util/process/collect.ts";
import { BASE, cleanUp, FEW, serve, serveOpen, TOKENS } from "../support/http-server.ts";
import { until } from "../support/process.ts";
import { askOnce, dial, errorOf, header, lastWord, type RawResponse, requestHead } from "../support/raw.ts";

const PEERS = 10;

after(cleanUp);

const FEW_KEY = `Authorization: Bearer ${TOKENS.fewNarrow}`;

/** Paths that are no page, although a URL parser might resolve them to one. */
const NO_PAGES = [
  ...["/docs/", "/docs//", "//docs", "/docs/..", "/docs/.", "/./docs", "/x/../docs"],
  "/docs/../../etc/passwd",
  ...["/docs/..%2f..%2fetc%2fpasswd", "/docs%2f", "/%64ocs", "/docs\\", "/Docs", "/docs/nothing.js"],
  ...["/docs/__proto__", "/openapi.json/", "/docs/../openapi.json", "/OPENAPI.JSON", "/x/.."],
  ...[`${BASE}/docs`, `${BASE}/openapi.json`],
];

/** Asserts that a reply has no header of a limit, whatever token came with the request. */
function isUncounted(response: RawResponse): void {
  assert.deepEqual(
    response.headers.filter(([name]) => /^(x-ratelimit|www-authenticate)/i.test(name)),
    [],
  );
}

/** Asserts that a server serves the pages beside the API. @param limit the limit of a key as the document says it; default if absent */
async function assertPages(port: number, limit?: string): Promise<void> {
  const ask = (target: string, headers?: readonly string[], method?: string): Promise<RawResponse> =>
    askOnce(port, target, headers, method);

  const root = await ask("/?x=1");
  assert.equal(root.status, 302);
  assert.equal(header(root, "Location"), "/docs");
  assert.equal(header(root, "Content-Length"), "0");

  const page = await ask("/docs");
  assert.equal(page.status, 200);
  assert.match(page.body, /^<!doctype html>[\s\S]*<\/html>\n$/);
  assert.match(header(page, "Content-Security-Policy")!, /default-src 'none'/);
  const assets = [...page.body.matchAll(/(?:src|href)="(docs\/[^"]+)"/g)].map(([, path]) => `/${path}`);
  assert.equal(assets.length, 4);
  for (const target of ["/docs?x", "/docs?", "http://anything/docs", "/docs??x=/../y"]) {
    assert.equal((await ask(target)).body, page.body, target);
  }
  const document = await ask("/openapi.json", ["Range: bytes=0-9"]);
  assert.equal(document.status, 200);
  assert.equal(JSON.stringify(JSON.parse(document.body)), JSON.stringify(createOpenApi(ROUTES, limit)));

  for (const target of ["/", "/docs", "/openapi.json", ...assets]) {
    const plain = await ask(target);
    const packed = await ask(target, ["Accept-Encoding: br", "accept-encoding: gzip;q=0.5"]);
    for (const response of [plain, packed]) isUncounted(response);
    const head = await ask(target, ["Accept-Encoding: gzip"], "HEAD");
    assert.equal(head.status, plain.status);
    assert.equal(header(head, "Content-Length"), header(packed, "Content-Length"), target);
    assert.equal(header(head, "ETag"), header(packed, "ETag"), target);
    for (const method of ["POST", "OPTIONS", "DELETE"]) {
      const refused = await ask(target, method === "POST" ? ["Content-Length: 0"] : [], method);
      assert.equal(refused.status, 405, `${method} ${target}`);
      assert.equal(errorOf(refused), "Method not allowed");
      assert.equal(header(refused, "Allow"), "GET, HEAD");
    }
    if (target === "/") continue;
    assert.equal(header(packed, "Content-Encoding"), "gzip");
    assert.notEqual(header(plain, "ETag"), header(packed, "ETag"));
    const known = [`If-None-Match: "x"`, `If-None-Match: W/${header(plain, "ETag")}`];
    assert.equal((await ask(target, known)).status, 304);
    assert.equal((await ask(target, [...known, "Accept-Encoding: gzip"])).status, 200);
  }

  for (const target of NO_PAGES) {
    const response = await ask(target);
    assert.equal(response.status, 404, target);
    assert.equal(errorOf(response), "Not found", target);
  }

  // Pages do not use up a key with a small limit.
  for (let at = 0; at < FEW + 2; at++) isUncounted(await ask("/docs", [FEW_KEY]));
  const counted = await ask(`${BASE}/stats`, [FEW_KEY]);
  assert.equal(header(counted, "X-RateLimit-Remaining"), String(FEW - 1));
}

/** Asserts that pages and the API's answers keep their order on one connection. */
async function assertPipelines(port: number): Promise<void> {
  const page = await askOnce(port, "/docs");
  const script = /src="(docs\/swagger-ui-[^"]+)"/.exec(page.body)![1]!;
  const cli = `Authorization: Bearer ${TOKENS.cli}`;
  const asks = [
    ["GET", `/${script}`],
    ["GET", `${BASE}/stats`],
    ["HEAD", "/docs"],
    ["GET", "/docs"],
    ["GET", "/nowhere"],
    ["GET", "/docs/nothing"],
    ["HEAD", `/${script}`],
    ["GET", `${BASE}/worlds?limit=50`],
    ["GET", "/openapi.json"],
    ["GET", "/"],
  ] as const;
  const wire = await dial(port);
  const requests = [...asks, ...asks, ...asks];
  const gzip = "Accept-Encoding: gzip";
  void wire.send(requests.map(([method, target]) => requestHead(target, [cli, gzip], method)).join(""));
  for (const [method, target] of requests) {
    const got = await wire.response(method);
    const alone = await askOnce(port, target, [cli, gzip], method);
    assert.deepEqual([got.status, got.body], [alone.status, alone.body], `${method} ${target}`);
  }
  wire.destroy();
}

describe("the pages of a server", () => {
  it("are answered as they should be", async () => {
    const { port } = await serve({ docs: true });
    await assertPages(port, "1,000,000 in 365 days");
    await assertPipelines(port);
  });

  it("are not there when they are turned off", async () => {
    const { port } = await serve({ docs: false });
    const wire = await dial(port);
    for (const target of ["/", "/docs", "/openapi.json", "/docs/x.js"]) {
      for (const method of ["GET", "POST", "OPTIONS"]) {
        void wire.send(requestHead(target, method === "POST" ? ["Content-Length: 0"] : [], method));
        const response = await wire.response(method);
        assert.equal(response.status, 404);
        assert.equal(errorOf(response), "Not found");
      }
    }
    wire.destroy();
  });

  it("stand in the access log, without the query", async () => {
    const { port, observations } = await serve({ docs: true, accessLog: true });
    const wire = await dial(port);
    void wire.send(requestHead(`/docs?token=${TOKENS.api}`));
    const response = await wire.response();
    const seen = await until(() => observations.find(({ kind }) => kind === "request"), "the request");
    assert.ok(seen.kind === "request");
    assert.equal(seen.path, "/docs");
    assert.equal(seen.status, 200);
    assert.equal(seen.id, header(response, "X-Request-Id"));
    assert.doesNotMatch(JSON.stringify(observations), new RegExp(TOKENS.api));
    wire.destroy();
  });

  it("take no body, and a path of a megabyte ends the connection", async () => {
    const { port } = await serve({ docs: true });
    const body = await lastWord(port, `${requestHead("/docs", ["Content-Length: 5"])}hello`);
    assert.equal(errorOf(body), "Request body not allowed");
    const long = await lastWord(port, requestHead(`/docs/${"a/".repeat(500_000)}`));
    assert.equal(long.status, 431);
  });

  it("are sent to HTTP/1.0, too", async () => {
    const { port } = await serve({ docs: true });
    const response = await lastWord(port, "GET /docs HTTP/1.0\r\n\r\n");
    assert.equal(response.status, 200);
    assert.match(response.body, /<\/html>/);
  });

  it("cost no copy for peers that do not read", async () => {
    const { port, sockets } = await serveOpen({ docs: true });
    const first = await dial(port);
    void first.send(requestHead("/docs"));
    const script = /src="(docs\/swagger-ui-[^"]+)"/.exec((await first.response()).body)![1]!;
    const request = requestHead(`/${script}`, ["Accept-Encoding: gzip"]);
    void first.send(request);
    const { length } = (await first.response()).body;
    assert.ok(length > 200_000);
    collectGarbage();
    const before = process.memoryUsage().arrayBuffers;
    const wires = await Promise.all(Array.from({ length: PEERS }, () => dial(port)));
    for (const { socket } of wires) {
      socket.pause();
      // Far more than the system buffers for one connection.
      socket.write(request.repeat(100));
    }
    await until(
      () => sockets().filter(({ writableLength }) => writableLength > 0).length === PEERS,
      "answers that the system no longer takes",
    );
    collectGarbage();
    const more = process.memoryUsage().arrayBuffers - before;
    assert.ok(more < (PEERS * length) / 2, `${more} bytes for ${PEERS} peers and ${length} bytes`);
    for (const wire of [first, ...wires]) wire.destroy();
  });
});
