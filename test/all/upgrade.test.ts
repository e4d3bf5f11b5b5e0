/**
 * An operator's upgrade under load: the next server starts on the same port, with the same files, and the one before
 * stops; the log is rotated meanwhile. No request is lost, no line, and no count.
 */

import assert from "node:assert/strict";
import { readdirSync, readFileSync, renameSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { freePort } from "../support/free-port.ts";
import { place, TOKEN } from "../support/place.ts";
import { get, killAll, type LogLine, type Served, served, start, until } from "../support/process.ts";
import { comeBack } from "../support/returning.ts";
import { findNode, lacking, programOn } from "../support/runtimes.ts";

after(killAll);

const UPGRADES = 2;
const node = findNode(24);

test("upgrades and rotations under load lose nothing", {
  skip: lacking(node),
}, async (t) => {
  const { folder, snapshot, keys } = place(t);
  const [log, state] = [join(folder, "log"), join(folder, "state")];
  const port = await freePort();
  const settings = ["--snapshot", snapshot, "--keys", keys, "--port", String(port), "--share-port"];
  const files = ["--admin", "0", "--access-log", "--log-file", log, "--state", state];
  const limits = ["--rate-limit", "1000000000", "--rate-window", "315360000"];
  const launch = (): Promise<Served> =>
    served(start(["serve", ...settings, ...files, ...limits], {}, programOn(node)));

  const textOf = (name: string): string => readFileSync(join(folder, name), "utf8");
  const logNames = (): string[] => readdirSync(folder).filter((name) => name.startsWith("log"));
  const lines = (event: string): LogLine[] =>
    logNames()
      .flatMap((name) => textOf(name).split("\n").slice(0, -1))
      .map((line) => JSON.parse(line) as LogLine)
      .filter((line) => line.event === event);
  const rotate = async (server: Served): Promise<void> => {
    const before = lines("log-reopened").length;
    renameSync(log, `${log}.${logNames().length}`);
    server.child.kill("SIGUSR2");
    await until(() => lines("log-reopened").length > before, "the new log");
  };

  let running = await launch();
  const clients = comeBack(port, TOKEN, 16);
  for (let upgrade = 0; upgrade < UPGRADES; upgrade++) {
    await rotate(running);
    const next = await launch();
    const ready = await until(
      () => lines("admin-listening").find(({ pid }) => pid === next.child.pid),
      "its port",
    );
    assert.equal((await get(`${String(ready.url)}readyz`)).status, 200);
    // Both serve; the next one learns what the other has counted.
    await rotate(running);
    running.child.kill("SIGTERM");
    assert.deepEqual(await running.ended, { status: 0, signal: null });
    running = next;
  }
  const { answered, causes, refused } = await clients.stop();
  assert.deepEqual(causes, [], `${causes.length} of ${answered} were lost`);
  assert.equal(refused, 0, "somebody always listens");
  assert.ok(answered > 100, `${answered} answers`);
  await running.stop();
  const counted = Number(/\["key_\w+[\w-]*",(\d+)\]/.exec(textOf("state"))?.[1]);
  assert.equal(counted, answered);
  // A disk that is too slow for it costs lines, which are counted.
  const dropped = lines("log-lines-dropped").reduce((sum, { count }) => sum + Number(count), 0);
  assert.equal(lines("request").length + dropped, answered);
  assert.deepEqual([...lines("state-failed"), ...lines("defect"), ...lines("log-reopen-failed")], []);
});
