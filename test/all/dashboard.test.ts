/** The dashboard in a real browser, on a loaded server with two threads. */

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { BrowserContext, Page, Route } from "playwright-core";
import type { Status } from "../../src/admin/status.ts";
import { generateSnapshot } from "../../src/generate/generate.ts";
import { temporaryFolder } from "../support/folders.ts";
import { need } from "../support/need.ts";
import { keyRecord, writeKeys } from "../support/place.ts";
import { freePort } from "../support/ports.ts";
import { get, keepAlive, type Served, serve, until } from "../support/process.ts";
import { findNode, lacking, programOn } from "../support/runtimes.ts";
import { findBarriers, openPage, startBrowser, type Watched } from "./support/browser.ts";

/** Markup that reveals itself if it ever becomes elements; text that reverses its line; and a long name. */
const HOSTILE_NAMES = [
  `<img src=x onerror="window.wasRun=1"><script>window.wasRun=1</script>`,
  "\u202eمرحبا بالعالم\u2067 \u0000\u0007",
  "n".repeat(4000),
] as const;

const CRAWLER = "svc_sk_dashboard-crawler";
const LIMITED = "svc_sk_dashboard-limited";
const OTHERS = [0, 1, 2].map((at) => `svc_sk_dashboard-other-${at}`);

/** Makes a folder with a snapshot and keys. @param names of three keys: `key_other_0` to `key_other_2` */
async function makeFolder(names: readonly string[] = HOSTILE_NAMES) {
  const folder = temporaryFolder();
  const snapshot = join(folder, "snapshot");
  await generateSnapshot({ out: snapshot, users: 3000, worlds: 800, instances: 90, seed: 5, gzip: false });
  const keys = writeKeys(
    join(folder, "keys.json"),
    keyRecord(CRAWLER, { id: "key_crawler", name: "crawler", limit: 500_000 }),
    keyRecord(LIMITED, { id: "key_mobile", name: "mobile app", limit: 40 }),
    ...OTHERS.map((token, at) =>
      keyRecord(token, { id: `key_other_${at}`, name: names[at]!, limit: 20_000 * (at + 1) }),
    ),
  );
  return { folder, snapshot, keys };
}
type Folder = Awaited<ReturnType<typeof makeFolder>>;

/** Starts a server on a Node whose servers can share a port. */
const serveDashboard = ({ snapshot, keys }: Folder, args: readonly string[]): Promise<Served> =>
  serve(snapshot, keys, args, {}, programOn(node));

const SEARCHES = ["garden", "moon", "sea of", "night", "a", "station", "red", "quiet"];

/** Sends a few hundred requests a second of every kind, some of them refused, until it is told to stop. */
function startLoad(api: string): { readonly stop: () => Promise<void> } {
  const agent = keepAlive(8);
  let isOver = false;
  const request = (path: string, token: string, headers = {}): Promise<unknown> =>
    get(api + path, { token, agent, headers }).catch(() => {});
  async function work(worker: number): Promise<void> {
    for (let at = worker; !isOver; at++) {
      const word = encodeURIComponent(SEARCHES[at % SEARCHES.length]!);
      for (const path of [
        `/worlds?offset=${(at * 20) % 400}`,
        `/worlds/search?q=${word}`,
        "/stats",
        `/users/search?q=${word}`,
        "/worlds/popular?period=week",
        "/instances",
        "/worlds/00000000-0000-4000-8000-000000000000",
      ])
        await request(path, CRAWLER);
      await request("/worlds?limit=5", CRAWLER, { "if-none-match": "*" });
      if (at % 3 === 0) await request("/stats", LIMITED);
      await request("/stats", OTHERS[at % OTHERS.length]!);
      // A rate that varies like a day's, so that the charts show a wave.
      await sleep(12 + 10 * Math.sin(Date.now() / 9000));
    }
  }
  const workers = [0, 1, 2, 3].map((worker) => work(worker * 3));
  return {
    async stop() {
      isOver = true;
      await Promise.all(workers);
      agent.destroy();
    },
  };
}

const IMAGES = fileURLToPath(new URL("../../docs/images/", import.meta.url));
/** Whether to write images for the documents; takes a few minutes, to fill the charts. */
const TAKES_PICTURES = process.env.ORRERY_TEST_PICTURES === "1";
const PICTURE_MS = 90_000;
const MOST_PICTURE_BYTES = 200_000;
const MOST_PAGE_BYTES = 150_000;

const node = findNode(24);
const skip = need("chromium") || lacking(node);

const textOf = (page: Page, selector: string): Promise<string> => page.locator(selector).innerText();

const tile = (page: Page, name: string): Promise<string> =>
  textOf(page, `#tiles > div:has(dt:text-is("${name}")) .value`);

/** Waits until an element's text matches; on failure reports the last text. */
async function untilText(page: Page, selector: string, fits: RegExp): Promise<string> {
  let text = "";
  const looked = async (): Promise<boolean> => {
    text = await textOf(page, selector);
    return fits.test(text);
  };
  await until(looked, () => `${selector} to be ${fits}; it is ${JSON.stringify(text)}`);
  return text;
}

/** Makes the page ask at once, as it does when a network comes back. */
function askNow(page: Page): Promise<unknown> {
  return page.evaluate('dispatchEvent(new Event("online"))');
}

/** Makes the page ask, and answers in place of the server. */
async function answerWith(page: Page, answer: Parameters<Route["fulfill"]>[0]): Promise<void> {
  await page.route("**/status", (route) => route.fulfill(answer));
  await askNow(page);
}

/** Makes the page ask, and lets the server answer again. */
async function goOn(page: Page): Promise<void> {
  await page.unroute("**/status");
  await askNow(page);
  await untilText(page, "#state", /^Ready$/);
}

async function assertNoOverflow(page: Page, what = "the page"): Promise<void> {
  const overflow = await page.evaluate<number>("document.documentElement.scrollWidth - innerWidth");
  assert.ok(overflow <= 0, `${what}: ${overflow} px too wide`);
}

/** Asserts that a page fits and has no barriers, light and dark. @param look looks closer at each */
async function assertFits(page: Page, widths: readonly number[], look = async (): Promise<void> => {}) {
  for (const colorScheme of ["light", "dark"] as const) {
    for (const width of widths) {
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize({ width, height: 900 });
      await assertNoOverflow(page, `${width} px`);
      assert.deepEqual(await findBarriers(page), [], `${colorScheme}, ${width} px`);
      const broken = await page.evaluate<string[]>(`
        [...document.querySelectorAll("#explain label, main dt")]
          .filter((label) => {
            const text = document.createRange();
            text.selectNodeContents(label.firstChild);
            return text.getClientRects().length > 1;
          })
          .map((label) => label.textContent)`);
      assert.deepEqual(broken, [], "labels of several lines");
      await look();
    }
  }
}

describe("the dashboard", { skip }, () => {
  let folder: Folder;
  let server: Served;
  let url = "";
  let browser: BrowserContext;
  let load: ReturnType<typeof startLoad>;
  /** Opened once, and checked under load. */
  let watched: Watched;

  before(async () => {
    folder = await makeFolder();
    server = await serveDashboard(folder, ["--admin", "0", "--threads", "2", "--watch", "0"]);
    url = server.admin();
    browser = await startBrowser(folder.folder);
    load = startLoad(server.url);
    watched = await openPage(browser, url);
    await untilText(watched.page, "#state", /^Ready$/);
  });
  after(async () => {
    await load?.stop();
    await browser?.close();
    await server?.kill();
  });

  /** Opens another page beside the one that stays open. */
  async function withPage(
    use: (watched: Watched) => Promise<void>,
    { at = url, ignore = /^$/, isReady = true } = {},
  ): Promise<void> {
    const other = await openPage(browser, at, ignore);
    try {
      if (isReady) await untilText(other.page, "#state", /^Ready$/);
      await use(other);
      assert.deepEqual(other.complaints, []);
    } finally {
      await other.page.close();
    }
  }

  /** A test on another page of the server. */
  function itOnPage(what: string, use: (watched: Watched) => Promise<void>, ignore?: RegExp): void {
    it(what, () => withPage(use, { ignore }));
  }

  it("is one page of at most 150 kB that comes with a strict policy, and again only if it has changed", async () => {
    const reply = await fetch(url);
    assert.equal(reply.status, 200);
    const html = await reply.text();
    assert.ok(html.length < MOST_PAGE_BYTES, `${html.length} bytes`);
    assert.doesNotMatch(html, /(?:src|href)="(?!#|data:|status")/);
    const policy = reply.headers.get("content-security-policy")!;
    assert.match(policy, /default-src 'none'; script-src 'sha256-[^']+'; style-src 'sha256-[^']+';/);
    assert.doesNotMatch(policy, /unsafe|\*|https?:/);
    const again = await fetch(url, { headers: { "if-none-match": reply.headers.get("etag")! } });
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
    for (const [selector, what] of [
      [`#routes tr:has(th bdi:text-is("/stats")) td:nth-child(5)`, "more requests of a route"],
      [`#keys tr:has(bdi:text-is("crawler")) td:nth-child(2)`, "another rest of a key"],
    ] as const) {
      const before = await textOf(page, selector);
      await until(async () => (await textOf(page, selector)) !== before, what);
    }
    await untilText(page, `#keys tr:has(bdi:text-is("mobile app"))`, /\b0\s+40\s/);
    await untilText(page, "#requests-legend", /2xx answered\s*[1-9]/);
    await untilText(page, "#requests-legend", /3xx unchanged or redirected\s*[\d.]*[1-9]/);
    await untilText(page, "#rejected", /\d/);
    await untilText(page, "#search", /Hit rate\s+\d+(\.\d)?\s%/);
    assert.equal(await page.locator("#threads tr").count(), 3);
    assert.match(await tile(page, "Memory"), /^[\d.,]+\s[MG]B$/);
    assert.match(await textOf(page, "#loads > li:first-child"), /^loaded[\s\S]*reading [\s\S]*3,000\susers/);
    // The text alternative describes the drawing, too.
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
    await assertNoOverflow(page);
    // The later tests need no load.
    await load.stop();
  });

  itOnPage("has no barriers, light, dark or narrow", async ({ page }) => {
    await page.fill("#target", "/api/public/v1/worlds/search?q=garden");
    await page.press("#target", "Enter");
    await page.locator("#explained .verdict").waitFor();
    await page.click("#reload");
    await untilText(page, "#reload-result", /same as before/);
    await assertFits(page, [1280, 400]);
  });

  itOnPage("explains a request target", async ({ page }) => {
    await page.fill("#target", "/api/public/v1/worlds/search?q=%3Cscript%3Egarden&limit=5");
    await page.fill("#key", "key_other_0");
    await page.click("#explain button");
    await untilText(page, "#explained", /^Not refused[\s\S]*searchWorlds[\s\S]*terms/);
    const text = await textOf(page, "#explained");
    assert.ok(text.includes(HOSTILE_NAMES[0]), text);
    assert.match(text, /<script>garden/);
    await page.fill("#key", "");
    await page.fill("#target", "/api/public/v1/nothing");
    await page.press("#target", "Enter");
    await untilText(page, "#explained .verdict", /^404 Not found/);
  });

  itOnPage("reloads, and tells what became of it", async ({ page }) => {
    const worlds = join(folder.snapshot, "worlds.ndjson");
    const rows = readFileSync(worlds);
    await page.click("#reload");
    await untilText(page, "#reload-result", /^The snapshot is the same as before\. 5\skeys/);
    writeFileSync(worlds, `{"id":"<b>no id</b>"}\n${rows}`);
    try {
      await page.focus("#reload");
      await page.keyboard.press("Enter");
      await untilText(page, "#reload-result", /^The snapshot was refused[\s\S]*worlds\.ndjson/);
      assert.equal(await page.locator("#reload-result b").count(), 0);
      assert.equal(await page.evaluate("document.activeElement.id"), "reload");
      await untilText(page, "#loads > li:first-child", /^refused[\s\S]*worlds\.ndjson/);
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

  itOnPage("shows trouble first, and nothing cut off", async ({ page }) => {
    const status = JSON.parse((await server.askAdmin("status")).text) as Status;
    const ageSeconds = 20 * 86_400 + 23 * 3600;
    const since = new Date(Date.now() - 65_000).toISOString();
    const [key] = status.keys.busiest;
    const [slow, slower] = [
      { p50Ms: 1, p99Ms: 7 },
      { p50Ms: 1, p99Ms: 500 },
    ];
    const api = status.requests.routes.find(({ route }) => route === "/stats")!;
    const wrong = {
      ...status,
      ready: { ...status.ready, status: "stale", ageSeconds },
      problems: [
        { kind: "data-stale", since, message: "The snapshot is too old." },
        { kind: "limits-away", since, message: "<b>The counter server cannot be asked.</b>" },
      ],
      limits: { ...status.limits, shared: true, server: "away", since, losses: 3 },
      rounds: {
        ...{ lastSuccessAt: since, lastSeconds: 1.25, lastDetails: "7 rows, 1 of 2 worlds visible" },
        ...{ lastFailureAt: status.now, lastFailure: "PostgreSQL at db: <i>connection refused</i>" },
      },
      keys: {
        ...status.keys,
        busiest: [
          {
            ...key,
            id: "key_".padEnd(64, "0123456789"),
            passed: 3,
            lastUsedAt: status.now,
            refused: { ...key!.refused, rate_limited: 12, scope: 1 },
          },
        ],
      },
      requests: {
        ...status.requests,
        routes: [
          { ...api, route: "", recent: slower, perSecond: 1 },
          { ...api, recent: slow, perSecond: 2 },
        ],
      },
    };
    await answerWith(page, { json: wrong });
    for (const [selector, text] of [
      ["#problem-list", /^Data stale\s+for 1\smin[\s\S]*Limits away[\s\S]*<b>The counter/],
      ["#limits", /^The counter server of shared limits is away since [\d:]+, lost 3\stimes/],
      [
        "#rounds",
        /^The last round of the source succeeded 1\smin[^:]* ago, after [\d.,]+\s(ms|s): 7 rows, 1 of 2 worlds visible\. One failed 0\ss ago: PostgreSQL at db: <i>/,
      ],
      ["#routes tr:last-child th", /^other paths$/],
      ["#routes-table thead", /4xx, 5xx\s*$/],
      ["#keys .use", /^3 passed, 13 refused \(rate limited 12, scope 1\), last one 0\ss ago$/],
    ] as const)
      await untilText(page, selector, text);
    assert.equal(await textOf(page, "#problems-title"), "2\u00a0problems: Data stale, Limits away");
    assert.equal(await tile(page, "Data checked"), "20\u00a0d 23\u00a0h ago");
    assert.equal(await tile(page, "Slowest p99"), "7.00\u00a0ms", "of the API alone");
    await assertFits(page, [1280, 400], async () => {
      const cut = await page.evaluate<string[]>(`
        [...document.querySelectorAll("#tiles dd, #keys .id, #routes th, #problems li, #served code")]
          .filter((shown) => shown.scrollWidth > shown.clientWidth + 1 && getComputedStyle(shown).display !== "inline")
          .map((shown) => shown.textContent)`);
      assert.deepEqual(cut, []);
    });
    const top = async (selector: string): Promise<number> => (await page.locator(selector).boundingBox())!.y;
    assert.ok((await top("#problems")) < (await top("#pause")));
    assert.ok((await top("#problems")) < (await top("#tiles")));
  });

  itOnPage(
    "tells apart what is wrong with the server, and recovers",
    async ({ page, complaints }) => {
      await answerWith(page, { status: 503, json: { error: "<b>tired</b>" } });
      await untilText(page, "#trouble", /answers 503: <b>tired<\/b>\./);
      assert.equal(await page.locator("#trouble b").count(), 0);
      await goOn(page);
      // An answer of another version: the page only reports it.
      await answerWith(page, { json: { version: "9" } });
      await until(() => complaints.length > 0, "the error to be logged");
      await untilText(page, "#trouble", /does not fit/);
      assert.match(complaints.splice(0).join(), /TypeError/);
      await goOn(page);
      assert.equal(await page.locator("#trouble").isVisible(), false);
      complaints.splice(0);
    },
    /the server responded with a status of 503/,
  );

  it("survives a server that goes away and returns", async () => {
    const port = await freePort();
    const args = ["--admin", String(port), "--log-level", "info"];
    let other = await serveDashboard(folder, args);
    try {
      await withPage(
        async ({ page }) => {
          const about = await textOf(page, "#about");
          await other.kill();
          await untilText(page, "#state", /^No answer$/);
          assert.match(
            await textOf(page, "#trouble"),
            /does not answer[\s\S]*figures are those of \d\d:\d\d/,
          );
          await page.click("#reload");
          await untilText(page, "#reload-result", /^The server does not answer/);
          other = await serveDashboard(folder, args);
          await untilText(page, "#state", /^Ready$/);
          assert.notEqual(await textOf(page, "#about"), about);
          assert.equal(await page.locator("#trouble").isVisible(), false);
        },
        { at: other.admin(), ignore: /ERR_(CONNECTION|EMPTY|SOCKET)/ },
      );
    } finally {
      await other.kill();
    }
  });

  it("asks for the token where there is one, and keeps it to its tab", async () => {
    const secret = "an-admin-token-of-the-test";
    const file = join(folder.folder, "admin.token");
    writeFileSync(file, `${secret}\n`, { mode: 0o600 });
    const guarded = await serveDashboard(folder, ["--admin", "0", "--admin-token-file", file]);
    try {
      assert.equal((await fetch(guarded.admin())).status, 401);
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
        { at: guarded.admin(), ignore: /status of 401/, isReady: false },
      );
    } finally {
      await guarded.kill();
    }
  });

  it("takes pictures for the documents", {
    skip: !TAKES_PICTURES && "ORRERY_TEST_PICTURES is not set",
  }, async () => {
    const shown = await makeFolder(["partner site", "nightly report", "status page"]);
    const busy = await serveDashboard(shown, ["--admin", "0", "--threads", "2"]);
    const requests = startLoad(busy.url);
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
            const picture = await page.screenshot();
            writeFileSync(join(IMAGES, `dashboard-${name}.png`), picture);
            assert.ok(picture.length < MOST_PICTURE_BYTES, `${name}: ${picture.length} bytes`);
          }
        },
        { at: busy.admin() },
      );
    } finally {
      await requests.stop();
      await busy.kill();
    }
  });

  it("had nothing to complain of, and asked nobody else", async () => {
    assert.deepEqual(watched.complaints, []);
    assert.deepEqual([...watched.origins], [new URL(url).origin]);
  });
});
