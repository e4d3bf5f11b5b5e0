/** Real proxies that compress, each by its defaults: what they do to ETags and bodies, and that no crawl is lost by it. */

import assert from "node:assert/strict";
import { appendFileSync, chmodSync, cpSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { createClient, type ReplyHead, SnapshotChangedError } from "../../src/client/mod.ts";
import { BASE_PATH } from "../../src/model/model.ts";
import { temporaryFolder, user } from "../support/folders.ts";
import { need } from "../support/need.ts";
import { keyRecord, TOKEN, writeKeys } from "../support/place.ts";
import { get, type Response, type Served, serve, until } from "../support/process.ts";
import { COMPRESSORS, type RunningProxy } from "./support/proxies.ts";

/** Programs by the names of their proxies. */
const PROGRAMS = { nginx: "nginx", HAProxy: "haproxy", Apache: "apache2", Caddy: "caddy" } as const;
type Name = keyof typeof PROGRAMS;

/** The tag of a compressed reply, by that of the server. */
const TAGS: Readonly<Record<Name, (tag: string) => RegExp>> = {
  nginx: (tag) => new RegExp(`^W/"${tag}"$`),
  HAProxy: (tag) => new RegExp(`^W/"${tag}"$`),
  Apache: (tag) => new RegExp(`^"${tag}-gzip"$`),
  // Older versions mark none.
  Caddy: (tag) => new RegExp(`^"${tag}(-gzip)?"$`),
};

/** Who reads a whole body first, and sends it on with its length. */
const TELLS_LENGTHS: readonly Name[] = ["nginx", "Apache"];

const GZIP = { "Accept-Encoding": "gzip" };

for (const name of Object.keys(PROGRAMS) as Name[]) {
  describe(`through ${name}`, { skip: need(PROGRAMS[name]) }, () => {
    const folder = temporaryFolder();
    let server: Served;
    let proxy: RunningProxy;
    let snapshot: string;

    before(async () => {
      // Apache's workers run as another user.
      chmodSync(folder, 0o755);
      snapshot = join(folder, "snapshot");
      for (const table of ["users", "worlds", "world-stats", "instances"])
        cpSync(`data/sample/${table}.ndjson`, join(snapshot, `${table}.ndjson`));
      const keys = writeKeys(join(folder, "keys.json"), keyRecord(TOKEN));
      server = await serve(snapshot, keys, ["--watch", "0"]);
      proxy = await COMPRESSORS[name](join(folder, "proxy"), server.port);
    });
    after(() => proxy?.end());

    const ask = (path: string, headers: Record<string, string> = {}): Promise<Response> =>
      get(`http://127.0.0.1:${proxy.port}${BASE_PATH}${path}`, { token: TOKEN, headers });

    it("a tag that it marked gets a 304, whatever the encoding", async () => {
      const { headers } = await ask("/worlds?limit=50", GZIP);
      assert.equal(headers["content-encoding"], "gzip");
      assert.match(headers.etag!, TAGS[name](server.generation));
      for (const tag of [headers.etag!, `"other", ${headers.etag}`, `"${server.generation}"`]) {
        for (const encoding of [GZIP, {}]) {
          const known = await ask("/worlds?limit=50", { ...encoding, "If-None-Match": tag });
          assert.deepEqual([known.status, known.text], [304, ""], tag);
        }
      }
      assert.equal((await ask("/stats", { "If-None-Match": '"other-gzip"' })).status, 200);
    });

    it("a tag that it marked guards the next page, without W/", async () => {
      const { headers } = await ask("/worlds?limit=50", GZIP);
      const tag = headers.etag!.replace("W/", "");
      const next = await ask("/worlds?limit=50&offset=50", { ...GZIP, "If-Match": tag });
      assert.equal(next.status, 200);
      assert.equal((await ask("/stats", { "If-Match": `W/${tag}` })).status, 412);
      assert.equal((await ask("/stats", { "If-Match": '"other-gzip"' })).status, 412);
    });

    it("short bodies are dropped, and the next request on the shared connection is answered", async () => {
      const url = `http://127.0.0.1:${proxy.port}${BASE_PATH}/stats`;
      const send = async (body: string | ReadableStream): Promise<number> => {
        const headers = { authorization: `Bearer ${TOKEN}` };
        // The types do not know `duplex`, which a body without a length needs.
        const init = { method: "POST", headers, body, duplex: "half" } as RequestInit;
        const answer = await fetch(url, init);
        await answer.text();
        return answer.status;
      };
      for (let times = 0; times < 3; times++) {
        assert.equal(await send("GET / HTTP/1.1\r\nHost: a\r\n\r\n"), 405);
        assert.equal((await ask("/stats")).status, 200);
        const chunked = await send(new Blob(["{}"]).stream());
        assert.equal(chunked, TELLS_LENGTHS.includes(name) ? 405 : 400);
        assert.equal((await ask("/stats")).status, 200);
      }
      assert.equal(await send("x".repeat(65_536)), 405);
      assert.equal(await send("x".repeat(65_537)), 400);
    });

    it("a client reads a whole list, and notices a change on the way", async () => {
      const seen: ReplyHead[] = [];
      const through = (port: number) =>
        createClient({
          baseUrl: `http://127.0.0.1:${port}`,
          token: TOKEN,
          onResponse: (reply) => seen.push(reply),
        });
      const direct: string[] = [];
      for await (const { id } of through(server.port).worlds.list.all()) direct.push(id);
      seen.length = 0;
      const worlds = through(proxy.port).worlds.list;
      const got: string[] = [];
      for await (const { id } of worlds.all()) got.push(id);
      assert.deepEqual(got, direct);
      assert.ok(seen.length > 5);
      assert.ok(seen.every(({ status }) => status === 200));
      assert.ok(seen.some(({ headers }) => headers.get("content-encoding") === "gzip"));

      const before = server.logs("snapshot-loaded").length;
      await assert.rejects(async () => {
        let items = 0;
        for await (const _ of worlds.all()) {
          if (++items !== 1) continue;
          appendFileSync(join(snapshot, "users.ndjson"), `${JSON.stringify(user(9999))}\n`);
          server.child.kill("SIGHUP");
          await until(() => server.logs("snapshot-loaded").length > before, "the changed snapshot");
        }
      }, SnapshotChangedError);
    });
  });
}
