/** The dashboard in a real browser, on a server with two threads and load on it. */

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import type { BrowserContext, Page } from "playwright-core";
import type { Status, TimelineReply } from "../../src/admin/status.ts";
import { findBarriers, startBrowser } from "../support/browser.ts";
import {
  type DashboardServer,
  HOSTILE_NAMES,
  makeFolder,
  openPage,
  serveDashboard,
  startLoad,
  type Watched,
} from "../support/dashboard.ts";
import { freePort } from "../support/free-port.ts";
import { need } from "../support/need.ts";
import { squeeze } from "../support/png.ts";
import { until } from "../support/process.ts";
import { findNode, lacking } from "../support/runtimes.ts";

const IMAGES = fileURLToPath(new URL("../../docs/images/", import.meta.url));
/** Writes pictures for the documents; takes a few minutes, so that there is something to see on them. */
const TAKES_PICTURES = process.env.ORRERY_TEST_PICTURES === "1";
const PICTURE_MS = 90_000;
const MOST_PICTURE_BYTES = 150_000;
const MOST_PAGE_BYTES = 150_000;

const node = findNode(24);
const skip = need("chromium") || lacking(node);

/** The text of an element, which must be there. */
function textOf(page: Page, selector: string): Promise<string> {
  return page.locator(selector).innerText();
}

/** The large figure that stands under a name. */
function tile(page: Page, name: string): Promise<string> {
  return textOf(page, `#tiles > div:has(dt:text-is("${name}")) .value`);
}

/** Waits until an element's text fits; tells what it was when it never does. */
async function untilText(page: Page, selector: string, fits: RegExp): Promise<string> {
  let text = "";
  const looked = async (): Promise<boolean> => {
    text = await page.locator(selector).innerText();
    return fits.test(text);
  };
  await until(looked, `${selector} to be ${fits}`).catch((error: Error) => {
    throw new Error(`${error.message}; it is ${JSON.stringify(text)}`);
  });
  return text;
}

/** Has the page ask without waiting for its turn, as it does when a network comes back. */
function askNow(page: Page): Promise<unknown> {
  return page.evaluate('dispatchEvent(new Event("online"))');
}

/** By how much the page is wider than the window. */
function overflow(page: Page): Promise<number> {
  return page.evaluate("document.documentElement.scrollWidth - innerWidth");
}

describe("the dashboard", { skip }, () => {
  let folder: Awaited<ReturnType<typeof makeFolder>>;
  let server: DashboardServer;
  let browser: BrowserContext;
  let load: ReturnType<typeof startLoad>;
  /** Opened once; looked at under load. */
  let watched: Watched;

  before(async () => {
    folder = await makeFolder();
    server = await serveDashboard(node, folder, ["--admin", "0", "--threads", "2", "--watch", "0"]);
    browser = await startBrowser(folder.folder);
    load = startLoad(server.api);
    watched = await openPage(browser, server.admin);
    await untilText(watched.page, "#state", /^Ready$/);
  });
  after(async () => {
    await load?.stop();
    await browser?.close();
    await server?.kill();
    folder?.remove();
  });

  /** A page beside the one that stays open. */
  async function withPage(
    use: (watched: Watched) => Promise<void>,
    { url = server.admin, ignore = /^$/ } = {},
  ): Promise<void> {
    const other = await openPage(browser, url, ignore);
    try {
      await use(other);
      assert.deepEqual(other.complaints, []);
    } finally {
      await other.page.close();
    }
  }

  it("is one page of at most 150 kB that comes with a strict policy, and again only if it has changed", async () => {
    const reply = await fetch(server.admin);
    assert.equal(reply.status, 200);
    const html = await reply.text();
    assert.ok(html.length < MOST_PAGE_BYTES, `${html.length} bytes`);
    assert.doesNotMatch(html, /(?:src|href)="(?!#|data:|status")/);
    const policy = reply.headers.get("content-security-policy")!;
    assert.match(policy, /default-src 'none'; script-src 'sha256-[^']+'; style-src 'sha256-[^']+';/);
    assert.doesNotMatch(policy, /unsafe|\*|https?:/);
    const again = await fetch(server.admin, { headers: { "if-none-match": reply.headers.get("etag")! } });
    assert.equal(again.status, 304);
  });

  it("shows live figures under load", async () => {
    const { page } = watched;
    const rate = (): Promise<number> => tile(page, "Requests / s").then((text) => Number.parseFloat(text));
    const first = await until(rate, "requests a second");
    await until(async () => (await rate()) !== first, "another rate");
    for (const route of ["/worlds", "/worlds/search", "/users/search", "/stats"]) {
      const row = `#routes tr:has(th bdi:text-is("${route}"))`;
      await untilText(page, row, /\d\sms\s+[\d.]+\sms/);
    }
    const requests = (): Promise<string> =>
      textOf(page, `#routes tr:has(th bdi:text-is("/stats")) td:nth-child(5)`);
    const before = await requests();
    await until(async () => (await requests()) !== before, "more requests of a route");
    const left = (): Promise<string> => textOf(page, `#keys tr:has(bdi:text-is("crawler")) td:nth-child(2)`);
    const remaining = await left();
    await until(async () => (await left()) !== remaining, "another rest of a key");
    await untilText(page, `#keys tr:has(bdi:text-is("mobile app"))`, /\b0\s+40\s/);
    await untilText(page, "#requests-legend", /2xx answered\s*[1-9]/);
    await untilText(page, "#requests-legend", /3xx unchanged, elsewhere\s*[\d.]*[1-9]/);
    await untilText(page, "#rejected", /\d/);
    await untilText(page, "#search", /Hit rate\s+\d+(\.\d)?\s%/);
    assert.equal(await page.locator("#threads tr").count(), 3);
    assert.match(await tile(page, "Memory"), /^[\d.,]+\s[MG]B$/);
    assert.match(await textOf(page, "#loads > li:first-child"), /^loaded[\s\S]*reading [\s\S]*3,000\susers/);
    // What is drawn is told, too.
    await until(
      async () => /2xx answered: now [1-9]/.test((await page.getAttribute("#requests-chart", "aria-label"))!),
      "a description of the chart",
    );
    for (const chart of ["requests", "latency", "memory", "delay"]) {
      assert.equal(await page.locator(`#${chart}-chart canvas`).count(), 1, chart);
    }
  });

  it("shows names as text, whatever is in them", async () => {
    const { page } = watched;
    for (const [at, name] of HOSTILE_NAMES.entries()) {
      const shown = page.locator(`#keys tr:has(bdi:text-is("key_other_${at}")) bdi`).first();
      await shown.waitFor();
      assert.equal(await shown.textContent(), name);
    }
    assert.equal(await page.locator("main img, main script, main a").count(), 0);
    assert.equal(await page.evaluate("window.wasRun"), undefined);
    assert.ok((await overflow(page)) <= 0);
    // What follows needs no more of it.
    await load.stop();
  });

  it("has no barriers, light, dark or narrow", async () => {
    await withPage(async ({ page }) => {
      await untilText(page, "#state", /^Ready$/);
      await page.fill("#target", "/api/public/v1/worlds/search?q=garden");
      await page.press("#target", "Enter");
      await page.locator("#explained .verdict").waitFor();
      await page.click("#reload");
      await untilText(page, "#reload-result", /same as before/);
      for (const [colorScheme, width] of [
        ["light", 1280],
        ["dark", 1280],
        ["light", 400],
      ] as const) {
        await page.emulateMedia({ colorScheme });
        await page.setViewportSize({ width, height: 900 });
        assert.deepEqual(await findBarriers(page), [], `${colorScheme}, ${width} px`);
        assert.ok((await overflow(page)) <= 0, `${width} px: ${await overflow(page)} px too wide`);
      }
    });
  });

  it("is reached whole by the keyboard", async () => {
    await withPage(async ({ page }) => {
      await untilText(page, "#state", /^Ready$/);
      const reached: string[] = [];
      for (;;) {
        await page.keyboard.press("Tab");
        const name = await page.evaluate<string>(
          "const { activeElement: at } = document; at === document.body ? '' : at.id || at.className",
        );
        // Behind the last one comes what is the browser's.
        if (name === "" || reached.includes(name)) break;
        reached.push(name);
      }
      assert.deepEqual(reached, ["skip", "pause", "reload", "target", "key", "primary"]);
      await page.focus("#target");
      await page.keyboard.type("/api/public/v1/stats");
      await page.keyboard.press("Enter");
      await untilText(page, "#explained .verdict", /^200 OK/);
      assert.equal(await page.evaluate("document.activeElement.id"), "target");
    });
  });

  it("explains a request target", async () => {
    await withPage(async ({ page }) => {
      await untilText(page, "#state", /^Ready$/);
      await page.fill("#target", "/api/public/v1/worlds/search?q=%3Cscript%3Egarden&limit=5");
      await page.fill("#key", "key_other_0");
      await page.click("#explain button");
      await untilText(page, "#explained", /^200 OK[\s\S]*searchWorlds[\s\S]*matches/);
      const text = await textOf(page, "#explained");
      assert.ok(text.includes(HOSTILE_NAMES[0]), text);
      assert.match(text, /<script>garden/);
      await page.fill("#key", "");
      await page.fill("#target", "/api/public/v1/nothing");
      await page.press("#target", "Enter");
      await untilText(page, "#explained .verdict", /^404 Not found/);
    });
  });

  it("reloads, and tells what became of it", async () => {
    const worlds = join(folder.snapshot, "worlds.ndjson");
    const rows = readFileSync(worlds);
    await withPage(async ({ page }) => {
      await untilText(page, "#state", /^Ready$/);
      await page.click("#reload");
      await untilText(page, "#reload-result", /^The snapshot is the same as before\. 5\skeys/);
      writeFileSync(worlds, `{"id":"<b>no id</b>"}\n${rows}`);
      try {
        await page.focus("#reload");
        await page.keyboard.press("Enter");
        await untilText(page, "#reload-result", /^The snapshot was refused[\s\S]*worlds\.ndjson/);
        assert.equal(await page.locator("#reload-result b").count(), 0);
        assert.equal(await page.evaluate("document.activeElement.id"), "reload");
        await untilText(page, "#loads > li:first-child", /^refused/);
        await page.click("#loads > li:first-child summary");
        await untilText(page, "#loads > li:first-child", /worlds\.ndjson/);
        await untilText(page, "#state", /^Ready, 1\sproblem$/);
        await untilText(page, "#problems", /Snapshot refused\s+for [\s\S]*worlds\.ndjson/);
      } finally {
        writeFileSync(worlds, rows);
      }
      await page.click("#reload");
      await untilText(page, "#reload-result", /(is served now|same as before)\./);
      await untilText(page, "#state", /^Ready$/);
      assert.equal(await page.locator("#problems").isVisible(), false);
    });
  });

  it("opens with the last minutes, which the server remembers", async () => {
    const past = await until(async () => {
      const reply = (await (await fetch(`${server.admin}history`)).json()) as TimelineReply;
      return reply.moments.length > 2 ? reply : undefined;
    }, "some moments");
    const most = Math.max(...past.moments.map(({ requests }) => requests.perSecondByStatus[200] ?? 0));
    assert.ok(most > 0);
    await withPage(async ({ page }) => {
      await untilText(page, "#state", /^Ready$/);
      const told = (await page.getAttribute("#requests-chart", "aria-label"))!;
      const [, drawn] = /2xx answered: now [\d.,]+, most ([\d.,]+)/.exec(told)!;
      // Other replies of these statuses are few.
      assert.ok(Number(drawn!.replace(",", "")) >= Math.floor(most), `${told}; the most was ${most}`);
    });
  });

  it("shows trouble first, and nothing cut off", async () => {
    await withPage(async ({ page }) => {
      await untilText(page, "#state", /^Ready$/);
      const status = (await (await fetch(`${server.admin}status`)).json()) as Status;
      const ageSeconds = 20 * 86_400 + 23 * 3600;
      const since = new Date(Date.now() - 65_000).toISOString();
      const [key] = status.keys.busiest;
      const wrong = {
        ...status,
        ready: { ...status.ready, status: "stale", ageSeconds },
        problems: [
          { kind: "data-stale", since, message: "The snapshot is too old." },
          { kind: "limits-away", since, message: "<b>The counter server cannot be asked.</b>" },
        ],
        limits: { ...status.limits, shared: true, server: "away", since, losses: 3 },
        keys: {
          ...status.keys,
          busiest: [
            {
              ...key,
              ...{ id: "key_".padEnd(64, "0123456789"), passed: 3, lastUsedAt: status.now },
              refused: { ...key!.refused, rate_limited: 12, scope: 1 },
            },
          ],
        },
        requests: { ...status.requests, routes: [{ ...status.requests.routes[0], route: "" }] },
      };
      await page.route("**/status", (route) => route.fulfill({ json: wrong }));
      await askNow(page);
      await untilText(
        page,
        "#problem-list",
        /^Data stale\s+for 1\smin[\s\S]*Limits away[\s\S]*<b>The counter/,
      );
      await untilText(
        page,
        "#limits",
        /^The counter server of shared limits is away since [\d:]+, lost 3\stimes/,
      );
      assert.equal(await textOf(page, "#problems-title"), "2\u00a0problems: Data stale, Limits away");
      assert.equal(await tile(page, "Data checked"), "20\u00a0d 23\u00a0h ago");
      assert.match(await textOf(page, "#routes th"), /^other paths$/);
      assert.match(
        await textOf(page, "#keys .use"),
        /^3 passed, 13 refused \(rate limited 12, scope 1\), last one 0\ss ago$/,
      );
      for (const colorScheme of ["light", "dark"] as const) {
        for (const width of [1600, 1280, 400]) {
          await page.emulateMedia({ colorScheme });
          await page.setViewportSize({ width, height: 900 });
          const cut = await page.evaluate<string[]>(`
            [...document.querySelectorAll("#tiles dd, #keys .id, #routes th, #problems li, #served code")]
              .filter((shown) => shown.scrollWidth > shown.clientWidth + 1 && getComputedStyle(shown).display !== "inline")
              .map((shown) => shown.textContent)`);
          assert.deepEqual(cut, [], `${width} px`);
          assert.ok((await overflow(page)) <= 0, `${width} px`);
          assert.deepEqual(await findBarriers(page), [], `${colorScheme}, ${width} px`);
        }
      }
      const sizes = await page.evaluate<number[]>(
        "[...document.querySelectorAll('#tiles .value')].map((shown) => parseFloat(getComputedStyle(shown).fontSize))",
      );
      assert.ok(Math.min(...sizes.slice(0, 4)) > Math.max(...sizes.slice(4)), String(sizes));
      const top = async (selector: string): Promise<number> =>
        (await page.locator(selector).boundingBox())!.y;
      assert.ok((await top("#problems")) < (await top("#pause")));
      assert.ok((await top("#problems")) < (await top("#tiles")));
    });
  });

  it("asks nothing while nobody looks, and at once when somebody does", async () => {
    await withPage(async ({ page }) => {
      await page.clock.install();
      await page.reload();
      await untilText(page, "#state", /^Ready$/);
      const hide = (isHidden: boolean): Promise<unknown> =>
        page.evaluate(`
          Object.defineProperty(document, "hidden", { value: ${isHidden}, configurable: true });
          document.dispatchEvent(new Event("visibilitychange"));`);
      let asked = 0;
      page.on("request", () => asked++);
      await page.clock.runFor(10_000);
      await until(() => asked > 0, "a question");
      await hide(true);
      // What was under way ends.
      await untilText(page, "#updated", /^Updated/);
      asked = 0;
      for (let at = 0; at < 10; at++) await page.clock.runFor(10_000);
      assert.equal(asked, 0);
      await hide(false);
      await until(() => asked > 0, "a question");
      await page.click("#pause");
      await untilText(page, "#updated", /^Paused/);
      await page.click("#pause");
      await untilText(page, "#updated", /^Updated/);
    });
  });

  it("stays usable with thousands of loads, of keys and of routes", async () => {
    await withPage(async ({ page }) => {
      await untilText(page, "#state", /^Ready$/);
      const status = (await (await fetch(`${server.admin}status`)).json()) as Status;
      const [key] = status.keys.busiest;
      const [some] = status.requests.routes;
      const many = {
        ...status,
        loads: Array.from({ length: 2000 }, (_, at) => ({
          ...status.loads[0]!,
          at: new Date(at * 1000).toISOString(),
          result: at % 2 === 0 ? "refused" : "loaded",
          problems: [`${"x".repeat(at === 0 ? 9000 : 99)}<i>${at}`],
        })),
        keys: {
          ...status.keys,
          busiest: Array.from({ length: 100 }, (_, at) => ({
            ...key,
            id: `k${at}`,
            name: "<u>".repeat(500),
          })),
        },
        requests: {
          ...status.requests,
          routes: Array.from({ length: 50 }, (_, at) => ({ ...some, route: `/${at}` })),
        },
      };
      await page.route("**/status", (route) => route.fulfill({ json: many }));
      await askNow(page);
      await until(async () => (await page.locator("#keys tr").count()) === 100, "all keys");
      assert.equal(await page.locator("#loads > li").count(), 5);
      await page.click("#more-loads");
      assert.equal(await page.locator("#loads > li").count(), 2000);
      await page.click("#more-loads");
      assert.equal(await page.locator("#loads > li").count(), 5);
      await page.setViewportSize({ width: 400, height: 900 });
      assert.ok((await overflow(page)) <= 0);
      assert.equal(await page.locator("main :is(i, u)").count(), 0);
    });
  });

  it("tells apart what is wrong with the server, and recovers", async () => {
    const context = await openPage(
      browser,
      server.admin,
      /the server responded with a status of (503|200)|ERR_/,
    );
    const { page, complaints } = context;
    try {
      await untilText(page, "#state", /^Ready$/);
      const answers: [RegExp, object][] = [
        [/answers 503: <b>tired<\/b>\./, { status: 503, json: { error: "<b>tired</b>" } }],
        [/answers with something that this page does not know/, { status: 200, body: "<!doctype html>" }],
        [/leads elsewhere/, { status: 302, headers: { location: "/elsewhere" } }],
      ];
      for (const [told, answer] of answers) {
        await page.route("**/status", (route) => route.fulfill(answer));
        await askNow(page);
        await untilText(page, "#trouble", told);
        assert.equal(await page.locator("#trouble b").count(), 0);
        await page.unroute("**/status");
        await askNow(page);
        await untilText(page, "#state", /^Ready$/);
      }
      // Of another version: told, and no more.
      await page.route("**/status", (route) => route.fulfill({ json: { version: "9" } }));
      await askNow(page);
      await until(() => complaints.length > 0, "the error to be logged");
      await untilText(page, "#trouble", /does not fit/);
      assert.match(complaints.splice(0).join(), /TypeError/);
      await page.unroute("**/status");
      await askNow(page);
      await untilText(page, "#state", /^Ready$/);
      assert.equal(await page.locator("#trouble").isVisible(), false);
      complaints.splice(0);
    } finally {
      await page.close();
    }
  });

  it("says when an answer is late, and takes the next", async () => {
    const page = await browser.newPage();
    try {
      await page.clock.install();
      await page.goto(server.admin);
      await untilText(page, "#state", /^Ready$/);
      let held = 0;
      await page.route("**/status", () => {
        held++;
      });
      await until(async () => {
        await page.clock.runFor(500);
        return held > 0;
      }, "a question");
      await until(async () => {
        await page.clock.runFor(1000);
        return page.locator("#trouble").isVisible();
      }, "the trouble");
      assert.match(await textOf(page, "#trouble"), /did not answer within 10\ss/);
      await page.unroute("**/status");
      await until(async () => {
        await page.clock.runFor(1000);
        return (await textOf(page, "#state")) === "Ready";
      }, "the next answer");
    } finally {
      await page.close();
    }
  });

  it("survives a server that goes away and returns", async () => {
    const port = await freePort();
    const args = ["--admin", String(port), "--log-level", "info"];
    let other = await serveDashboard(node, folder, args);
    try {
      await withPage(
        async ({ page }) => {
          await untilText(page, "#state", /^Ready$/);
          const about = await textOf(page, "#about");
          await other.kill();
          await untilText(page, "#state", /^No answer$/);
          assert.match(
            await textOf(page, "#trouble"),
            /does not answer[\s\S]*figures are those of \d\d:\d\d/,
          );
          await page.click("#reload");
          await untilText(page, "#reload-result", /^The server does not answer/);
          other = await serveDashboard(node, folder, args);
          await untilText(page, "#state", /^Ready$/);
          assert.notEqual(await textOf(page, "#about"), about);
          assert.equal(await page.locator("#trouble").isVisible(), false);
        },
        { url: other.admin, ignore: /ERR_(CONNECTION|EMPTY|SOCKET)/ },
      );
    } finally {
      await other.kill();
    }
  });

  it("asks for the token where there is one, and keeps it to its tab", async () => {
    const secret = "an-admin-token-of-the-test";
    const file = join(folder.folder, "admin.token");
    writeFileSync(file, `${secret}\n`, { mode: 0o600 });
    const guarded = await serveDashboard(node, folder, ["--admin", "0", "--admin-token-file", file]);
    try {
      assert.equal((await fetch(guarded.admin)).status, 401);
      await withPage(
        async ({ page }) => {
          const urls: string[] = [];
          page.on("request", (sent) => urls.push(sent.url()));
          await page.locator("#token").waitFor();
          assert.equal(await page.evaluate("document.activeElement.id"), "token");
          assert.equal(await page.locator("main").isVisible(), false);
          assert.deepEqual(await findBarriers(page), []);
          await page.keyboard.type("another-token");
          await page.keyboard.press("Enter");
          await untilText(page, "#token-problem", /refused/);
          assert.equal(await page.evaluate("sessionStorage.length"), 0);
          await page.fill("#token", secret);
          await page.press("#token", "Enter");
          await untilText(page, "#state", /^Ready$/);
          assert.equal(await page.evaluate("scrollY"), 0);
          await page.click("#reload");
          await untilText(page, "#reload-result", /same as before/);
          await page.reload();
          await untilText(page, "#state", /^Ready$/);
          assert.equal(await page.evaluate("JSON.stringify(localStorage) + document.cookie"), "{}");
          await page.click("#forget");
          await page.locator("#token").waitFor();
          assert.equal(await page.evaluate("sessionStorage.length"), 0);
          await page.reload();
          await page.locator("#token").waitFor();
          for (const url of urls) assert.ok(!url.includes(secret), url);
        },
        { url: guarded.admin, ignore: /status of 401/ },
      );
    } finally {
      await guarded.kill();
    }
  });

  it("takes pictures for the documents", {
    skip: !TAKES_PICTURES && "ORRERY_TEST_PICTURES is not set",
  }, async () => {
    const shown = await makeFolder(["partner site", "nightly report", "status page"]);
    const busy = await serveDashboard(node, shown, ["--admin", "0", "--threads", "2"]);
    const requests = startLoad(busy.api);
    try {
      await withPage(
        async ({ page }) => {
          await page.waitForTimeout(PICTURE_MS);
          for (const [name, colorScheme, width, height] of [
            ["light", "light", 1200, 930],
            ["dark", "dark", 1200, 930],
            ["narrow", "light", 400, 900],
          ] as const) {
            await page.emulateMedia({ colorScheme });
            await page.setViewportSize({ width, height });
            await page.waitForTimeout(3000);
            const picture = squeeze(await page.screenshot());
            writeFileSync(join(IMAGES, `dashboard-${name}.png`), picture);
            assert.ok(picture.length < MOST_PICTURE_BYTES, `${name}: ${picture.length} bytes`);
          }
        },
        { url: busy.admin },
      );
    } finally {
      await requests.stop();
      await busy.kill();
      shown.remove();
    }
  });

  it("had nothing to complain of, and asked nobody else", async () => {
    assert.deepEqual(watched.complaints, []);
    assert.deepEqual([...watched.origins], [new URL(server.admin).origin]);
  });
});
