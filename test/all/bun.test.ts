/** The server on Bun: what it does as on Node, and the differences that docs/runtimes.md lists. */

import assert from "node:assert/strict";
import { appendFileSync, readdirSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { findRuntime, type Runtime, startOn, stopOther } from "../support/other-runtime.ts";
import { within } from "../support/patience.ts";
import { until } from "../support/process.ts";
import { dial, header, type RawResponse, requestHead } from "../support/raw.ts";
import {
  allUntilEnd,
  askOne,
  CLI,
  describeDifferences,
  describeSameAsOnNode,
  good,
  isStats,
  openOn,
  PAGE,
  STATS,
} from "../support/runtime-suite.ts";

const { runtime, missing } = findRuntime("bun");
const OK = `GET ${STATS} HTTP/1.1\r\nHost: a\r\n${CLI}\r\n`;

describeSameAsOnNode("Bun", runtime, missing);

describe("a host that there is not, on Bun", { skip: missing }, () => {
  for (const port of ["0", "8787"]) {
    it(`is told in one line, port ${port}`, async () => {
      const files = ["--snapshot", "data/sample", "--keys", "none"];
      const server = startOn(runtime, ["serve", ...files, "--host", "no.such.host.invalid", "--port", port]);
      const { status } = await server.ended;
      assert.equal(status, 1);
      const said = server.stderr().replaceAll(/^\{.*\}\n/gm, "");
      assert.match(
        said,
        /^orrery: cannot listen on no\.such\.host\.invalid port \d+: [^\n]*ENOTFOUND[^\n]*\n$/,
      );
    });
  }
});

describeDifferences("Bun", runtime, missing, {
  async "malformed requests"({ port }) {
    const bare = /^HTTP\/1\.1 (400|431|505) [A-Za-z ]+\r\nConnection: close\r\n\r\n$/;
    for (const bytes of [
      `GET ${STATS} HTTP/1.2\r\nHost: a\r\n\r\n`,
      `GET ${STATS} x HTTP/1.1\r\nHost: a\r\n\r\n`,
      `GET ${STATS} HTTP/1.1\r\n\r\n`,
      `${OK}X-Odd: a\r\n b\r\n\r\n`,
      `${OK}X-Odd: a\0b\r\n\r\n`,
      `${OK}X-Long: ${"x".repeat(17_000)}\r\n\r\n`,
      "GET * HTTP/1.1\r\nHost: a\r\n\r\n",
      "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n",
      `POST ${STATS} HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n`,
      Buffer.from(`16030100c8010000c40303${"5a".repeat(196)}`, "hex"),
    ]) {
      assert.match(await allUntilEnd(port, bytes), bare);
    }
    assert.equal(await allUntilEnd(port, `BREW ${STATS} HTTP/1.1\r\nHost: a\r\n\r\n`), "");
    const half = await dial(port);
    await half.send(OK);
    half.end();
    await half.closed();
  },

  async "an absolute target without a path"({ port }) {
    const response = await askOne(port, requestHead("http://orrery.test"));
    assert.equal(response.status, 302);
    assert.equal(header(response, "Location"), "/docs");
  },

  async "Expect: 100-continue"({ port }) {
    const headers = ["Expect: 100-continue", "Content-Length: 5"];
    const text = await allUntilEnd(port, `${requestHead(STATS, headers, "POST")}hello`);
    assert.match(text, /^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 405 /);
  },

  async "one Authorization header with two credentials"({ port }) {
    isStats(await askOne(port, requestHead(STATS, [`${CLI}, Bearer svc_sk_other`])));
    assert.equal((await askOne(port, requestHead(STATS, [`${CLI}, other`]))).status, 401);
    assert.equal((await askOne(port, requestHead(STATS, [`${CLI} , Bearer svc_sk_other`]))).status, 401);
  },

  async "a chunked body with a fault"({ port }) {
    const head = requestHead(STATS, ["Transfer-Encoding: chunked"], "POST");
    const text = await allUntilEnd(port, `${head}zz\r\n`);
    assert.match(
      text,
      /^HTTP\/1\.1 405 [\s\S]*"Method not allowed"\}HTTP\/1\.1 400 [A-Za-z ]+\r\nConnection: close\r\n\r\n$/,
    );
  },

  async "a body above 16 KiB"({ port }) {
    const wire = await dial(port);
    void wire.send(requestHead(STATS, ["Content-Length: 1000000"]));
    const response = await wire.response();
    assert.equal(response.status, 400);
    assert.equal(header(response, "Connection"), undefined);
    await wire.send(Buffer.alloc(1_000_000, good(STATS)));
    void wire.send(good(STATS));
    isStats(await wire.response());
    wire.destroy();
  },

  async "HTTP/1.0"({ port }) {
    for (const bytes of [
      `GET ${STATS} HTTP/1.0\r\n${CLI}\r\n\r\n`,
      `GET ${STATS} HTTP/1.0\r\n${CLI}\r\nConnection: keep-alive\r\n\r\n`,
    ]) {
      const text = await allUntilEnd(port, bytes);
      assert.match(text, /^HTTP\/1\.1 200 /);
      assert.doesNotMatch(text, /\r\nConnection:/i);
      assert.equal(text.match(/HTTP\/1\.1 /g)!.length, 1);
    }
  },

  async "more connections than descriptors"() {
    const few: Runtime = ["sh", "-c", 'ulimit -n 128; exec "$@"', "sh", ...runtime];
    const { port, server, snapshot } = await openOn(few);
    const stands = await dial(port);
    const stats = async (): Promise<RawResponse> => {
      void stands.send(good(STATS));
      return stands.response();
    };
    const before = header(await stats(), "ETag");
    const crowd = Array.from({ length: 200 }, () => connect(port, "127.0.0.1").on("error", () => {}));
    const files = `/proc/${server.child.pid}/fd`;
    await until(() => readdirSync(files).length >= 127, "all descriptors to be taken");
    appendFileSync(join(snapshot, "users.ndjson"), "\n");
    server.child.kill("SIGHUP");
    await until(() => /"event":"(snapshot|keys)-refused"/.test(server.stderr()), "the refused load");
    assert.equal(header(await stats(), "ETag"), before);
    for (const socket of crowd) socket.destroy();
    await until(async () => header(await stats(), "ETag") !== before, "the reload");
    stands.destroy();
    await stopOther(server);
  },

  async "slow heads"() {
    const { port, server } = await openOn(runtime, [
      ...["--keep-alive-timeout", "2", "--headers-timeout", "0.3", "--request-timeout", "0.3"],
      ...["--timeout-check-interval", "0.1", "--max-requests-per-socket", "1"],
    ]);
    const told =
      "--headers-timeout, --request-timeout, --timeout-check-interval, --max-requests-per-socket: without effect on Bun";
    assert.ok(server.stderr().includes(`"msg":"${told}"`), server.stderr());
    const drips = await dial(port);
    void drips.send(OK);
    for (let at = 0; at < 10; at++) {
      await sleep(100);
      void drips.send(`X-${at}: a\r\n`);
    }
    void drips.send("\r\n");
    isStats(await drips.response());
    void drips.send(good(STATS));
    isStats(await drips.response());
    await within(drips.ending, "the end of the idle connection");
    drips.destroy();
    assert.equal(await allUntilEnd(port, OK), "");
    await stopOther(server);
  },

  async "an answer that is not read"({ port }) {
    const wire = await dial(port);
    wire.socket.pause();
    const bytes = good(PAGE).repeat(100);
    while (!wire.socket.destroyed) await Promise.race([wire.send(bytes), wire.gone]);
    isStats(await askOne(port, good(STATS)));
  },

  async "a stop"() {
    const { port, server } = await openOn(runtime);
    const idle = await dial(port);
    const stopped = stopOther(server);
    let closing: string | undefined;
    while (closing !== "close") closing = header(await askOne(port, good(STATS)), "Connection");
    await idle.fin();
    idle.destroy();
    await within(stopped, "the stop");
  },
});
