/** A server with several threads and a dashboard, load on it, and a browser that looks at it. */

import { mkdtempSync, rmSync } from "node:fs";
import { Agent, get } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { BrowserContext, Page } from "playwright-core";
import { generateSnapshot } from "../../src/generate/generate.ts";
import { PATIENCE_MS } from "./patience.ts";
import { keyRecord, writeKeys } from "./place.ts";
import { served, start } from "./process.ts";
import { type FoundNode, programOn } from "./runtimes.ts";

/** Markup that would tell of itself, were it ever made into elements; text that turns its line around; and a long name. */
export const HOSTILE_NAMES = [
  `<img src=x onerror="window.wasRun=1"><script>window.wasRun=1</script>`,
  "\u202eمرحبا بالعالم\u2067 \u0000\u0007",
  "n".repeat(4000),
] as const;

const CRAWLER = "svc_sk_dashboard-crawler";
const LIMITED = "svc_sk_dashboard-limited";
const OTHERS = [0, 1, 2].map((at) => `svc_sk_dashboard-other-${at}`);

/** A folder with a snapshot and keys. */
export interface Folder {
  readonly folder: string;
  readonly snapshot: string;
  readonly keys: string;
  readonly remove: () => void;
}

/** Makes one. @param names of three keys: `key_other_0` to `key_other_2` */
export async function makeFolder(names: readonly string[] = HOSTILE_NAMES): Promise<Folder> {
  const folder = mkdtempSync(join(tmpdir(), "orrery-dashboard-"));
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
  return { folder, snapshot, keys, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

/** A server in a process of its own. */
export interface DashboardServer {
  /** Base URL of the API. */
  readonly api: string;
  /** URL of the dashboard; ends with a slash. */
  readonly admin: string;
  /** Ends it at once. */
  readonly kill: () => Promise<void>;
}

/** Starts one on a Node. */
export async function serveDashboard(
  node: FoundNode,
  { snapshot, keys }: Folder,
  args: readonly string[],
): Promise<DashboardServer> {
  const settings = ["serve", "--snapshot", snapshot, "--keys", keys, "--port", "0", ...args];
  const { child, ended, url, admin } = await served(start(settings, {}, programOn(node)));
  return {
    api: url,
    admin: admin(),
    async kill() {
      child.kill("SIGKILL");
      await ended;
    },
  };
}

const SEARCHES = ["garden", "moon", "sea of", "night", "a", "station", "red", "quiet"];

function request(api: string, path: string, token: string, agent: Agent, etag = ""): Promise<string> {
  const headers = { authorization: `Bearer ${token}`, ...(etag === "" ? {} : { "if-none-match": etag }) };
  return new Promise((resolve) => {
    get(api + path, { agent, headers }, (response) => {
      response.resume().once("end", () => resolve(String(response.headers.etag ?? "")));
    }).once("error", () => resolve(""));
  });
}

/** Requests of every kind, some of them refused, a few hundred a second, until it is told to stop. */
export function startLoad(api: string): { readonly stop: () => Promise<void> } {
  const agent = new Agent({ keepAlive: true, maxSockets: 8 });
  let isOver = false;
  async function work(worker: number): Promise<void> {
    let etag = "";
    for (let at = worker; !isOver; at++) {
      const word = encodeURIComponent(SEARCHES[at % SEARCHES.length]!);
      const paths = [
        `/worlds?offset=${(at * 20) % 400}`,
        `/worlds/search?q=${word}`,
        "/stats",
        `/users/search?q=${word}`,
        "/worlds/popular?period=week",
        "/instances",
        "/worlds/00000000-0000-4000-8000-000000000000",
      ];
      for (const path of paths) etag = (await request(api, path, CRAWLER, agent)) || etag;
      await request(api, "/worlds?limit=5", CRAWLER, agent, etag);
      if (at % 3 === 0) await request(api, "/stats", LIMITED, agent);
      await request(api, "/stats", OTHERS[at % OTHERS.length]!, agent);
      // With the wave of a day, so that there is something to see.
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

/** A page, and whatever was wrong with it. */
export interface Watched {
  readonly page: Page;
  /** Errors of scripts, messages of the console but those that `ignore` fits, and breaches of its policy. */
  readonly complaints: string[];
  /** Origins of all requests. */
  readonly origins: Set<string>;
}

/** Opens a page. @param ignore messages of the console that a test brings about */
export async function openPage(context: BrowserContext, url: string, ignore = /^$/): Promise<Watched> {
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  const complaints: string[] = [];
  const origins = new Set<string>();
  page.on("pageerror", (error) => complaints.push(String(error.stack)));
  page.on("console", (message) => {
    if (!ignore.test(message.text())) complaints.push(`${message.type()}: ${message.text()}`);
  });
  page.on("request", (sent) => {
    if (!sent.url().startsWith("data:")) origins.add(new URL(sent.url()).origin);
  });
  await page.goto(url);
  return { page, complaints, origins };
}
