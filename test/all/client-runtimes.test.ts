/** The built client on every runtime that it is for: Node, Bun, Deno, and a browser. */

import assert from "node:assert/strict";
import { execFile, execFileSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import { chromium } from "playwright-core";
import { openOrrery } from "../../src/mod.ts";
import { need } from "../support/need.ts";
import { findNode } from "../support/runtimes.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const CLIENT = join(ROOT, "dist/client.js");
const run = promisify(execFile);
const TOKEN = "svc_sk_of-the-runtimes";

/**
 * What each runtime runs: pages of one generation, an error, a wait, and an abort. It counts what it saw.
 * `call` gives it the client's module and the server's address.
 */
const PROGRAM = `
async function use({ createClient, ApiError, RateLimitError }, baseUrl) {
  const client = createClient({ baseUrl, token: ${JSON.stringify(TOKEN)}, maxWaitMs: 0 });
  let worlds = 0;
  for await (const world of client.worlds.list.all()) if (world.name !== "") worlds++;
  const { data: stats } = await client.stats();
  const missing = await client.users.get("nobody").catch((error) => error);
  const stranger = createClient({ baseUrl, token: "svc_sk_stranger" });
  const refused = await stranger.stats().catch((error) => error);
  const aborted = await client.stats({ signal: AbortSignal.abort("enough") }).catch((error) => error);
  const busy = await (async () => { for (;;) await client.stats(); })().catch((error) => error);
  return [
    worlds === stats.totalPublicWorlds,
    missing instanceof ApiError && missing.status === 404 && missing.message,
    refused.status,
    aborted,
    busy instanceof RateLimitError && busy.retryAfterMs > 0,
  ];
}
`;

const SEEN = [true, "User not found", 401, "enough", true];

describe("the built client", () => {
  const folder = mkdtempSync(join(tmpdir(), "orrery-client-"));
  let close = async (): Promise<void> => {};

  before(() => assert.ok(readFileSync(CLIENT).length > 0, "npm run build comes first"));
  after(() => rmSync(folder, { recursive: true }));

  /** A server with a key of its own, since each runtime uses its limit up; it also gives what a browser loads. */
  async function open(): Promise<string> {
    const orrery = await openOrrery({
      snapshot: join(ROOT, "data/sample"),
      keys: [{ id: "me", kind: "api", token: TOKEN, limit: 100, scopes: ["read:worlds", "read:users"] }],
    });
    const files: Record<string, [type: string, text: string]> = {
      "/": ["text/html", "<!doctype html><title>client</title>"],
      "/client.js": ["text/javascript", readFileSync(CLIENT, "utf8")],
    };
    const server = createServer({ requireHostHeader: false }, (request, response) => {
      const file = files[request.url!];
      if (file === undefined) return orrery.handle(request, response);
      response.writeHead(200, { "content-type": file[0] }).end(file[1]);
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    close = async () => {
      server.closeAllConnections();
      server.close();
      orrery.close();
    };
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  async function runOn(command: string, args: readonly string[]): Promise<void> {
    const origin = await open();
    try {
      const file = join(folder, "program.mjs");
      const call = `console.log(JSON.stringify(await use(await import(${JSON.stringify(CLIENT)}), "${origin}")));`;
      writeFileSync(file, PROGRAM + call);
      const { stdout } = await run(command, [...args, file]);
      assert.deepEqual(JSON.parse(stdout), SEEN);
    } finally {
      await close();
    }
  }

  for (const version of ["20.19.0", "24"]) {
    it(`runs on Node ${version}`, async (t) => {
      const node = findNode(version);
      if ("missing" in node) return t.skip(node.missing);
      await runOn(node.path, []);
    });
  }
  it("runs on Bun", { skip: need("bun") }, () => runOn("bun", ["run"]));
  it("runs on Deno", { skip: need("deno") }, () => runOn("deno", ["run", "--allow-net", "--allow-read"]));

  it("runs in a browser", { skip: need("chromium") }, async () => {
    const browser = await chromium.launchPersistentContext(join(folder, "profile"), {
      executablePath: execFileSync("sh", ["-c", "command -v chromium"], { encoding: "utf8" }).trim(),
      args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-quic"],
    });
    const origin = await open();
    try {
      const page = await browser.newPage();
      const complaints: string[] = [];
      page.on("pageerror", (error) => complaints.push(String(error)));
      await page.goto(origin);
      const call = `import("/client.js").then((client) => use(client, ""))`;
      assert.deepEqual(await page.evaluate(`(() => { ${PROGRAM} return ${call}; })()`), SEEN);
      assert.deepEqual(complaints, []);
    } finally {
      await browser.close();
      await close();
    }
  });

  it("is small, and imports nothing", () => {
    const code = readFileSync(CLIENT, "utf8");
    assert.ok(gzipSync(code, { level: 9 }).length <= 6000);
    assert.doesNotMatch(code, /\b(import|require)\b/);
  });
});
