/** Sources behind a real forward proxy that asks for a password: by TLS and without, exceptions, and refusals. */

import assert from "node:assert/strict";
import { chmodSync, readFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { setTimeout } from "node:timers/promises";
import { snapshotFiles, temporaryFolder, user, withManifest } from "../support/folders.ts";
import { need } from "../support/need.ts";
import { keyRecord, TOKEN, writeKeys } from "../support/place.ts";
import { freePort, listen } from "../support/ports.ts";
import { run, serve, type Variables } from "../support/process.ts";
import { type Host, startHost } from "../support/source-server.ts";
import { certificate, type RunningProxy, startForwardProxy } from "./support/proxies.ts";

const PASSWORD = "canary:4711";

describe("behind a forward proxy", { skip: need("apache2", "openssl") }, () => {
  const folder = temporaryFolder();
  const keys = writeKeys(join(folder, "keys.json"), keyRecord(TOKEN));
  const files = withManifest(snapshotFiles({ "users.ndjson": [user(1)] }), "proxied");
  let caches = 0;
  let host: Host;
  let source: string;
  let trust: Variables;
  let proxy: RunningProxy & { asked: () => string[] };
  before(async () => {
    // Apache's workers run as another user.
    chmodSync(folder, 0o755);
    const { key, pem } = certificate(folder);
    trust = { NODE_EXTRA_CA_CERTS: pem };
    host = await startHost(files, { key: readFileSync(key), cert: readFileSync(pem) });
    source = host.url.replace("127.0.0.1", "localhost");
    proxy = await startForwardProxy(join(folder, "proxy"), PASSWORD);
  });
  after(async () => {
    await host?.close();
    await proxy?.end();
  });

  const url = (password = PASSWORD): string =>
    `http://me:${encodeURIComponent(password)}@127.0.0.1:${proxy.port}`;
  /** Starts a server from the host, and stops it. @returns the lines that the proxy logged meanwhile: a tunnel's at its end */
  async function passed(variables: Variables, snapshot = source): Promise<string[]> {
    const before = proxy.asked().length;
    const cache = join(folder, `cache${++caches}`);
    const server = await serve(snapshot, keys, ["--cache", cache], { ...trust, ...variables });
    assert.equal(server.generation, "proxied");
    await server.stop();
    await setTimeout(500);
    return proxy.asked().slice(before);
  }

  /** Starts a server from the host, which must fail with one line behind that about the keys. @returns what it said */
  async function startRefused(variables: Variables, says: RegExp): Promise<string> {
    const cache = join(folder, `cache${++caches}`);
    const args = ["serve", "--snapshot", source, "--keys", keys, "--port", "0", "--cache", cache];
    const { status, stderr } = await run(args, { ...trust, ...variables });
    const [first, line = "", ...others] = stderr.split("\n");
    assert.equal(status, 1, stderr);
    assert.match(first!, /"keys-loaded"/);
    assert.match(line, says);
    assert.deepEqual(others, [""], stderr);
    return stderr;
  }

  it("a snapshot by https: comes through it, by TLS with the host itself", async () => {
    for (const name of ["HTTPS_PROXY", "https_proxy"]) {
      const lines = await passed({ [name]: url() });
      assert.ok(lines.length > 0);
      for (const line of lines) assert.match(line, /^200 CONNECT /);
    }
  });

  it("hosts that NO_PROXY names are asked directly", async () => {
    assert.deepEqual(await passed({ HTTPS_PROXY: url(), NO_PROXY: "localhost" }), []);
    assert.deepEqual(await passed({ HTTP_PROXY: url() }), []);
    assert.deepEqual(await passed({ HTTPS_PROXY: "" }), []);
  });

  it("a snapshot by http: comes through it, without a tunnel", async () => {
    const plain = await startHost(host.files);
    const lines = await passed({ HTTP_PROXY: url() }, plain.url);
    await plain.close();
    assert.equal(lines.length, 5, lines.join("\n"));
    for (const line of lines) assert.match(line, /^200 GET http:.*\/snapshot\//);
  });

  it("a redirect out of https: is not followed", async () => {
    host.fault = (_request, response) => {
      response.writeHead(302, { location: "http://127.0.0.1:9/manifest.json" }).end();
      return true;
    };
    await startRefused({}, /manifest\.json: a redirect leads out of https:/);
    host.fault = undefined;
  });

  it("its refusals and its absence are one line, without its password", async () => {
    const cases: [string, RegExp][] = [
      [url("wrong-4711"), /: the proxy answered 407/],
      [`http://me:4711@127.0.0.1:${await freePort()}`, /connection refused \(ECONNREFUSED\)/],
      ["me:4711@127.0.0.1:1", /HTTPS_PROXY must be an http:\/\/ or https:\/\/ URL/],
    ];
    for (const [name, says] of cases) {
      assert.doesNotMatch(await startRefused({ HTTPS_PROXY: name }, says), /4711/);
    }
  });

  it("what a proxy says in the place of a host is not taken for the host's words", async () => {
    for (const status of [200, 302, 304, 404]) {
      const head = `HTTP/1.1 ${status} So\r\nLocation: ${host.url}\r\nContent-Length: 2\r\n\r\n{}`;
      const liar = createServer((socket) =>
        socket.once("data", () => socket.end(head)).on("error", () => {}),
      );
      const says = status === 200 ? /manifest\.json: / : new RegExp(`: the proxy answered ${status}`);
      await startRefused({ HTTPS_PROXY: `http://127.0.0.1:${await listen(liar)}` }, says);
      liar.close();
    }
  });
});
