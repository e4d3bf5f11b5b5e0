/** The error of a bundle that lacks its thread's file names the missing file, and does not advise to reinstall. */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { place } from "./support/place.ts";

const LIBRARY = fileURLToPath(new URL("../src/mod.ts", import.meta.url));

test("a bundle without the file of the thread", async (t) => {
  const { folder, snapshot } = place(t);
  const outfile = join(folder, "bundle.mjs");
  const contents = `
    import { openOrrery } from ${JSON.stringify(LIBRARY)};
    for (const threads of [true, false]) {
      const opened = openOrrery({ snapshot: process.argv[2], keys: [], watch: 0, threads });
      console.log(await opened.then((orrery) => orrery.close(), ({ name, message }) => name + ": " + message));
    }
  `;
  await build({
    stdin: { contents, resolveDir: fileURLToPath(new URL(".", import.meta.url)) },
    outfile,
    bundle: true,
    format: "esm",
    platform: "node",
    logLevel: "error",
    // As in the build: others bundle its output.
    define: { IS_BUILT: "true" },
    banner: {
      js: 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);',
    },
  });
  const ran = spawnSync(process.execPath, [outfile, snapshot], { encoding: "utf8" });
  assert.equal(ran.stderr, "");
  const [threads, none] = ran.stdout.split("\n");
  assert.match(
    threads!,
    /^SnapshotError: \S+: the loading thread died: there is no \S+\/generation-thread\.mjs; a bundle needs /,
  );
  assert.match(threads!, /or the option threads: false$/);
  assert.doesNotMatch(threads!, /install/);
  assert.equal(none, "undefined");
});
