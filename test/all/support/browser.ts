/** A real browser, and the serious accessibility barriers that axe finds on a page. */

import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { type BrowserContext, chromium, type Page } from "playwright-core";

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

export function startBrowser(folder: string): Promise<BrowserContext> {
  return chromium.launchPersistentContext(join(folder, "profile"), {
    executablePath: execFileSync("sh", ["-c", "command -v chromium"], { encoding: "utf8" }).trim(),
    args: [
      ...["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-quic"],
      // Screenshots of text compress better without coloured subpixels.
      "--disable-lcd-text",
    ],
    viewport: { width: 1280, height: 900 },
    colorScheme: "light",
  });
}
