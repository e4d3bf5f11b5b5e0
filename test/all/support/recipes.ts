/** A project with the programs that embed orrery, and with the package in its published form. */

import { execFile } from "node:child_process";
import { cpSync, existsSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { unavailable } from "../../support/need.ts";
import { packInto, ROOT } from "../../support/program.ts";

export const TOOLS = join(ROOT, "tools/recipes");
export const EXAMPLES = join(ROOT, "docs/examples");
export const run = promisify(execFile);

/** Those programs are installed separately. */
export const lacksRecipes =
  !existsSync(join(TOOLS, "node_modules")) &&
  unavailable("tools/recipes is not installed: npm install --no-save --prefix tools/recipes");

/** Makes the project in a folder. @returns its path; the examples are in `examples` */
export async function installRecipes(folder: string): Promise<string> {
  const place = join(folder, "project");
  cpSync(TOOLS, place, { recursive: true, verbatimSymlinks: true });
  cpSync(EXAMPLES, join(place, "examples"), { recursive: true });
  const quiet = ["--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"];
  const packed = await packInto(folder);
  await run("npm", ["install", "--no-save", "--prefer-offline", ...quiet, packed], { cwd: place });
  return place;
}
