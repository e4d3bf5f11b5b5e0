/** The nginx site of `deploy/`, in a real nginx, in front of a real server. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { connect, type IncomingHttpHeaders } from "node:http2";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { type ConnectionOptions, connect as connectTls } from "node:tls";
import { gunzipSync } from "node:zlib";
import { type Balancer, startNginxSite } from "../support/balancers.ts";
import { need } from "../support/need.ts";
import { keyRecord, TOKEN, writeKeys } from "../support/place.ts";
import { killAll, type Served, serve } from "../support/process.ts";

const BASE = "/api/public/v1";

interface Answer {
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

describe("nginx in front", { skip: need("nginx", "openssl") }, () => {
  const folder = mkdtempSync(join(tmpdir(), "orrery-nginx-"));
  let server: Served;
  let nginx: Balancer;

  async function ask(path: string, headers: Record<string, string> = {}): Promise<Answer> {
    const session = connect(`https://127.0.0.1:${nginx.port}`, { rejectUnauthorized: false });
    const stream = session.request({ ":path": BASE + path, authorization: `Bearer ${TOKEN}`, ...headers });
    // A session that fails also fails its stream, which is what is waited for.
    session.on("error", () => {});
    const [answered] = (await once(stream, "response")) as [IncomingHttpHeaders];
    const chunks: Buffer[] = [];
    for await (const chunk of stream) chunks.push(chunk as Buffer);
    session.close();
    return { headers: answered, body: Buffer.concat(chunks) };
  }

  before(async () => {
    const keys = join(folder, "keys.json");
    writeKeys(keys, keyRecord(TOKEN));
    server = await serve("data/sample", keys);
    nginx = await startNginxSite(folder, [server]);
  });
  after(async () => {
    await nginx.end();
    await killAll();
    rmSync(folder, { recursive: true });
  });

  it("speaks HTTP/2 over TLS and passes answers, errors and headers on", async () => {
    const { headers, body } = await ask("/stats");
    assert.equal(headers[":status"], 200);
    assert.equal(JSON.parse(body.toString()).data.totalUsers, 2000);
    assert.equal(headers.etag, `"${server.generation}"`);
    const refused = await ask("/stats", { authorization: "Basic x" });
    assert.equal(refused.headers[":status"], 401);
    assert.equal(refused.headers["www-authenticate"], "Bearer");
    assert.equal(refused.body.toString(), '{"error":"Invalid token format"}');
  });

  it("compresses pages, and a crawler keeps its generation by If-Match all the same", async () => {
    const gzip = { "accept-encoding": "gzip" };
    const first = await ask("/worlds?limit=50", gzip);
    assert.equal(first.headers["content-encoding"], "gzip");
    assert.equal(first.headers.vary, "Accept-Encoding");
    assert.equal(JSON.parse(gunzipSync(first.body).toString()).data.length, 50);
    const etag = first.headers.etag!;
    assert.equal(etag, `W/"${server.generation}"`);
    const next = await ask("/worlds?limit=50&offset=50", { ...gzip, "if-match": etag });
    assert.equal(next.headers[":status"], 200);
    const other = await ask("/worlds?limit=50", { ...gzip, "if-match": 'W/"another"' });
    assert.equal(other.headers[":status"], 412);
    const known = await ask("/worlds?limit=50", { ...gzip, "if-none-match": etag });
    assert.equal(known.headers[":status"], 304);
  });

  it("asks the server over a connection that it keeps", async () => {
    /** The proxy's ends of its connections to the server that are open. */
    const open = (): string[] => {
      const server16 = `:${server.port.toString(16).toUpperCase().padStart(4, "0")}`;
      const rows = readFileSync("/proc/net/tcp", "utf8")
        .split("\n")
        .map((line) => line.trim().split(/\s+/));
      return rows.filter((row) => row[2]?.endsWith(server16) && row[3] === "01").map((row) => row[1]!);
    };
    await ask("/stats");
    const before = open();
    assert.ok(before.length >= 1);
    for (let count = 0; count < 20; count++) assert.equal((await ask("/stats")).headers[":status"], 200);
    assert.deepEqual(open(), before, "no other was opened");
  });

  it("offers HTTP/2 by TLS, of version 1.2 or newer", async () => {
    const offered = (options: ConnectionOptions): Promise<string | false | null> =>
      new Promise((resolve, reject) => {
        const socket = connectTls({
          host: "127.0.0.1",
          port: nginx.port,
          rejectUnauthorized: false,
          ...options,
        });
        socket.once("error", reject);
        socket.once("secureConnect", () => {
          resolve(socket.alpnProtocol);
          socket.destroy();
        });
      });
    for (const version of ["TLSv1.2", "TLSv1.3"] as const) {
      const only = { minVersion: version, maxVersion: version, ALPNProtocols: ["h2", "http/1.1"] };
      assert.equal(await offered(only), "h2");
    }
    await assert.rejects(offered({ maxVersion: "TLSv1.1", minVersion: "TLSv1", ciphers: "ALL:@SECLEVEL=0" }));
  });
});
