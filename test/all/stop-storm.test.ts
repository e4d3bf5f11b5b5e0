/** A stop during endless reloads: no more begin, and the counts are saved. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { it } from "node:test";
import { keyRecord, place, TOKEN, writeKeys } from "../support/place.ts";
import { get, type LogLine, serve } from "../support/process.ts";

it("a stop is not held up by a storm of reloads: what was asked for is not begun, and counts are saved", async (t) => {
  const { snapshot, keys, folder } = place(t);
  const others = Array.from({ length: 5000 }, (_, n) =>
    keyRecord(`svc_sk_other-${n}`, { id: `key_other_${n}`, limit: 1000 }),
  );
  writeKeys(keys, keyRecord(TOKEN), ...others);
  const state = join(folder, "state");
  const settings = ["--state", state, "--watch", "0", "--rate-window", "315360000"];
  const server = await serve(snapshot, keys, settings);
  for (let used = 0; used < 20; used++) await get(`${server.url}/stats`, { token: TOKEN });
  const storm = setInterval(() => server.child.kill("SIGHUP"), 1);
  t.after(() => clearInterval(storm));
  await server.logged("keys-unchanged", 10);
  await server.stop();
  clearInterval(storm);
  const lines = server.logs();
  const behind = lines.slice(lines.findIndex(({ event }) => event === "stopping"));
  const begun = (event: string): LogLine[] => behind.filter((line) => line.event === event);
  assert.ok(behind.at(-1)?.event === "stopped", JSON.stringify(behind));
  // Work in progress may have ended.
  assert.ok(begun("keys-unchanged").length <= 1, `${begun("keys-unchanged").length} readings of the keys`);
  assert.ok(begun("snapshot-unchanged").length <= 1, `${begun("snapshot-unchanged").length} loads`);
  assert.match(readFileSync(state, "utf8"), new RegExp(`\\["key_${TOKEN.slice(-6)}",20\\]`));
});
