/** Probes of the admin listener beside crowds: an orchestrator that gets no answer would restart a healthy server. */

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it, type TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { startCrowd } from "../support/crowds.ts";
import { temporaryFolder } from "../support/folders.ts";
import { slowness } from "../support/patience.ts";
import { place } from "../support/place.ts";
import { type Served, serve, withOpenFiles } from "../support/process.ts";
import { askOnce } from "../support/raw.ts";

/** Longest time for an answer, in milliseconds of a quiet machine. */
const LIMIT_MS = 100;
/** The same where a crowd's connections replace each other: a new one waits with a hundred of them to be accepted. */
const QUEUED_LIMIT_MS = 300;
const PROBES = 60;
const ADMIN_TOKEN = "canary-of-admin";

let port = 0;

const token = join(temporaryFolder(), "admin.token");
writeFileSync(token, ADMIN_TOKEN);

/** Probes repeatedly. @returns the longest wait in milliseconds */
async function probeAll(): Promise<number> {
  let longest = 0;
  for (let at = 0; at < PROBES; at++) {
    const path = at % 2 === 0 ? "/livez" : "/readyz";
    const began = performance.now();
    const { status } = await askOnce(port, path, ["Host: localhost"]);
    longest = Math.max(longest, performance.now() - began);
    assert.equal(status, 200, `${path}, probe ${at}`);
    await sleep(10);
  }
  return longest;
}

/** Number of connections, their conduct, and their target. */
const CROWDS: readonly (readonly [number, "silent" | "endless" | "patient", string])[] = [
  [40, "patient", "/status"],
  [40, "patient", "/livez"],
  [40, "endless", "/status"],
  [40, "endless", "/livez"],
  [200, "patient", "/status"],
  [200, "silent", ""],
  [1000, "silent", ""],
];

async function probeBeside(
  t: TestContext,
  limitMs: number,
  ...[count, conduct, target]: (typeof CROWDS)[number]
): Promise<void> {
  await startCrowd(t, port, count, conduct, `GET ${target} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
  const limit = limitMs * slowness();
  // A machine that stalls for a moment is not the listener's fault.
  const longest: number[] = [];
  do longest.push(await probeAll());
  while (longest.at(-1)! >= limit && longest.length < 4);
  t.diagnostic(`longest waits: ${longest.map(Math.round).join(", ")} ms of ${Math.round(limit)}`);
  assert.ok(longest.at(-1)! < limit, `${longest} ms, of ${limit}`);
}

for (const files of [undefined, 400]) {
  describe(`/livez and /readyz, ${files ?? "many"} open files at most`, () => {
    const { snapshot, keys } = place({ after });
    let server: Served;
    before(async () => {
      const admin = ["--admin", "0", "--admin-token-file", token];
      server = await serve(snapshot, keys, admin, {}, files === undefined ? undefined : withOpenFiles(files));
      port = Number(new URL(server.admin()).port);
    });

    for (const crowd of CROWDS) {
      const [count, conduct, target] = crowd;
      const isQueued = files !== undefined && conduct === "patient" && count === 200;
      it(`are answered in time beside ${count} ${conduct} connections ${target}`, (t) =>
        probeBeside(t as TestContext, isQueued ? QUEUED_LIMIT_MS : LIMIT_MS, ...crowd));
    }

    it("are not all that is answered afterwards", async () => {
      const headers = ["Host: localhost", `Authorization: Bearer ${ADMIN_TOKEN}`];
      assert.equal((await askOnce(port, "/status", headers)).status, 200);
      await server.stop();
    });
  });
}
