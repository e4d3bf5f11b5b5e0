/** Probes of the admin listener beside crowds: an orchestrator that gets no answer would restart a server that is well. */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { after, before, describe, it, type TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { slowness, within } from "../support/patience.ts";
import { place } from "../support/place.ts";
import { killAll, type Served, served, start } from "../support/process.ts";
import { COMMAND } from "../support/program.ts";

const CROWD = fileURLToPath(new URL("../support/crowd.mjs", import.meta.url));
/** How long an answer may take, in milliseconds of a quiet machine. */
const LIMIT_MS = 100;
const PROBES = 60;
const ADMIN_TOKEN = "canary-of-admin";

let server: Served;
let port = 0;

/** @param files how many it may open */
async function startServer(
  folder: string,
  snapshot: string,
  keys: string,
  files: number | undefined,
): Promise<void> {
  const token = join(folder, "admin.token");
  writeFileSync(token, ADMIN_TOKEN);
  const options = ["serve", "--snapshot", snapshot, "--keys", keys, "--port", "0"];
  const limited = ["sh", "-c", `ulimit -n ${files}; exec "$@"`, "sh", ...COMMAND] as const;
  const command = files === undefined ? COMMAND : limited;
  server = await served(start([...options, "--admin", "0", "--admin-token-file", token], {}, command));
  port = Number(new URL(server.admin()).port);
}

after(killAll);

/** Asks on a connection of its own, with bytes. @returns the first line, and how long it took in milliseconds */
async function probe(path: string, headers = ""): Promise<[string, number]> {
  const began = performance.now();
  const socket = connect({ host: "127.0.0.1", port, noDelay: true });
  let text = "";
  socket.on("data", (chunk: Buffer) => {
    text += chunk.toString("latin1");
  });
  socket.on("error", (error) => {
    text ||= String(error);
  });
  socket.on("connect", () => {
    socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n${headers}Connection: close\r\n\r\n`);
  });
  const closed = new Promise((resolve) => socket.on("close", resolve));
  await within(closed, `the answer to ${path}`);
  return [text.split("\r\n")[0]!, performance.now() - began];
}

/** Asks again and again. @returns the longest wait in milliseconds */
async function probeAll(): Promise<number> {
  let longest = 0;
  for (let at = 0; at < PROBES; at++) {
    const path = at % 2 === 0 ? "/livez" : "/readyz";
    const [status, ms] = await probe(path);
    assert.equal(status, "HTTP/1.1 200 OK", `${path}, probe ${at}`);
    longest = Math.max(longest, ms);
    await sleep(10);
  }
  return longest;
}

/** How many connections, their conduct, and their target. */
const CROWDS: readonly (readonly [number, "silent" | "endless" | "patient", string])[] = [
  [40, "patient", "/status"],
  [40, "patient", "/livez"],
  [40, "endless", "/status"],
  [40, "endless", "/livez"],
  [200, "patient", "/status"],
  [200, "silent", ""],
  [1000, "silent", ""],
];

/** Asks while a crowd is there. */
async function probeBeside(t: TestContext, count: number, conduct: string, target: string): Promise<void> {
  const request = `GET ${target} HTTP/1.1\r\nHost: localhost\r\n\r\n`;
  const crowd = spawn(process.execPath, [CROWD, String(port), String(count), conduct, request], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  t.after(() => crowd.kill("SIGKILL"));
  await within(once(crowd.stdout, "data"), "the crowd");
  const limit = LIMIT_MS * slowness();
  // A machine that stands still for a moment is not the listener's fault.
  const longest: number[] = [];
  do longest.push(await probeAll());
  while (longest.at(-1)! >= limit && longest.length < 4);
  t.diagnostic(`longest waits: ${longest.map(Math.round).join(", ")} ms of ${Math.round(limit)}`);
  assert.ok(longest.at(-1)! < limit, `${longest} ms, of ${limit}`);
}

for (const files of [undefined, 400]) {
  describe(`/livez and /readyz, ${files ?? "many"} open files at most`, () => {
    const scope: (() => void)[] = [];
    before(async () => {
      const { folder, snapshot, keys } = place({ after: (done: () => void) => void scope.push(done) });
      await startServer(folder, snapshot, keys, files);
    });
    after(() => {
      for (const done of scope) done();
    });

    for (const [count, conduct, target] of CROWDS) {
      it(`are answered in time beside ${count} ${conduct} connections ${target}`, (t) =>
        probeBeside(t as TestContext, count, conduct, target));
    }

    it("are not all that is answered afterwards", async () => {
      const [status] = await probe("/status", `Authorization: Bearer ${ADMIN_TOKEN}\r\n`);
      assert.equal(status, "HTTP/1.1 200 OK");
      await server.stop();
    });
  });
}
