/** The server as a real process: signals, files that change, busy clients, and its end. */

import assert from "node:assert/strict";
import { renameSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { id, snapshotFiles, user, withManifest, writeFiles } from "../support/folders.ts";
import { assertInTime } from "../support/patience.ts";
import { keyRecord, place, replace, TOKEN, writeKeys } from "../support/place.ts";
import {
  generationOf,
  get,
  LISTENING,
  type LogLine,
  type Served,
  serve,
  startClients,
  until,
  untilReply,
} from "../support/process.ts";
import { dial, header, requestHead } from "../support/raw.ts";

describe("processes", { concurrency: 4 }, () => {
  test("the listening line is all of standard output; each event is one JSON line of log", async (t) => {
    const { snapshot, keys } = place(t);
    const server = await serve(snapshot, keys, ["--similar", "off"]);
    assert.equal((await get(`${server.url}/stats`, { token: TOKEN })).status, 200);
    assert.equal(generationOf(await get(`${server.url}/stats`, { token: TOKEN })), server.generation);
    server.child.kill("SIGHUP");
    await server.logged("snapshot-unchanged");
    await server.logged("keys-unchanged");
    await server.stop();
    assert.equal(server.stdout().replace(LISTENING, ""), "");
    const lines = server.logs();
    for (const line of lines) {
      assert.ok(["info", "warn", "error"].includes(String(line.level)), String(line.level));
      assert.ok(Math.abs(Date.parse(String(line.time)) - Date.now()) < 60_000);
      assert.deepEqual([line.pid, typeof line.msg], [server.child.pid, "string"]);
    }
    const expected =
      "keys-loaded keys-unchanged listening snapshot-loaded snapshot-unchanged stopped stopping";
    assert.equal(
      lines
        .map(({ event }) => event)
        .sort()
        .join(" "),
      expected,
    );
    assert.equal(server.logs("listening")[0]!.url, server.url);
  });

  test("a changed snapshot is served by itself; a bad one changes nothing; the log says why", async (t) => {
    const { snapshot, keys } = place(t);
    const put = (files: ReadonlyMap<string, Buffer>): void => {
      for (const [name, bytes] of files) replace(join(snapshot, name), bytes);
    };
    const usersOf = async (server: Served): Promise<unknown> =>
      JSON.parse((await get(`${server.url}/stats`, { token: TOKEN })).text).data.totalUsers;
    put(withManifest(snapshotFiles(), "gen-1"));
    const server = await serve(snapshot, keys, ["--watch", "0.2"]);
    assert.equal(server.generation, "gen-1");

    const second = snapshotFiles({ "users.ndjson": [user(1), user(2)] });
    put(withManifest(second, "gen-2"));
    await untilReply(server, TOKEN, (r) => generationOf(r) === "gen-2", "the second generation");
    assert.equal(await usersOf(server), 2);
    const loaded = await server.logged("snapshot-loaded", 2);
    assert.equal(loaded.generation, "gen-2");

    // The files are replaced one after the other; states in between may be refused, and reported late.
    const refusedFor = (reason: RegExp): Promise<LogLine> =>
      until(
        () =>
          server.logs("snapshot-refused").find((line) => reason.test((line.problems as string[]).join("|"))),
        `a refusal for ${reason} in:\n${server.stderr()}`,
      );
    replace(
      join(snapshot, "users.ndjson"),
      `${JSON.stringify(user(1, { email: "canary-2" }))}\n{"id":"canary-3"\n${JSON.stringify(user(2, { createdAt: "soon", displayName: "canary-4" }))}\n`,
    );
    const refused = await refusedFor(/^users\.ndjson:2: /);
    assert.deepEqual([refused.level, refused.serving], ["error", "gen-2"]);
    const problems = refused.problems as string[];
    assert.match(problems[0]!, /^users\.ndjson:2: /);
    assert.match(problems[1]!, /^users\.ndjson:3: createdAt: .*"soon"/);
    assert.doesNotMatch(server.stderr(), /canary/);
    assert.equal(await usersOf(server), 2);

    // The same name with other contents.
    put(withManifest(snapshotFiles({ "users.ndjson": [user(1), user(2), user(3)] }), "gen-2"));
    await refusedFor(/^manifest\.json: generation: [^|]*"gen-2"[^|]*$/);
    assert.equal(await usersOf(server), 2);
    const reply = await get(`${server.url}/stats`, { token: TOKEN });
    assert.equal(generationOf(reply), "gen-2");

    // The whole folder is removed, and comes back.
    renameSync(snapshot, `${snapshot}.away`);
    await refusedFor(/directory does not exist/);
    assert.equal(await usersOf(server), 2);
    writeFiles(`${snapshot}.away`, withManifest(snapshotFiles({ "users.ndjson": [] }), "gen-3"));
    renameSync(`${snapshot}.away`, snapshot);
    await untilReply(server, TOKEN, (r) => generationOf(r) === "gen-3", "the third generation");
    assert.equal(await usersOf(server), 0);
    await server.stop();
  });

  test("files that still change are not read: two equal looks come first", async (t) => {
    const { snapshot, keys } = place(t);
    const server = await serve(snapshot, keys, ["--watch", "1"]);
    const events = (): number => server.logs().filter(({ event }) => event.startsWith("snapshot-")).length;
    let n = 0;
    /** Keeps the file changing between looks for several seconds. @returns the longest time without a change, in milliseconds */
    async function keepChanging(): Promise<number> {
      const began = performance.now();
      let [changed, longest] = [began, 0];
      while (changed - began < 3500) {
        replace(join(snapshot, "users.ndjson"), `${JSON.stringify(user(++n))}\n`);
        await get(`${server.url}/stats`, { token: TOKEN });
        await new Promise((resolve) => setTimeout(resolve, 50));
        longest = Math.max(longest, performance.now() - changed);
        changed = performance.now();
      }
      return longest;
    }
    // On a busy machine two looks may see no change; then reading was correct.
    for (let attempt = 0, isShown = false; !isShown; attempt++) {
      const before = events();
      const longest = await keepChanging();
      isShown = events() === before;
      assert.ok(isShown || (longest > 800 && attempt < 5), `read, with no change for ${longest} ms at most`);
      await until(
        async () => (await get(`${server.url}/users/${id("a", n)}`, { token: TOKEN })).status === 200,
        "the last of them",
      );
    }
    await server.stop();
  });

  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    test(`${signal} with 40 busy clients: every request is answered, then exit 0`, async (t) => {
      const { snapshot, keys } = place(t);
      writeKeys(keys, keyRecord("svcx_busy"));
      const server = await serve(snapshot, keys);
      const idle = await dial(server.port);
      const clients = startClients(server.url, "svcx_busy", 40);
      await until(() => clients.answered() > 400, "busy clients");
      assert.equal(clients.closes(), 0, "closed before the signal");
      const began = performance.now();
      server.child.kill(signal);
      await server.logged("stopping");
      // A connection that was idle is still served for a moment; only after the listener stopped it is told to leave.
      const farewell = (async () => {
        for (;;) {
          await idle.send(requestHead("/api/public/v1/stats", ["Authorization: Bearer svcx_busy"]));
          const reply = await idle.response();
          if (header(reply, "Connection") === "close") return reply;
        }
      })();
      await clients.over;
      assert.deepEqual(await server.ended, { status: 0, signal: null });
      assertInTime(began, 10_000, "the stop");
      const closes = clients.closes();
      assert.ok(closes > 0 && closes <= 40, `${closes} connections were told to close`);
      const last = await farewell;
      assert.equal(last.status, 200);
      assert.match(last.body, /"totalUsers"/);
      await idle.closed();
      assert.deepEqual([server.logs("stopping")[0]!.signal, server.logs("stopped").length], [signal, 1]);
      assert.equal(server.logs("defect").length, 0);
    });
  }

  test("connections that stay idle meet an orderly end; a second signal does not wait for them", async (t) => {
    const { snapshot, keys } = place(t);
    /** Stops a server that has idle connections. @returns whether the stop came to its end */
    const stop = async (first: NodeJS.Signals, second?: NodeJS.Signals): Promise<boolean> => {
      const server = await serve(snapshot, keys);
      const idle = await Promise.all(Array.from({ length: 5 }, () => dial(server.port)));
      server.child.kill(first);
      await server.logged("stopping");
      const began = performance.now();
      if (second !== undefined) server.child.kill(second);
      const { status, signal } = await server.ended;
      const isOrderly = server.logs("stopped").length > 0;
      assert.equal(isOrderly, status === 0 && signal === null);
      assertInTime(began, 10_000, "the stop");
      if (isOrderly) for (const client of idle) await client.closed();
      return isOrderly;
    };
    assert.ok(await stop("SIGTERM"));
    for (const first of ["SIGTERM", "SIGINT"] as const) {
      // On a busy machine a stop may be over before the second signal arrives.
      let attempts = 0;
      while (await stop(first, "SIGINT")) assert.ok(++attempts < 10, "a second signal ends it at once");
    }
  });
});
