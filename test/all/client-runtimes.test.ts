/** The packed client on each of its runtimes: Node, Bun, Deno, and a browser. */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, describe, it, type TestContext } from "node:test";
import { promisify } from "node:util";
import { openOrrery } from "../../src/mod.ts";
import { temporaryFolder } from "../support/folders.ts";
import { need } from "../support/need.ts";
import { serveHttp } from "../support/ports.ts";
import { packInto, ROOT } from "../support/program.ts";
import { findNode } from "../support/runtimes.ts";
import { openPage, startBrowser } from "./support/browser.ts";

const run = promisify(execFile);
const TOKEN = "svc_sk_of-the-runtimes";

/**
 * The program for each runtime: pages of one generation, a part of them, headers, errors, a wait, and aborts. It counts results.
 * `call` passes it the client's module and the server's address.
 */
const PROGRAM = `
async function use({ createClient, ApiError, RateLimitError }, baseUrl) {
  const token = ${JSON.stringify(TOKEN)};
  const heads = [];
  const client = createClient({ baseUrl, token, maxWaitMs: 0, onResponse: (head) => heads.push(head) });
  const collect = async (items) => { const all = []; for await (const item of items) all.push(item.id); return all; };
  const failure = async (run) => { try { return await run(); } catch (error) { return error; } };
  const { data: stats } = await client.stats();
  const { url, status, headers } = heads[0];
  const worlds = await collect(client.worlds.list.all());
  const rest = await collect(client.worlds.list.all({ offset: 60 }));
  const missing = await failure(() => client.users.get("nobody"));
  const refused = await failure(() => createClient({ baseUrl, token: "svc_sk_stranger" }).stats());
  const wrong = await failure(() => client.worlds.get("\\ud800"));
  const aborted = await failure(() => client.stats({ signal: AbortSignal.abort("enough") }));
  const late = createClient({ baseUrl, token, fetch: async () => new Response("", { status: 503, headers: { "retry-after": "50" } }) });
  const controller = new AbortController();
  setTimeout(() => controller.abort("late"), 20);
  const ended = await failure(() => late.stats({ signal: controller.signal }));
  const busy = await failure(async () => { for (;;) await client.stats(); });
  return [
    new URL(url).pathname,
    status,
    headers.get("x-ratelimit-remaining"),
    /^"[^"]+"$/.test(headers.get("etag")),
    worlds.length === stats.totalPublicWorlds && String(rest) === String(worlds.slice(60)),
    missing instanceof ApiError && missing.status === 404 && missing.message,
    refused.status,
    wrong instanceof TypeError,
    aborted,
    ended,
    busy instanceof RateLimitError && busy.retryAfterMs > 0 && heads.at(-1).status,
  ];
}
`;

const SEEN = [
  "/api/public/v1/stats",
  200,
  "99",
  true,
  true,
  "User not found",
  401,
  true,
  "enough",
  "late",
  429,
];

describe("the packed client", () => {
  const folder = temporaryFolder();
  const installed = join(folder, "node_modules/orrery");
  const CLIENT = join(installed, "dist/client.js");

  before(async () => {
    mkdirSync(installed, { recursive: true });
    writeFileSync(join(folder, "package.json"), '{ "type": "module", "dependencies": { "orrery": "*" } }');
    const packed = await packInto(folder);
    await run("tar", ["-xzf", packed, "-C", installed, "--strip-components=1"]);
  });

  /** A server with a key of its own, since each runtime uses up its limit; it also serves the browser's files. */
  async function open(t: TestContext): Promise<string> {
    const orrery = await openOrrery({
      snapshot: join(ROOT, "data/sample"),
      keys: [{ id: "me", kind: "api", token: TOKEN, limit: 100, scopes: ["read:worlds", "read:users"] }],
    });
    const files: Record<string, [type: string, text: string]> = {
      "/": ["text/html", "<!doctype html><title>client</title>"],
      "/client.js": ["text/javascript", readFileSync(CLIENT, "utf8")],
    };
    t.after(() => orrery.close());
    return await serveHttp(t, (request, response) => {
      const file = files[request.url!];
      if (file === undefined) return orrery.handle(request, response);
      response.writeHead(200, { "content-type": file[0] }).end(file[1]);
    });
  }

  async function runOn(t: TestContext, command: string, args: readonly string[]): Promise<void> {
    const origin = await open(t);
    const file = join(folder, "program.mjs");
    const call = `console.log(JSON.stringify(await use(await import("orrery/client"), "${origin}")));`;
    writeFileSync(file, PROGRAM + call);
    const { stdout } = await run(command, [...args, file], { cwd: folder });
    assert.deepEqual(JSON.parse(stdout), SEEN);
  }

  for (const version of ["20.19.0", "24"]) {
    it(`runs on Node ${version}`, async (t) => {
      const node = findNode(version);
      if ("missing" in node) return t.skip(node.missing);
      await runOn(t, node.path, []);
    });
  }
  it("runs on Bun", { skip: need("bun") }, (t) => runOn(t, "bun", ["run"]));
  it("runs on Deno", { skip: need("deno") }, (t) => runOn(t, "deno", ["run", "--allow-net", "--allow-read"]));

  for (const [name, host, base] of [
    ["runs in a browser", "127.0.0.1", ""],
    ["runs in a page of another origin, which sees the headers too", "localhost", "http://127.0.0.1"],
  ] as const) {
    it(name, { skip: need("chromium") }, async (t) => {
      const browser = await startBrowser(join(folder, host));
      const { port } = new URL(await open(t));
      try {
        const { page, complaints } = await openPage(browser, `http://${host}:${port}`, /status of/);
        const call = `import("/client.js").then((client) => use(client, "${base && `${base}:${port}`}"))`;
        assert.deepEqual(await page.evaluate(`(() => { ${PROGRAM} return ${call}; })()`), SEEN);
        assert.deepEqual(complaints, []);
      } finally {
        await browser.close();
      }
    });
  }

  it("imports nothing", () => assert.doesNotMatch(readFileSync(CLIENT, "utf8"), /\b(import|require)\b/));
});
