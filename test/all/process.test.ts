/** The server as a real process: files that change, reloads, busy clients, its end, and signals at any moment. */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, renameSync, rmSync, unlinkSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import {
  id,
  slowRows,
  snapshotFiles,
  user,
  withManifest,
  writeFiles,
  writeSnapshot,
} from "../support/folders.ts";
import { lines } from "../support/loaded.ts";
import { assertInTime, within } from "../support/patience.ts";
import { keyRecord, place, replace, TOKEN, writeKeys } from "../support/place.ts";
import {
  generationOf,
  get,
  jsonLines,
  LISTENING,
  type LogLine,
  serve,
  served,
  start,
  startClients,
  until,
  untilReply,
} from "../support/process.ts";
import { COMMAND, IS_GIVEN } from "../support/program.ts";
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
        await sleep(50);
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

  test("--watch 0 never looks, SIGHUP loads; many SIGHUPs during a load are one more load", async (t) => {
    const { snapshot, keys } = place(t);
    const server = await serve(snapshot, keys, ["--watch", "0"]);
    writeSnapshot(snapshot, { "users.ndjson": [user(1), user(2)] });
    // The keys file is still watched; by its second look a watch of the snapshot would have looked, too.
    for (const loads of [2, 3, 4]) {
      writeKeys(keys, keyRecord(TOKEN), ...(loads % 2 ? [] : [keyRecord("svc_sk_other0")]));
      await server.logged("keys-loaded", loads);
    }
    assert.equal(generationOf(await get(`${server.url}/stats`, { token: TOKEN })), server.generation);
    assert.equal(server.logs("snapshot-loaded").length, 1);
    server.child.kill("SIGHUP");
    const second = await server.logged("snapshot-loaded", 2);
    assert.equal(generationOf(await get(`${server.url}/stats`, { token: TOKEN })), second.generation);

    // A slow load, and signals in its first part: a signal after it would begin a load of its own.
    const loads = (): number => server.logs().filter(({ event }) => event.startsWith("snapshot-")).length;
    unlinkSync(join(snapshot, "users.ndjson"));
    writeFileSync(join(snapshot, "users.ndjson.gz"), slowRows(8));
    const before = loads();
    // By a shell: a busy test beside this one would stretch its pauses.
    const shell = spawn("sh", [
      "-c",
      `for i in 1 2 3 4 5 6; do kill -HUP ${server.child.pid}; sleep 0.02; done`,
    ]);
    await once(shell, "exit");
    assert.equal(loads(), before, "the load is not over yet");
    await until(() => loads() === before + 2, "the one load more");
    server.child.kill("SIGHUP");
    await until(() => loads() > before + 2, "a load after them all");
    assert.equal(loads(), before + 3);
    await server.stop();
  });

  test("a running load does not keep the process", async (t) => {
    const { snapshot, keys } = place(t);
    const server = await serve(snapshot, keys, ["--watch", "0"]);
    unlinkSync(join(snapshot, "users.ndjson"));
    // Minutes of loading.
    writeFileSync(join(snapshot, "users.ndjson.gz"), slowRows(250));
    server.child.kill("SIGHUP");
    await server.logged("keys-unchanged");
    assert.equal((await get(`${server.url}/stats`, { token: TOKEN })).status, 200);
    await server.stop();
    assert.equal(server.logs("snapshot-loaded").length, 1);
  });

  test("reloads and similar search go on when the folder of the start is deleted, and made anew", async (t) => {
    const { folder, snapshot, keys } = place(t);
    const cwd = join(folder, "release");
    mkdirSync(cwd);
    const args = ["--snapshot", relative(cwd, snapshot), "--keys", relative(cwd, keys), "--similar", "on"];
    const server = await served(
      start(["serve", ...args, "--port", "0", "--watch", "0.1"], {}, COMMAND, { cwd }),
    );
    await server.logged("similar-ready");
    rmSync(cwd, { recursive: true });
    for (const count of [2, 3]) {
      writeSnapshot(snapshot, { "users.ndjson": [user(1), user(2), user(3)].slice(0, count) });
      await server.logged("snapshot-loaded", count);
      await server.logged("similar-ready", count);
      // A folder of that name is another one.
      if (count === 2) mkdirSync(cwd);
    }
    writeKeys(keys, keyRecord(TOKEN), keyRecord("svc_sk_other0"));
    await server.logged("keys-loaded", 2);
    await server.stop();
    assert.doesNotMatch(server.stderr(), /uv_cwd|refused|died/);
  });

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
    // Sixty moments of a start; another runtime shows by two dozen whether it takes a signal as early as node.
    const rounds = IS_GIVEN ? 4 : 10;
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
