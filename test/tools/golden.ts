/**
 * Rebuilds the golden prepared snapshot of this format version from the rows beside it:
 *
 *     npx tsx test/tools/golden.ts
 *
 * The file of a released version never changes: raise the version first.
 */

import { mkdirSync, writeFileSync } from "node:fs";
import { buildPrepared } from "../../src/server/load/build-prepared.ts";
import { LAYOUT, PREPARED_VERSION } from "../../src/snapshot/prepared/layout.ts";

const folder = new URL("../golden/", import.meta.url).pathname;
const to = `${folder}prepared-${PREPARED_VERSION}`;
mkdirSync(to, { recursive: true });
const built = await buildPrepared(`${folder}rows`, to);
if (!built.ok) throw new Error(built.problems.join("\n"));
writeFileSync(`${to}/layout.txt`, Array.from(LAYOUT, ([path, type]) => `${path} ${type}\n`).join(""));
