/** Loads in real processes: a thread whose heap runs out, and a program that closes during a load. */

import assert from "node:assert/strict";
import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { id, user, writeSnapshot } from "../support/folders.ts";
import { within } from "../support/patience.ts";
import { keyRecord, place, TOKEN, writeKeys } from "../support/place.ts";
import { type Command, get, serve, start } from "../support/process.ts";
import { LIBRARY, LIBRARY_RUNNER } from "../support/program.ts";

/** A row with as many object shapes as fit in a line: it takes far more heap than bytes. */
function heavyRow(): string {
  const shapes = Array.from({ length: 85_000 }, (_, at) => `{"k${at.toString(36)}":0}`).join();
  return `${JSON.stringify({ ...user(9), id: id("a", 9) }).slice(0, -1)},"x":[${shapes}]}\n`;
}

test("a thread whose heap runs out ends alone: the load is refused, the old generation is served", async (t) => {
  const { snapshot, keys } = place(t);
  writeKeys(keys, keyRecord(TOKEN));
  const server = await serve(snapshot, keys, ["--watch", "0.2"], { NODE_OPTIONS: "--max-old-space-size=18" });
  appendFileSync(join(snapshot, "users.ndjson"), heavyRow());
  const refused = await server.logged("snapshot-refused");
  assert.match(String(refused.problems), /the loading thread died: its heap of \d+ MiB is full/);
  assert.equal(refused.retryMs, 5000);
  assert.equal((await get(`${server.url}/stats`, { token: TOKEN })).status, 200);
  // Removes the row that killed the thread.
  writeSnapshot(snapshot, { "users.ndjson": [user(1), user(2)] });
  await server.logged("snapshot-loaded", 2);
  await server.stop();
});

const CLOSING = `
const { openOrrery } = await import("${LIBRARY.href}");
for (const threads of [true, false]) {
  const orrery = await openOrrery({ snapshot: process.argv[1], keys: [], watch: 1, threads });
  const reloads = [orrery.reload(), orrery.reload()];
  await new Promise((resolve) => setTimeout(resolve, threads ? 100 : 0));
  orrery.close();
  orrery.close();
  await Promise.all([...reloads, orrery.reload()]);
  console.log("settled");
}
`;

test("a program that closes while a reload runs ends by itself", async (t) => {
  const { snapshot } = place(t);
  const command: Command = [process.execPath, ...LIBRARY_RUNNER, "--input-type=module", "-e", CLOSING];
  const { ended, stdout } = start([snapshot], {}, command);
  assert.equal((await within(ended, "the program's end")).status, 0);
  assert.equal(stdout(), "settled\nsettled\n");
});
