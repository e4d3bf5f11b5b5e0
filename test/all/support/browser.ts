/** A real browser, what its pages say and ask, and the serious accessibility barriers that axe finds on a page. */

import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { type BrowserContext, chromium, type Page } from "playwright-core";
import { PATIENCE_MS } from "../../support/patience.ts";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Violations that axe rates serious or critical. */
export async function findBarriers(page: Page): Promise<string[]> {
  await page.evaluate(AXE);
  const { violations } = (await page.evaluate("axe.run()")) as {
    violations: { id: string; impact: string; nodes: { html: string }[] }[];
  };
  return violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(({ id, impact, nodes }) => `${impact} ${id}: ${nodes.map(({ html }) => html).join(" ")}`);
}

export async function startBrowser(folder: string): Promise<BrowserContext> {
  const browser = await chromium.launchPersistentContext(join(folder, "profile"), {
    executablePath: execFileSync("sh", ["-c", "command -v chromium"], { encoding: "utf8" }).trim(),
    args: [
      ...["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-quic"],
      // Screenshots of text compress better without coloured subpixels.
      "--disable-lcd-text",
    ],
    viewport: { width: 1280, height: 900 },
    colorScheme: "light",
  });
  browser.setDefaultTimeout(PATIENCE_MS);
  return browser;
}

export type Watched = Awaited<ReturnType<typeof openPage>>;

/**
 * Opens a page. @param ignore matches messages of the console that a test causes
 * @param complaints gets errors of scripts, and messages of the console that do not match `ignore`
 */
export async function openPage(
  browser: BrowserContext,
  url: string,
  ignore = /^$/,
  complaints: string[] = [],
) {
  const page = await browser.newPage();
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

/** Gives the reference page a token. */
export async function authorize(page: Page, token: string): Promise<void> {
  await page.click(".auth-wrapper .authorize");
  await page.getByLabel("Token", { exact: true }).fill(token);
  await page.click(".modal-ux .auth-btn-wrapper .authorize");
  await page.click(".modal-ux .btn-done");
}
