/** The pages beside the API over a socket: requests, refusals, counts, log lines, and the cost of slow readers. */

import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import { collectGarbage } from "../../src/util/process/collect.ts";
import { BASE, cleanUp, FEW, serve, serveOpen, TOKENS } from "../support/http-server.ts";
import { until } from "../support/process.ts";
import { askOnce, dial, errorOf, header, type RawResponse, requestHead } from "../support/raw.ts";

const PEERS = 10;

after(cleanUp);

const FEW_KEY = `Authorization: Bearer ${TOKENS.fewNarrow}`;

/** Paths that are no page, although a URL parser might resolve them to one. */
const NO_PAGES = ["/docs/..", "//docs", "/./docs", "/x/../docs", "/%64ocs", "/docs\\", `${BASE}/docs`];

/** Asserts that a reply has no header of a limit, whatever token came with the request. */
function isUncounted(response: RawResponse): void {
  const counted = response.headers.filter(([name]) => /^(x-ratelimit|www-authenticate)/i.test(name));
  assert.deepEqual(counted, []);
}

/** Asserts that a server serves the pages beside the API, and counts none of them. */
async function assertPages(port: number): Promise<void> {
  for (const target of ["/docs?x", "http://anything/docs", "/docs??x=/../y"]) {
    const page = await askOnce(port, target, ["Range: bytes=0-9"]);
    assert.equal(page.status, 200, target);
    assert.match(page.body, /^<!doctype html>[\s\S]*<\/html>\n$/);
  }
  for (const target of NO_PAGES) {
    const response = await askOnce(port, target);
    assert.deepEqual([response.status, errorOf(response)], [404, "Not found"], target);
  }
  // They do not use up a key with a small limit.
  for (let at = 0; at < FEW; at++)
    for (const target of ["/", "/docs", "/openapi.json"]) isUncounted(await askOnce(port, target, [FEW_KEY]));
  const counted = await askOnce(port, `${BASE}/stats`, [FEW_KEY]);
  assert.equal(header(counted, "X-RateLimit-Remaining"), String(FEW - 1));
}

/** The path of the script of the reference page. */
const scriptOf = (page: RawResponse): string => `/${/src="(docs\/swagger-ui-[^"]+)"/.exec(page.body)![1]}`;

/** Asserts that pages and the API's answers keep their order on one connection. */
async function assertPipelines(port: number): Promise<void> {
  const script = scriptOf(await askOnce(port, "/docs"));
  const asks = [
    ...[`GET ${script}`, `GET ${BASE}/stats`, "HEAD /docs", "GET /docs", "GET /nowhere", "GET /docs/nothing"],
    ...[`HEAD ${script}`, `GET ${BASE}/worlds?limit=50`, "GET /openapi.json", "GET /"],
  ].map((asked) => asked.split(" ") as [method: string, target: string]);
  const wire = await dial(port);
  const requests = [...asks, ...asks, ...asks];
  const headers = [`Authorization: Bearer ${TOKENS.cli}`, "Accept-Encoding: gzip"];
  void wire.send(requests.map(([method, target]) => requestHead(target, headers, method)).join(""));
  for (const [method, target] of requests) {
    const got = await wire.response(method);
    const alone = await askOnce(port, target, headers, method);
    assert.deepEqual([got.status, got.body], [alone.status, alone.body], `${method} ${target}`);
  }
  wire.destroy();
}

describe("the pages of a server", () => {
  it("are answered as they should be", async () => {
    const { port } = await serve({ docs: true });
    await assertPages(port);
    await assertPipelines(port);
  });

  it("cost no copy for peers that do not read", async () => {
    const { port, sockets } = await serveOpen({ docs: true });
    const first = await dial(port);
    void first.send(requestHead("/docs"));
    const request = requestHead(scriptOf(await first.response()), ["Accept-Encoding: gzip"]);
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
    const stalled = () => sockets().filter(({ writableLength }) => writableLength > 0);
    await until(() => stalled().length === PEERS, "answers that the system no longer takes");
    collectGarbage();
    const more = process.memoryUsage().arrayBuffers - before;
    assert.ok(more < (PEERS * length) / 2, `${more} bytes for ${PEERS} peers and ${length} bytes`);
    for (const wire of [first, ...wires]) wire.destroy();
  });
});
