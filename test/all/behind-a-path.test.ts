/** A real browser: pages behind a path of nginx, and pages of other origins that ask the API with the headers of their libraries. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import type { BrowserContext, Page } from "playwright-core";
import { BASE_PATH } from "../../src/model/model.ts";
import { temporaryFolder } from "../support/folders.ts";
import { need } from "../support/need.ts";
import { keyRecord, TOKEN, writeKeys } from "../support/place.ts";
import { serveHttp } from "../support/ports.ts";
import { type Served, serve } from "../support/process.ts";
import { authorize, openPage, startBrowser } from "./support/browser.ts";
import { startNginx } from "./support/proxies.ts";

/** What widespread libraries add to the requests of a page. */
const ADDED: Readonly<Record<string, Record<string, string>>> = {
  OpenTelemetry: {
    traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
    tracestate: "a=b",
    baggage: "userId=alice",
  },
  "a crawl": { "if-match": '"other"' },
  "nobody yet": { "x-made-up-by-its-author": "1" },
};

describe("in Chromium", { skip: need("chromium", "nginx") }, () => {
  const folder = temporaryFolder();
  const keys = writeKeys(join(folder, "keys.json"), keyRecord(TOKEN));
  let server: Served;
  let browser: BrowserContext;
  const complaints: string[] = [];

  before(async () => {
    server = await serve("data/sample", keys, ["--watch", "0", "--admin", "127.0.0.1:0"]);
    browser = await startBrowser(folder);
  });
  after(() => browser?.close());

  const open = async (url: string): Promise<Page> =>
    (await openPage(browser, url, undefined, complaints)).page;

  describe("behind the paths of a proxy", () => {
    let origin: string;
    const ends: (() => Promise<void>)[] = [];
    after(() => Promise.all(ends.map((end) => end())));
    before(async () => {
      const nginx = await startNginx(
        { after: (done) => ends.push(done) },
        join(folder, "nginx"),
        `location /orrery/ { proxy_pass http://127.0.0.1:${server.port}/; }
         location /operators/ { proxy_pass ${server.admin()}; }`,
      );
      ({ origin } = new URL(nginx.url));
    });

    it("the reference page is found, and sends its requests below that path", async () => {
      const page = await open(`${origin}/orrery/`);
      assert.equal(page.url(), `${origin}/orrery/docs`);
      await page.locator(".opblock").first().waitFor();
      await authorize(page, TOKEN);
      const block = '[id$="-getStats"].opblock';
      await page.click(`${block} .opblock-summary-control`);
      const reply = page.waitForResponse((response) => response.url().endsWith("/stats"));
      await page.click(`${block} .execute`);
      assert.equal((await reply).url(), `${origin}/orrery${BASE_PATH}/stats`);
      assert.equal((await reply).status(), 200);
      await page.close();
    });

    it("the dashboard shows the server", async () => {
      const page = await open(`${origin}/operators/`);
      await page.getByText(server.generation).first().waitFor();
      await page.close();
    });
  });

  for (const [library, headers] of Object.entries(ADDED)) {
    it(`a page of another origin asks with the headers of ${library}, and reads the limit`, async (t) => {
      const elsewhere = await serveHttp(t, (_request, response) => {
        response.setHeader("content-type", "text/html").end("<!doctype html><title>elsewhere</title>");
      });
      const page = await open(elsewhere);
      const all = JSON.stringify({ authorization: `Bearer ${TOKEN}`, ...headers });
      const reply =
        (await page.evaluate(`fetch(${JSON.stringify(`${server.url}/worlds`)}, { headers: ${all} })
        .then((reply) => [reply.status, Number(reply.headers.get("x-ratelimit-remaining")) > 0, reply.headers.get("etag")])`)) as [
          number,
          boolean,
          string,
        ];
      assert.deepEqual(reply, ["if-match" in headers ? 412 : 200, true, `"${server.generation}"`]);
      await page.close();
    });
  }

  it("and nothing had reason to complain", () => {
    // Chromium reports each status of 400 or more in the console.
    assert.deepEqual(
      complaints.filter((text) => !/status of 412/.test(text)),
      [],
    );
  });
});
