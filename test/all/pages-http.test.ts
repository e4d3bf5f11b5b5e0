/** The pages beside the API over a socket: what is asked, refused, counted, logged, and what slow readers cost. */

import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import { collectGarbage } from "../../src/util/process/collect.ts";
import { cleanUp, serve, serveOpen, TOKENS } from "../support/http-server.ts";
import { assertPages, assertPipelines } from "../support/pages.ts";
import { until } from "../support/process.ts";
import { closeWires, dial, errorOf, header, lastWord, requestHead } from "../support/raw.ts";

const PEERS = 10;

after(async () => {
  closeWires();
  await cleanUp();
});

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
      // Far more than the system keeps for one connection.
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
