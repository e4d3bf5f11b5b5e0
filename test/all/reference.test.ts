/** The reference page in a real browser, and its examples as programs. */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { promisify } from "node:util";
import type { BrowserContext, Page } from "playwright-core";
import { ROUTES } from "../../src/api/routes.ts";
import { temporaryFolder } from "../support/folders.ts";
import { need } from "../support/need.ts";
import { keyRecord, TOKEN, writeKeys } from "../support/place.ts";
import { get, type Served, serve } from "../support/process.ts";
import { ROOT } from "../support/program.ts";
import { authorize, findBarriers, openPage, startBrowser } from "./support/browser.ts";

const folder = temporaryFolder();
let server: Served;
let origin = "";

before(async () => {
  const keys = writeKeys(join(folder, "keys.json"), keyRecord(TOKEN));
  server = await serve(join(ROOT, "data/sample"), keys, ["--watch", "0"]);
  origin = new URL(server.url).origin;
});

describe("the reference page in a browser", { skip: need("chromium") }, () => {
  let browser: BrowserContext;
  const complaints: string[] = [];
  const hosts = new Set<string>();

  before(async () => {
    browser = await startBrowser(folder);
    await browser.addInitScript(`addEventListener("securitypolicyviolation", (violation) =>
      console.error("policy: " + violation.violatedDirective + " " + violation.blockedURI))`);
    browser.on("request", (request) => {
      const { protocol, host } = new URL(request.url());
      if (protocol !== "data:") hosts.add(host);
    });
  });
  after(() => browser?.close());

  async function open(path = "/docs", width = 1200, from = origin): Promise<Page> {
    const { page } = await openPage(browser, from + path, undefined, complaints);
    await page.setViewportSize({ width, height: 800 });
    await shown(page);
    return page;
  }

  async function shown(page: Page): Promise<void> {
    // Not a function in the page: that would take `eval`, which the page forbids.
    await page
      .locator(".opblock")
      .nth(ROUTES.length - 1)
      .waitFor();
  }

  const block = (name: string): string => `[id$="-${name}"].opblock`;

  /** Opens an operation and sends its request unchanged; returns the shown status and body. */
  async function send(page: Page, name: string): Promise<{ status: string; body: string }> {
    if ((await page.locator(`${block(name)}.is-open`).count()) === 0) {
      await page.click(`${block(name)} .opblock-summary-control`);
    }
    await page.click(`${block(name)} .execute`);
    const reply = page.locator(`${block(name)} .live-responses-table .response`);
    const body = await reply.locator(".highlight-code code, .highlight-code pre").first().innerText();
    const status = await reply.locator(".response-col_status").first().innerText();
    return { status: status.trim().split("\n")[0]!, body };
  }

  const overflow = (page: Page): Promise<number> =>
    page.evaluate("document.documentElement.scrollWidth - window.innerWidth");

  it("shows every operation, and the server's own address", async () => {
    const page = await open("/");
    assert.equal(page.url(), `${origin}/docs`);
    const paths = await page.locator(".opblock-summary-path").allInnerTexts();
    // Zero-width characters mark where a long path may break.
    assert.deepEqual(
      paths.map((path) => path.replaceAll("\u200b", "")).toSorted(),
      ROUTES.map(({ path }) => path.replace(":id", "{id}")).toSorted(),
    );
    const bases = await page.locator(".base").allInnerTexts();
    assert.ok(bases.length > 4);
    for (const base of bases) assert.equal(base || server.url, server.url);
    assert.equal(await page.locator(".info").count(), 0, "a second introduction");
    await page.close();
  });

  it("sends a request with the token that was typed in, which is kept nowhere", async () => {
    const page = await open();
    await authorize(page, TOKEN);
    const asked = page.waitForRequest((request) => request.url().includes("/api/public/v1/stats"));
    const { status, body } = await send(page, "getStats");
    assert.equal(status, "200");
    assert.ok(JSON.parse(body).data.totalPublicWorlds > 0, body);
    assert.equal((await asked).headers().authorization, `Bearer ${TOKEN}`);
    const world = await send(page, "getWorld");
    assert.equal(world.status, "200");
    assert.match(world.body, /"ownerId"/);
    const kept = await page.evaluate(
      "[document.cookie, location.href, JSON.stringify(localStorage), JSON.stringify(sessionStorage)].join()",
    );
    assert.doesNotMatch(String(kept), new RegExp(TOKEN));
    assert.deepEqual(await page.evaluate("indexedDB.databases()"), []);
    assert.equal(await overflow(page), 0);
    await page.close();
  });

  it("asks its own server where the document names a public address, which the curl line has", async (t) => {
    const keys = join(folder, "keys.json");
    const settings = ["--watch", "0", "--docs-url", "https://api.example.org/x"];
    const named = await serve(join(ROOT, "data/sample"), keys, settings);
    t.after(() => named.stop());
    const page = await open("/docs", 1200, new URL(named.url).origin);
    await authorize(page, TOKEN);
    assert.equal((await send(page, "getStats")).status, "200");
    const curl = await page.locator(`${block("getStats")} .curl-command`).innerText();
    assert.match(curl, /'https:\/\/api\.example\.org\/x\/api\/public\/v1\/stats'/);
    await page.close();
  });

  it("has no barriers, light and dark, whatever is opened and folded", async () => {
    const page = await open();
    await page.click(".auth-wrapper .authorize");
    const found: string[] = [];
    const look = async (): Promise<void> => {
      for (const colorScheme of ["light", "dark"] as const) {
        await page.emulateMedia({ colorScheme });
        found.push(...(await findBarriers(page)));
      }
    };
    await look();
    await page.fill('.modal-ux input[autocomplete="off"]', TOKEN);
    await page.click(".modal-ux .auth-btn-wrapper .authorize");
    found.push(...(await findBarriers(page)));
    await page.click(".modal-ux .btn-done");
    for (const name of ["searchWorlds", "getWorld"]) {
      await page.click(`${block(name)} .opblock-summary-control`);
      await page.locator(`${block(name)} .responses-table`).waitFor();
      assert.equal((await send(page, name)).status, "200");
    }
    await page.evaluate("for (const folded of document.querySelectorAll('details')) folded.open = true");
    await look();
    assert.deepEqual(found, []);
    await page.close();
  });

  it("fits a telephone", async () => {
    const page = await open("/docs", 400);
    assert.equal(await overflow(page), 0);
    await authorize(page, TOKEN);
    for (const name of ["searchWorlds", "getWorld", "listUserWorlds"]) {
      assert.equal((await send(page, name)).status, "200", name);
      assert.equal(await overflow(page), 0, name);
    }
    await page.close();
  });

  it("made no error and broke no policy, and nothing was loaded from elsewhere", () => {
    assert.deepEqual(complaints, []);
    for (const host of hosts) assert.match(host, /^127\.0\.0\.1:/);
  });
});

/** Text of HTML: tags removed, entities decoded. */
function textOf(html: string): string {
  const entities: Readonly<Record<string, string>> = { "&lt;": "<", "&gt;": ">", "&amp;": "&" };
  return html.replaceAll(/<[^>]*>/g, "").replaceAll(/&\w+;/g, (entity) => entities[entity] ?? entity);
}

describe("the page's examples", () => {
  /** An example by its language, with the address that a reader of the page sees. */
  async function example(language: string): Promise<string> {
    const html = await (await fetch(`${origin}/docs`)).text();
    const found = new RegExp(`<code id="${language}">([\\s\\S]*?)</code>`).exec(html);
    assert.ok(found !== null, language);
    const code = textOf(found[1]!).replaceAll("http://127.0.0.1:8787/api/public/v1", server.url);
    assert.ok(code.includes(server.url));
    return code;
  }

  const environment = { ...process.env, TOKEN };
  const run = promisify(execFile);

  /** The number of worlds and the name of the newest, in the examples' format. */
  async function worlds(): Promise<string> {
    const { data, pagination } = JSON.parse(
      (await get(`${server.url}/worlds?limit=1`, { token: TOKEN })).text,
    );
    return `${pagination.total} worlds, the newest: ${data[0].name}\n`;
  }

  it("run in a shell", { skip: need("curl", "sh") }, async () => {
    const { stdout } = await run("sh", ["-euc", await example("curl")], { cwd: folder, env: environment });
    assert.match(stdout, /^HTTP\/1\.1 200 OK\r\n/);
    assert.match(stdout, /"pagination":\{"total":\d+,"limit":5,"offset":0\}\}/);
    assert.match(stdout, /\{"data":\[\{"id":[\s\S]*"limit":20,"offset":0\}\}\n200\n304\n$/);
    assert.match(readFileSync(join(folder, "stats.json"), "utf8"), /^\{"data":\{"totalUsers":/);
  });

  it("run in Node", async () => {
    const file = join(folder, "example.mjs");
    writeFileSync(file, await example("javascript"));
    const { stdout } = await run(process.execPath, [file], { env: environment });
    assert.equal(stdout, await worlds());
  });

  it("run in Python", { skip: need("python3") }, async () => {
    const file = join(folder, "example.py");
    writeFileSync(file, await example("python"));
    const { stdout } = await run("python3", [file], { env: { ...environment, PYTHONIOENCODING: "utf8" } });
    assert.equal(stdout, await worlds());
  });
});
