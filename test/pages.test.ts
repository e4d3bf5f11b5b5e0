/** Pages served as files: methods, conditions, encodings, caching, and the paths that belong to them. */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { describe, it } from "node:test";
import { gunzipSync } from "node:zlib";
import { splitHeaders } from "../src/api/headers.ts";
import { takesGzip } from "../src/api/pages/serve.ts";
import { ROUTES } from "../src/api/routes.ts";
import { createOpenApi } from "../src/docs-page/openapi.ts";
import { problemWithPublicUrl } from "../src/docs-page/public-url.ts";
import { DOCS_PAGE_SETTINGS, openPages } from "../src/docs-page/reference.ts";
import { fillExamples, type ServedExamples } from "../src/docs-page/served-examples.ts";
import { bodyBytes } from "../src/model/body.ts";
import type { Ask } from "../src/model/message.ts";
import type { Setting } from "../src/settings/settings.ts";
import { loadSnapshot } from "../src/snapshot/load.ts";
import type { Store } from "../src/store/generation.ts";
import { idText } from "../src/store/table.ts";
import { freshFolder, mustLoad } from "./support/loaded.ts";
import { bulkRows, madeId, writeSnapshot } from "./support/snapshot.ts";

const NAME = "Public read-only API";
const OPEN = { docs: true, docsName: NAME, docsContact: undefined, docsUrl: undefined } as const;
/** What the pages need of a store without rows. */
const NO_ROWS = { id: "none", users: { rows: 0 }, worlds: { rows: 0 }, instances: { rows: 0 } } as Store;

type OpenApi = Parameters<typeof fillExamples>[0];

/** The pages with CORS, or as `more` says. */
const opened = (limit: string, more: object = {}) => openPages({ ...OPEN, cors: true, ...more }, limit)!;
const pages = opened("50 a minute");

type More = Partial<Pick<Ask, "method" | "ifMatch" | "ifNoneMatch">> & {
  readonly acceptEncoding?: string | undefined;
};

function accepting(encoding: string | undefined): Required<Pick<Ask, "headers">> {
  return { headers: new Headers(encoding === undefined ? {} : { "Accept-Encoding": encoding }) };
}

/** Asks; undefined if the path belongs to no page. */
async function ask(path: string, more: More = {}, from = pages, store = NO_ROWS) {
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
  const reply = await from.answer(request, path, store);
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

async function asked(path: string, more: More = {}, from = pages, store = NO_ROWS) {
  const got = await ask(path, more, from, store);
  assert.ok(got !== undefined, path);
  return got;
}

/** The examples of ids and searched texts in the document, by path and name. */
async function examplesOf(store: Store, from = pages) {
  const { body, headers } = await asked("/openapi.json", {}, from, store);
  const { paths } = JSON.parse(body.toString("utf8")) as OpenApi;
  const examples: Record<string, unknown> = {};
  for (const [path, { get }] of Object.entries(paths))
    for (const { name, example } of get.parameters)
      if (name === "id" || name === "q") examples[`${path} ${name}`] = example;
  return { examples, etag: headers.get("etag")! };
}

const page = (await asked("/docs")).body.toString("utf8");
/** The paths of scripts and styles that the page loads. */
const loaded = [...page.matchAll(/(?:src|href)="(docs\/[^"]+)"/g)].map(([, path]) => `/${path}`);
assert.ok(loaded.length >= 4, page);

describe("what is the operator's", () => {
  it("stands in the document and on the page, and cannot break out of it", async () => {
    const docsName = `Worlds & "more" <script>alert(1)</script>`;
    const shown = async (path: string, more: object): Promise<string> =>
      (await asked(path, {}, opened("5 an hour", { docsName, ...more }))).body.toString("utf8");
    const documentOf = async (more: object) => JSON.parse(await shown("/openapi.json", more));
    const name = "The operator of this server";
    const url = "https://example.org/keys?a=1&b=2";
    const email = "ops@example.org";
    const { info } = await documentOf({ docsContact: email });
    assert.deepEqual([info.title, info.contact], [docsName, { name, email }]);
    const byUrl = await documentOf({ docsContact: url });
    assert.deepEqual(byUrl.info.contact, { name, url });
    assert.deepEqual(byUrl.servers, [{ url: "api/public/v1", description: "This server" }]);
    for (const docsUrl of ["https://api.example.org", "https://api.example.org/x/"]) {
      const { servers } = await documentOf({ docsUrl });
      assert.equal(servers[0].url, `${docsUrl.replace(/\/$/, "")}/api/public/v1`);
    }
    const page = await shown("/docs", { docsContact: url });
    assert.match(page, /<h1>Worlds &#38; &#34;more&#34; &#60;script&#62;/);
    assert.match(page, /<a href="https:\/\/example\.org\/keys\?a=1&#38;b=2">operator of this server<\/a>/);
    assert.doesNotMatch(page, /<script>alert|\{\{/);
    assert.match(await shown("/docs", { docsContact: email }), /href="mailto:ops@example\.org"/);
  });

  it("is checked: a public URL is an origin, with a prefix", () => {
    for (const good of ["https://a.b", "http://localhost:1/", "https://a.b/prefix"])
      assert.equal(problemWithPublicUrl(good), undefined, good);
    const wrong = ["a.b", "ftp://a.b", "https://u:p@a.b", "https://a.b/?", "https://a b"];
    for (const bad of wrong) assert.match(problemWithPublicUrl(bad)!, /^must /, bad);
    assert.match(problemWithPublicUrl("https://a.b/api/public/v1/")!, /^must end before/);
  });

  it("is checked: a contact is a URL or a mail address", () => {
    const { problem } = DOCS_PAGE_SETTINGS.find(({ flag }) => flag === "docs-contact") as Required<Setting>;
    for (const good of ["https://a.b/c", "http://localhost:1/", "a@b.c"])
      assert.equal(problem(good), undefined, good);
    const wrong = ["a", "javascript:alert(1)", "a@b", "https://a b", 'https://a/"', "a@b.c,d@e.f"];
    for (const bad of wrong) assert.match(problem(bad)!, /^must be /, bad);
  });
});

describe("examples of the reference", () => {
  const NEWEST = madeId("newest", 1);
  const OWNER = madeId("bulk user", 1);

  /** Loads a snapshot whose newest visible world has a name and an owner; without rows nothing is visible. */
  async function storeWith(name: string, ownerId: string, others: string | false = "World"): Promise<Store> {
    const folder = freshFolder();
    const rows = bulkRows(3);
    const newest = { ...rows.worlds[0]!, id: NEWEST, name, ownerId, createdAt: "2026-06-01T00:00:00Z" };
    const hidden = { ...newest, id: madeId("hidden", 1), isPublic: false, createdAt: "2026-07-01T00:00:00Z" };
    const named = rows.worlds.map((world) => ({ ...world, name: others || world.name }));
    const worlds = [...named, newest, hidden];
    const nothing = { users: [], worlds: [hidden], stats: [], instances: [] };
    writeSnapshot(folder, others !== false ? { ...rows, worlds } : nothing);
    return mustLoad(await loadSnapshot(folder)).store;
  }

  it("are rows of the served snapshot: the newest visible world, its owner, an instance, words in Latin script", async () => {
    const store = await storeWith("【a】 Ночной Überhang 12!", OWNER);
    const { examples } = await examplesOf(store);
    const ids = { worlds: NEWEST, users: OWNER, instances: idText(store.instances, 0) };
    const words = { worlds: "Überhang", users: "User" };
    const wanted: Record<string, string> = {};
    for (const { path, parameters } of ROUTES) {
      const table = path.split("/")[1]!;
      if (path.includes(":id")) wanted[`${path.replace(":id", "{id}")} id`] = ids[table as keyof typeof ids];
      if (parameters.includes("q")) wanted[`${path} q`] = words[table as keyof typeof words];
    }
    assert.deepEqual(examples, wanted);
  });

  it("follow the served snapshot, and change the document's tag only with it", async () => {
    const from = opened("");
    const before = await storeWith("One", OWNER);
    const first = await examplesOf(before, from);
    assert.deepEqual(await examplesOf({ ...before, id: "other" }, from), first, "the same rows");
    const second = await examplesOf(await storeWith("Two", madeId("nobody", 1)), from);
    assert.equal(second.examples["/worlds/search q"], "Two");
    // An owner who is not visible is no example.
    assert.match(String(second.examples["/users/{id} id"]), /^[0-9a-f-]{36}$/);
    assert.notEqual(second.examples["/users/{id} id"], madeId("nobody", 1));
    assert.notEqual(second.etag, first.etag);
    assert.deepEqual(await examplesOf(before, from), first);
  });

  it("are empty where nothing is visible, and words come from other names where one has none in Latin script", async () => {
    const { examples } = await examplesOf(await storeWith("", OWNER, false));
    assert.deepEqual(new Set(Object.values(examples)), new Set([undefined]));
    for (const name of ["★ !", "夜の街", "🌊"]) {
      const named = await examplesOf(await storeWith(name, OWNER));
      assert.equal(named.examples["/worlds/search q"], "World", name);
      assert.equal(named.examples["/worlds/{id} id"], NEWEST);
    }
    const { examples: all } = await examplesOf(await storeWith("夜の街", OWNER, "夜"));
    assert.equal(all["/worlds/search q"], "夜の街");
    const long = await examplesOf(await storeWith("x".repeat(100_000), OWNER));
    assert.equal(long.examples["/worlds/search q"], "x".repeat(40));
  });
});

describe("what is served", () => {
  it("leads from the root to the reference", async () => {
    const { status, headers, body } = await asked("/");
    assert.deepEqual([status, headers.get("location"), body.length], [302, "docs", 0]);
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
    const document = createOpenApi("50 a minute") as unknown as OpenApi;
    fillExamples(document, {} as ServedExamples);
    assert.equal(JSON.stringify(JSON.parse(body.toString("utf8"))), JSON.stringify(document));
    const without = await asked("/openapi.json", {}, opened("", { cors: false }));
    assert.doesNotMatch([...without.headers.keys()].join(), /access-control/);
  });

  it("says the server's own limit, under tags of its own", async () => {
    const other = opened("7 in 90 seconds");
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
    for (const path of ["/", "/docs", "/openapi.json"])
      assert.equal((await asked(path)).headers.get("cache-control"), "public, max-age=300");
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

  it("are OPTIONS, as for the API", async () => {
    for (const cors of [true, false]) {
      const from = opened("50 a minute", { cors });
      for (const path of ["/", "/docs", "/openapi.json", loaded[0]!]) {
        const { status, headers, body } = await asked(path, { method: "OPTIONS" }, from);
        assert.deepEqual([status, headers.get("allow"), body.length], [204, "GET, HEAD, OPTIONS", 0]);
        assert.equal(headers.has("access-control-allow-methods"), cors);
      }
    }
    assert.equal(await ask("/docs/nothing", { method: "OPTIONS" }), undefined);
  });

  it("are no others", async () => {
    for (const method of ["POST", "PUT", "DELETE", "PATCH", "TRACE"]) {
      for (const path of ["/", "/docs", "/openapi.json", loaded[0]!]) {
        const { status, headers, body } = await asked(path, { method });
        assert.deepEqual([status, headers.get("allow")], [405, "GET, HEAD, OPTIONS"]);
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
        for (const name of ["etag", "cache-control", "vary"])
          assert.equal(got.headers.get(name), headers.get(name), name);
        assert.equal(got.headers.has("content-length"), false);
      }
      for (const ifNoneMatch of ['"other"', "", tag.slice(1, -1), `${tag.slice(0, -1)}x"`, "nonsense"])
        assert.equal((await asked(path, { acceptEncoding, ifNoneMatch })).status, 200, ifNoneMatch);
      assert.equal((await asked(path, { acceptEncoding, ifMatch: tag })).status, 200);
      const failed = await asked(path, { acceptEncoding, ifMatch: `"other", W/${tag}` });
      assert.equal(failed.status, 412);
      assert.equal(failed.headers.get("cache-control"), "no-store");
    }
    assert.equal(tags.size, 2, "one tag for two contents");
    const [plain, gzip] = [...tags] as [string, string];
    assert.equal((await asked(path, { ifNoneMatch: gzip })).status, 200);
    assert.equal((await asked(path, { ifNoneMatch: plain, acceptEncoding: "gzip" })).status, 200);
    // A proxy that compressed the plain contents marked their tag.
    assert.equal((await asked(path, { ifNoneMatch: plain.replace(/"$/, '-gzip"') })).status, 304);
  }
});

describe("encodings", () => {
  it("are chosen as the client says", () => {
    for (const header of [
      ...["gzip", "GZIP", "gzip, deflate, br", "br;q=1.0, gzip;q=0.8, *;q=0.1", "*", "x-gzip"],
      ...["deflate,gzip ; q=1", "identity;q=0, gzip;q=0.1", "identity;q=0.5, gzip", "identity, gzip"],
    ])
      assert.equal(takesGzip(accepting(header).headers), true, header);
    for (const header of [
      ...[undefined, "", "identity", "br", "gzip;q=0", "*;q=0", "gzip;q=0, *", "identity;q=1, gzip;q=0.5"],
      ...["gzip;q=2", "gzip;q=x", "gzip;q=", "gzipped", "gzip;q=-1", ",,,", "gzip;q=0.0001"],
    ])
      assert.equal(takesGzip(accepting(header).headers), false, header);
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
