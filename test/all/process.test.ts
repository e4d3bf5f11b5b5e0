/** The server as a real process: signals, files that change, busy clients, and its end. */

import assert from "node:assert/strict";
import { renameSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { id, snapshotFiles, user, withManifest, writeFiles } from "../support/folders.ts";
import { lines } from "../support/loaded.ts";
import { assertInTime } from "../support/patience.ts";
import { keyRecord, place, replace, TOKEN, writeKeys } from "../support/place.ts";
import {
  generationOf,
  get,
  LISTENING,
  type LogLine,
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
    const logged = server.logs();
    for (const line of logged) {
      assert.ok(["info", "warn", "error"].includes(String(line.level)), String(line.level));
      assert.ok(Math.abs(Date.parse(String(line.time)) - Date.now()) < 60_000);
      assert.deepEqual([line.pid, typeof line.msg], [server.child.pid, "string"]);
    }
    const events = logged.map(({ event }) => event).sort();
    const expected =
      "keys-loaded keys-unchanged listening snapshot-loaded snapshot-unchanged stopped stopping";
    assert.equal(events.join(" "), expected);
    assert.equal(server.logs("listening")[0]!.url, server.url);
  });

  test("a changed snapshot is served by itself; a bad one changes nothing; the log says why", async (t) => {
    const { snapshot, keys } = place(t);
    const put = (users: number, generation: string): void => {
      const rows = [user(1), user(2), user(3)].slice(0, users);
      const files = withManifest(snapshotFiles({ "users.ndjson": rows }), generation);
      for (const [name, bytes] of files) replace(join(snapshot, name), bytes);
    };
    put(1, "gen-1");
    const server = await serve(snapshot, keys, ["--watch", "0.2"]);
    assert.equal(server.generation, "gen-1");
    const assertServed = async (users: number, generation: string): Promise<void> => {
      const reply = await get(`${server.url}/stats`, { token: TOKEN });
      assert.deepEqual([JSON.parse(reply.text).data.totalUsers, generationOf(reply)], [users, generation]);
    };

    put(2, "gen-2");
    await untilReply(server, TOKEN, (r) => generationOf(r) === "gen-2", "the second generation");
    await assertServed(2, "gen-2");
    assert.equal((await server.logged("snapshot-loaded", 2)).generation, "gen-2");

    // The files are replaced one after the other; states in between may be refused, and reported late.
    const isFor = (reason: RegExp) => (line: LogLine) => reason.test((line.problems as string[]).join("|"));
    const refusedFor = (reason: RegExp): Promise<LogLine> =>
      until(() => server.logs("snapshot-refused").find(isFor(reason)), `${reason} in:\n${server.stderr()}`);
    const broken = user(2, { createdAt: "soon", displayName: "canary-4" });
    const rows = lines(user(1, { email: "canary-2" }), '{"id":"canary-3"', broken);
    replace(join(snapshot, "users.ndjson"), rows);
    const refused = await refusedFor(/^users\.ndjson:2: [^|]*\|users\.ndjson:3: createdAt: [^|]*"soon"/);
    assert.deepEqual([refused.level, refused.serving], ["error", "gen-2"]);
    assert.doesNotMatch(server.stderr(), /canary/);
    await assertServed(2, "gen-2");

    // The same name with other contents.
    put(3, "gen-2");
    await refusedFor(/^manifest\.json: generation: [^|]*"gen-2"[^|]*$/);
    await assertServed(2, "gen-2");

    // The whole folder is removed, and comes back.
    renameSync(snapshot, `${snapshot}.away`);
    await refusedFor(/directory does not exist/);
    await assertServed(2, "gen-2");
    writeFiles(`${snapshot}.away`, withManifest(snapshotFiles({ "users.ndjson": [] }), "gen-3"));
    renameSync(`${snapshot}.away`, snapshot);
    await untilReply(server, TOKEN, (r) => generationOf(r) === "gen-3", "the third generation");
    await assertServed(0, "gen-3");
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
      const last = `${server.url}/users/${id("a", n)}`;
      await until(async () => (await get(last, { token: TOKEN })).status === 200, "the last of them");
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
