/** What runs the command line in tests: the built program, as operators do, its sources, or what a variable names. */

import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const SRC = join(ROOT, "src");
const BUILT = join(ROOT, "dist/main.js");

/** Node's arguments for the sources. */
export const SOURCE_PROGRAM: readonly string[] = ["--import", "tsx", join(SRC, "main.ts")];

/** Whether `dist/` was made after the newest change of a source; `npm test` sees to that first. */
function isBuilt(): boolean {
  if (!existsSync(BUILT)) return false;
  const built = statSync(BUILT).mtimeMs;
  return readdirSync(SRC, { recursive: true, withFileTypes: true }).every(
    (entry) => !entry.isFile() || statSync(join(entry.parentPath, entry.name)).mtimeMs <= built,
  );
}

/** Node's arguments for the program: built if it is up to date, which saves each process a second; else its sources. */
export const PROGRAM: readonly string[] = isBuilt() ? [BUILT] : SOURCE_PROGRAM;

/** A command in the environment, its words apart by spaces, that is to be tested in the place of this Node and the program. */
const given = process.env.ORRERY_TEST_PROGRAM;

/** Whether the program of the tests is one that was named. */
export const IS_GIVEN = given !== undefined;

/** What starts the program: a file and its first arguments. */
export const COMMAND = (given?.split(" ") ?? [process.execPath, ...PROGRAM]) as [string, ...string[]];
