/** Pages served as files: methods, conditions, encodings, caching, and the paths that belong to them. */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { before, describe, it } from "node:test";
import { gunzipSync } from "node:zlib";
import { splitHeaders } from "../src/api/headers.ts";
import { takesGzip } from "../src/api/pages/serve.ts";
import { createOpenApi } from "../src/docs-page/openapi.ts";
import { openPages } from "../src/docs-page/reference.ts";
import { bodyBytes } from "../src/model/body.ts";
import type { Ask } from "../src/model/message.ts";

const pages = openPages({ docs: true, cors: true }, "50 a minute")!;

type More = Partial<Pick<Ask, "method" | "ifMatch" | "ifNoneMatch">> & {
  readonly acceptEncoding?: string | undefined;
};

function accepting(encoding: string | undefined): Required<Pick<Ask, "headers">> {
  return { headers: new Headers(encoding === undefined ? {} : { "Accept-Encoding": encoding }) };
}

/** Asks; undefined if the path belongs to no page. */
async function ask(path: string, more: More = {}, from = pages) {
  const { acceptEncoding, ...changed } = more;
  const request: Ask = {
    method: "GET",
    target: path,
    authorization: undefined,
    now: 0,
    ifMatch: undefined,
    ifNoneMatch: undefined,
    ...accepting(acceptEncoding),
    ...changed,
  };
  const reply = await from.answer(request, path);
  if (reply === undefined) return undefined;
  const headers = new Map<string, string>();
  const list = splitHeaders(reply.headers);
  for (let at = 0; at < list.length; at += 2) {
    const name = list[at]!.toLowerCase();
    assert.ok(!headers.has(name), `${name} twice`);
    headers.set(name, list[at + 1]!);
  }
  return { status: reply.status, headers, body: bodyBytes(reply.body) };
}

async function asked(path: string, more: More = {}, from = pages) {
  const got = await ask(path, more, from);
  assert.ok(got !== undefined, path);
  return got;
}

let loaded: string[] = [];

before(async () => {
  const { body } = await asked("/docs");
  const html = body.toString("utf8");
  loaded = [...html.matchAll(/(?:src|href)="(docs\/[^"]+)"/g)].map(([, path]) => `/${path}`);
  assert.ok(loaded.length >= 4, html);
});

describe("what is served", () => {
  it("leads from the root to the reference", async () => {
    const { status, headers, body } = await asked("/");
    assert.equal(status, 302);
    assert.equal(headers.get("location"), "/docs");
    assert.equal(body.length, 0);
  });

  it("is a page that loads nothing from elsewhere and is protected", async () => {
    const { status, headers, body } = await asked("/docs");
    assert.equal(status, 200);
    assert.equal(headers.get("content-type"), "text/html; charset=utf-8");
    const policy = headers.get("content-security-policy")!;
    assert.match(policy, /default-src 'none'/);
    assert.doesNotMatch(policy, /unsafe-eval|https?:|\*/);
    assert.equal(headers.get("x-content-type-options"), "nosniff");
    assert.equal(headers.get("referrer-policy"), "no-referrer");
    assert.equal(headers.get("x-frame-options"), "DENY");
    assert.doesNotMatch(body.toString("utf8"), /(?:src|href)="(?:https?:)?\/\//);
  });

  it("is the OpenAPI document, which other origins may read", async () => {
    const { headers, body } = await asked("/openapi.json");
    assert.equal(headers.get("content-type"), "application/json; charset=utf-8");
    assert.equal(headers.get("access-control-allow-origin"), "*");
    const sent = JSON.stringify(JSON.parse(body.toString("utf8")));
    assert.equal(sent, JSON.stringify(createOpenApi("50 a minute")));
    const without = await asked("/openapi.json", {}, openPages({ docs: true, cors: false }, "")!);
    assert.doesNotMatch([...without.headers.keys()].join(), /access-control/);
  });

  it("says the server's own limit, under tags of its own", async () => {
    const other = openPages({ docs: true, cors: true }, "7 in 90 seconds")!;
    for (const path of ["/docs", "/openapi.json"]) {
      const own = await asked(path);
      assert.match(own.body.toString("utf8"), /50 a minute unless/);
      const { headers, body } = await asked(path, {}, other);
      const text = body.toString("utf8");
      assert.match(text, /7 in 90 seconds unless/);
      assert.doesNotMatch(text, /an hour|\{\{/);
      assert.notEqual(headers.get("etag"), own.headers.get("etag"), path);
    }
  });

  it("may be kept for five minutes, or for ever where the name holds a hash of the contents", async () => {
    for (const path of ["/", "/docs", "/openapi.json"]) {
      assert.equal((await asked(path)).headers.get("cache-control"), "public, max-age=300");
    }
    for (const path of loaded) {
      const { headers, body } = await asked(path);
      assert.equal(headers.get("cache-control"), "public, max-age=31536000, immutable");
      const hash = createHash("sha256").update(body).digest("base64url").slice(0, 16);
      assert.ok(path.includes(hash), path);
      assert.equal(headers.get("x-content-type-options"), "nosniff");
      assert.match(headers.get("content-type")!, /^text\/(css|javascript); charset=utf-8$/);
    }
  });

  it("is nothing else", async () => {
    const [asset = ""] = loaded;
    const near = ["/docs/", "/Docs", "/docs/../../etc/passwd", "/docs/..%2f..%2fetc%2fpasswd", "//", ""];
    for (const path of [...near, "/docs/__proto__", `${asset}/`, `/docs/${asset}`, asset.toUpperCase()])
      assert.equal(await ask(path), undefined, path);
  });
});

describe("methods", () => {
  it("are GET and HEAD, alike but for the body", async () => {
    for (const path of ["/", "/docs", "/openapi.json", ...loaded]) {
      for (const acceptEncoding of [undefined, "gzip"]) {
        const got = await asked(path, { acceptEncoding });
        const head = await asked(path, { acceptEncoding, method: "HEAD" });
        assert.deepEqual(head, { ...got, body: Buffer.alloc(0) });
        assert.equal(got.headers.get("content-length"), String(got.body.length));
      }
    }
  });

  it("are no others", async () => {
    for (const method of ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"]) {
      for (const path of ["/", "/docs", "/openapi.json", loaded[0]!]) {
        const { status, headers, body } = await asked(path, { method });
        assert.equal(status, 405);
        assert.equal(headers.get("allow"), "GET, HEAD");
        assert.equal(body.toString(), '{"error":"Method not allowed"}');
      }
      assert.equal(await ask("/docs/nothing", { method }), undefined);
    }
  });
});

it("conditions are judged by the tag of what would be sent", async () => {
  for (const path of ["/docs", "/openapi.json", ...loaded]) {
    const tags = new Set<string>();
    for (const acceptEncoding of [undefined, "gzip"]) {
      const { headers } = await asked(path, { acceptEncoding });
      const tag = headers.get("etag")!;
      assert.match(tag, /^"[\w-]+"$/);
      assert.equal(headers.get("vary"), "Accept-Encoding");
      tags.add(tag);
      for (const ifNoneMatch of [tag, `W/${tag}`, `"other", ${tag}`, "*", `"a" , W/${tag},"b"`]) {
        const got = await asked(path, { acceptEncoding, ifNoneMatch });
        assert.equal(got.status, 304, ifNoneMatch);
        assert.equal(got.body.length, 0);
        for (const name of ["etag", "cache-control", "vary"]) {
          assert.equal(got.headers.get(name), headers.get(name), name);
        }
        assert.equal(got.headers.has("content-length"), false);
      }
      for (const ifNoneMatch of ['"other"', "", tag.slice(1, -1), `${tag.slice(0, -1)}x"`, "nonsense"]) {
        assert.equal((await asked(path, { acceptEncoding, ifNoneMatch })).status, 200, ifNoneMatch);
      }
      assert.equal((await asked(path, { acceptEncoding, ifMatch: tag })).status, 200);
      const failed = await asked(path, { acceptEncoding, ifMatch: `"other", W/${tag}` });
      assert.equal(failed.status, 412);
      assert.equal(failed.headers.get("cache-control"), "no-store");
    }
    assert.equal(tags.size, 2, "one tag for two contents");
  }
});

describe("encodings", () => {
  it("are chosen as the client says", () => {
    for (const header of [
      ...["gzip", "GZIP", "gzip, deflate, br", "br;q=1.0, gzip;q=0.8, *;q=0.1", "*", "x-gzip"],
      ...["deflate,gzip ; q=1", "identity;q=0, gzip;q=0.1", "identity;q=0.5, gzip", "identity, gzip"],
    ]) {
      assert.equal(takesGzip(accepting(header).headers), true, header);
    }
    for (const header of [
      ...[undefined, "", "identity", "br", "gzip;q=0", "*;q=0", "gzip;q=0, *", "identity;q=1, gzip;q=0.5"],
      ...["gzip;q=2", "gzip;q=x", "gzip;q=", "gzipped", "gzip;q=-1", ",,,", "gzip;q=0.0001"],
    ]) {
      assert.equal(takesGzip(accepting(header).headers), false, header);
    }
  });

  it("hold the same contents", async () => {
    for (const path of ["/docs", "/openapi.json", ...loaded]) {
      const plain = await asked(path, { acceptEncoding: "gzip;q=0" });
      const packed = await asked(path, { acceptEncoding: "br, gzip" });
      assert.equal(plain.headers.has("content-encoding"), false);
      assert.equal(packed.headers.get("content-encoding"), "gzip");
      assert.deepEqual(gunzipSync(packed.body), plain.body);
      assert.ok(packed.body.length < plain.body.length);
    }
  });
});
