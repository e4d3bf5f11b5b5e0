/** Signals at any moment: a server before it serves. */

import assert from "node:assert/strict";
import { unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { slowRows } from "../support/folders.ts";
import { within } from "../support/patience.ts";
import { place } from "../support/place.ts";
import { jsonLines, serve, start, until } from "../support/process.ts";

describe("signals", { concurrency: 2 }, () => {
  test("a demo ends with its terminal", async () => {
    const program = start(["demo", "--port", "0", "--admin", "0"]);
    await until(() => program.stdout().includes("curl"), "the demo");
    await program.stop("SIGHUP");
  });

  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    test(`${signal} while the first snapshot loads: exit 0 at once`, async (t) => {
      const { snapshot, keys } = place(t);
      unlinkSync(join(snapshot, "users.ndjson"));
      // A minute of loading.
      writeFileSync(join(snapshot, "users.ndjson.gz"), slowRows(200));
      const program = start(["serve", "--snapshot", snapshot, "--keys", keys, "--port", "0"]);
      await until(() => program.stderr().includes("keys-loaded"), "the keys", 60_000);
      for (const harmless of ["SIGHUP", "SIGPIPE", "SIGUSR1", "SIGUSR2", "SIGQUIT"] as const) {
        program.child.kill(harmless);
      }
      await until(() => program.stderr().includes('"signal":"SIGQUIT"'), "the ignored signal");
      await program.stop(signal);
      assert.doesNotMatch(program.stderr(), /Debugger|snapshot-loaded/);
      const [stopping, stopped] = jsonLines(program.stderr()).slice(-2);
      assert.deepEqual([stopping!.event, stopping!.signal, stopped!.event], ["stopping", signal, "stopped"]);
    });
  }

  test("SIGTERM at any moment of a start ends it, on a busy machine too", async (t) => {
    const { snapshot, keys } = place(t);
    const args = ["serve", "--snapshot", snapshot, "--keys", keys, "--port", "0"];
    const atOnce = 6;
    // Duration of a start beside other starts.
    const began = performance.now();
    const first = await Promise.all(Array.from({ length: atOnce }, () => serve(snapshot, keys)));
    const longest = performance.now() - began;
    await Promise.all(first.map((server) => server.stop()));
    const rounds = 15;
    for (let round = 0; round < rounds; round++) {
      const ends = Array.from({ length: atOnce }, async (_, at) => {
        const program = start(args);
        // From before node handles signals until after the server listens.
        await sleep((longest * 1.1 * (round * atOnce + at)) / (rounds * atOnce));
        program.child.kill("SIGTERM");
        const { status, signal } = await within(program.ended, `the end in round ${round}`, 20_000);
        assert.ok(status === 0 || signal === "SIGTERM", `${status} ${signal}\n${program.stderr()}`);
      });
      await Promise.all(ends);
    }
  });
});
