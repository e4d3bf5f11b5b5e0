/** Commands that run the program, and import the library, in tests: the built program, as operators run it, or its sources. */

import assert from "node:assert/strict";
import { execFile, spawnSync } from "node:child_process";
import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { promisify } from "node:util";

/** The root of the tree; ends with a slash. */
export const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const SRC = join(ROOT, "src");
export const BUILT = join(ROOT, "dist/main.js");

export const BUILT_PROGRAM: readonly string[] = [BUILT];

export const SOURCE_PROGRAM: readonly string[] = [
  "--import",
  import.meta.resolve("tsx"),
  join(SRC, "main.ts"),
];

/** Whether `dist/` is newer than the newest change of a source; `npm test` builds it first. */
export function isBuilt(): boolean {
  if (!existsSync(BUILT)) return false;
  const built = statSync(BUILT).mtimeMs;
  return readdirSync(SRC, { recursive: true, withFileTypes: true }).every(
    (entry) => !entry.isFile() || statSync(join(entry.parentPath, entry.name)).mtimeMs <= built,
  );
}

const IS_BUILT = isBuilt();
if (!IS_BUILT)
  console.error(
    "dist/ is older than src/: processes of this test run the sources, which is slow; npm run build",
  );

/** Node's arguments for the program: built if up to date, which saves each process a second; else its sources. */
export const PROGRAM: readonly string[] = IS_BUILT ? BUILT_PROGRAM : SOURCE_PROGRAM;

/** The URL of the library, chosen likewise. Sources need a runner of TypeScript. */
export const LIBRARY: URL = IS_BUILT
  ? pathToFileURL(join(ROOT, "dist/mod.js"))
  : pathToFileURL(join(SRC, "mod.ts"));

/** Node's arguments for a program that imports it. */
export const LIBRARY_RUNNER: readonly string[] = IS_BUILT ? [] : ["--import", import.meta.resolve("tsx")];

/** The URL of the client, chosen likewise. */
export const CLIENT: URL = IS_BUILT
  ? pathToFileURL(join(ROOT, "dist/client.js"))
  : pathToFileURL(join(SRC, "client/mod.ts"));

/** A command from the environment, its words separated by spaces, to test in place of this Node and the program. */
const given = process.env.ORRERY_TEST_PROGRAM;

export const IS_GIVEN = given !== undefined;

/** The command that starts the program: a file and its first arguments. */
export const COMMAND = (given?.split(" ") ?? [process.execPath, ...PROGRAM]) as [string, ...string[]];

/** Runs the compiler, strictly. @returns its messages */
export function runTsc(args: readonly string[], cwd = ROOT): string {
  const tsc = join(ROOT, "node_modules/typescript/bin/tsc");
  const ran = spawnSync(process.execPath, [tsc, "--strict", ...args], { cwd, encoding: "utf8" });
  return ran.stdout + ran.stderr + (ran.status === 0 || ran.stdout !== "" ? "" : `status ${ran.status}`);
}

/** Packs the built files into a folder: a new build would remove them from tests that run at the same time. @returns the file */
export async function packInto(folder: string): Promise<string> {
  assert.ok(isBuilt() && existsSync(join(ROOT, "dist/types")), "dist/ is not up to date: npm run build");
  const args = ["pack", "--ignore-scripts", "--loglevel=error", "--pack-destination", folder];
  const { stdout } = await promisify(execFile)("npm", args, { cwd: ROOT });
  return join(folder, stdout.trim().split("\n").at(-1)!);
}
