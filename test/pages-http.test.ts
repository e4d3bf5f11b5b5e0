/** The pages beside the API over a socket: what is asked, refused, counted, logged, and what slow readers cost. */

import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import { BASE, cleanUp, serve, TOKENS } from "./support/http-server.ts";
import { assertPages, assertPipelines } from "./support/pages.ts";
import { until } from "./support/process.ts";
import { closeWires, dial, errorOf, header, lastWord, requestHead } from "./support/raw.ts";

after(async () => {
  closeWires();
  await cleanUp();
});

describe("the pages of a server", () => {
  it("are answered as they should be", async () => {
    const { port } = await serve({ docs: true });
    await assertPages(port);
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
    const { port } = await serve({ docs: true });
    const first = await dial(port);
    void first.send(requestHead("/docs"));
    const script = /src="(docs\/swagger-ui-[^"]+)"/.exec((await first.response()).body)![1]!;
    void first.send(requestHead(`/${script}`, ["Accept-Encoding: gzip"]));
    const { body } = await first.response();
    assert.ok(body.length > 200_000);
    const before = process.memoryUsage();
    const wires = await Promise.all(
      Array.from({ length: 200 }, async () => {
        const wire = await dial(port);
        wire.socket.pause();
        void wire.send(requestHead(`/${script}`, ["Accept-Encoding: gzip"]).repeat(5));
        return wire;
      }),
    );
    // A round trip behind all of them: they were answered, as far as that goes.
    void first.send(requestHead(`${BASE}/stats`, [`Authorization: Bearer ${TOKENS.cli}`]).repeat(20));
    for (let at = 0; at < 20; at++) assert.equal((await first.response()).status, 200);
    const { arrayBuffers, external } = process.memoryUsage();
    const more = Math.max(arrayBuffers - before.arrayBuffers, external - before.external);
    assert.ok(more < 200 * 100_000, `${more} bytes for 200 peers`);
    for (const wire of wires) wire.destroy();
    first.destroy();
  });
});
