/** A cache folder shared by processes: none removes a file that another has just begun to use. */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { snapshotOf } from "../support/copies.ts";
import { temporaryFolder } from "../support/folders.ts";
import { PATIENCE_MS, timeLeft, within } from "../support/patience.ts";
import { type Program, start, until } from "../support/process.ts";

const CHILD = fileURLToPath(new URL("../support/copies-child.ts", import.meta.url));
/** Enough files that another process can begin while they are removed. */
const UNWANTED = 3000;

const publishElsewhere = (place: string, generation: string): Program =>
  start([place, generation], {}, [process.execPath, "--import", "tsx", CHILD]);

const sha256Of = (bytes: string | Buffer): string => createHash("sha256").update(bytes).digest("hex");

/** Makes files that no copy uses, and, late in the folder's order, a file of a snapshot that will be wanted. */
function fill(place: string): { readonly wanted: string; readonly inFiles: () => number } {
  const folder = join(place, "files");
  mkdirSync(folder, { recursive: true });
  for (let n = 0; n < UNWANTED; n++) writeFileSync(join(folder, `${sha256Of(String(n))}-users.ndjson`), "x");
  for (let n = 0; ; n++) {
    const wanted = `wanted-${n}`;
    const { files } = snapshotOf(place, wanted);
    for (const [name, bytes] of files) writeFileSync(join(folder, `${sha256Of(bytes)}-${name}`), bytes);
    const names = readdirSync(folder);
    const at = names.indexOf(`${sha256Of(files.get("users.ndjson")!)}-users.ndjson`);
    if (at > UNWANTED / 2 || n === 50) return { wanted, inFiles: () => readdirSync(folder).length };
  }
}

describe("a cache folder of two processes", () => {
  it("keeps what one takes up while the other clears up", async (t) => {
    const place = join(temporaryFolder(t), "place");
    const { wanted, inFiles } = fill(place);
    const before = inFiles();
    const other = publishElsewhere(place, "first");
    // It now removes files that no copy uses, and does not know yet of the copy that is made here.
    const began = performance.now();
    while (inFiles() >= before - 4) {
      await nextTurn();
      assert.ok(timeLeft(began, PATIENCE_MS) > 0, "it never began to clear up");
    }
    const { copies, sent, manifest, bring } = snapshotOf(place, wanted);
    await copies.publish(sent, manifest, bring);
    const { status } = await within(other.ended, "the other process");
    assert.equal(status, 0, other.stderr());
    const copy = await copies.current();
    assert.equal(copy?.manifest.generation, wanted, "a file of the newest copy is gone");
  });

  it("goes on where one was killed while it cleared up", async (t) => {
    const place = join(temporaryFolder(t), "place");
    const { wanted, inFiles } = fill(place);
    const before = inFiles();
    const other = publishElsewhere(place, "first");
    await until(() => inFiles() < before - 4, "it clears up");
    other.child.kill("SIGKILL");
    await other.ended;
    const { copies, sent, manifest, bring } = snapshotOf(place, wanted);
    await copies.publish(sent, manifest, bring);
    assert.equal((await copies.current())?.manifest.generation, wanted);
    // The files of the two newest copies, which share three.
    assert.equal(inFiles(), 5);
  });
});
