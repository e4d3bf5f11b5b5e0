/** Hosts that run several processes at one port: `node:cluster`, and pm2's cluster mode. */

import assert from "node:assert/strict";
import { fork } from "node:child_process";
import { writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { temporaryFolder } from "../support/folders.ts";
import { writeKeys } from "../support/place.ts";
import { freePort, listen } from "../support/ports.ts";
import { environment, until } from "../support/process.ts";
import { BUILT, ROOT } from "../support/program.ts";
import { lacksRecipes, run, TOOLS } from "./support/recipes.ts";

const folder = temporaryFolder();
const keys = writeKeys(join(folder, "keys.json"));
const argumentsFor = (port: number): string[] => [
  ...["serve", "--snapshot", join(ROOT, "data/sample"), "--keys", keys, "--port", String(port)],
];

const ask = (port: number): Promise<number | undefined> =>
  fetch(`http://127.0.0.1:${port}/docs`).then(
    ({ status }) => status,
    () => undefined,
  );

/** Asks until it is told to end. @returns the answers, of which none is missing */
function askOn(port: number): () => Promise<number> {
  let isOver = false;
  const asking = (async () => {
    let count = 0;
    for (; !isOver; count++) assert.equal(await ask(port), 200, `request ${count}`);
    return count;
  })();
  return () => {
    isOver = true;
    return asking;
  };
}

/** Starts a worker with given arguments, or stops one, as it is told; tells which listens, and which has ended. */
const PRIMARY = `
  import cluster from "node:cluster";
  process.on("message", ({ args, stop }) => {
    if (stop !== undefined) return cluster.workers[stop].process.kill("SIGTERM");
    cluster.setupPrimary({ exec: ${JSON.stringify(BUILT)}, args, silent: true });
    cluster.fork();
  });
  cluster.on("listening", ({ id }) => process.send("listening " + id));
  cluster.on("exit", ({ id }, status) => process.send("exit " + id + " " + status));`;

it("workers of node:cluster share a port, also those that replace others; one that cannot listen exits", async (t) => {
  const file = join(folder, "primary.mjs");
  writeFileSync(file, PRIMARY);
  const primary = fork(file, { env: environment() });
  t.after(() => primary.kill());
  const seen: unknown[] = [];
  primary.on("message", (word) => seen.push(word));
  const sees = (word: string): Promise<unknown> =>
    until(
      () => seen.includes(word),
      () => `${word}: ${seen}`,
    );
  const port = await freePort();
  for (const id of [1, 2]) {
    primary.send({ args: argumentsFor(port) });
    await sees(`listening ${id}`);
  }
  const stopAsking = askOn(port);
  primary.send({ args: argumentsFor(port) });
  await sees("listening 3");
  primary.send({ stop: 1 });
  await sees("exit 1 0");
  assert.ok((await stopAsking()) > 10);
  const taken = createServer();
  primary.send({ args: argumentsFor(await listen(taken)) });
  await sees("exit 4 1");
  taken.close();
  for (const id of [2, 3]) primary.send({ stop: id });
  for (const id of [2, 3]) await sees(`exit ${id} 0`);
});

/** Those of docs/operating.md: a reload waits for the listener, and for the last answer. */
const TIMES = ["--listen-timeout", "60000", "--kill-timeout", "10000"];

describe("pm2", { skip: lacksRecipes }, () => {
  const env = environment({ PM2_HOME: join(folder, "pm2") });
  const pm2 = async (...args: string[]): Promise<string> =>
    (await run(join(TOOLS, "node_modules/.bin/pm2"), args, { env })).stdout;
  after(() => pm2("kill"));

  it("two processes at one port, and a reload that loses nothing", async () => {
    const port = await freePort();
    const program = join(ROOT, "bin/orrery.mjs");
    await pm2("start", program, "--name", "orrery", "-i", "2", ...TIMES, "--", ...argumentsFor(port));
    await until(async () => (await ask(port)) === 200, "an answer");
    const stopAsking = askOn(port);
    await pm2("reload", "orrery");
    assert.ok((await stopAsking()) > 10);
    const processes = JSON.parse(await pm2("jlist")) as {
      pm2_env: { status: string; restart_time: number };
    }[];
    const states = processes.map(({ pm2_env: { status, restart_time } }) => [status, restart_time]);
    assert.deepEqual(states, [
      ["online", 1],
      ["online", 1],
    ]);
  });
});
