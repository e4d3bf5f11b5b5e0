/**
 * Stops under clients that come back at once, on a Node whose servers can share a port: of a server with several threads,
 * and of one that is upgraded: the next server starts on the same port, with the same files, and the one before stops;
 * the log is rotated meanwhile. No request is lost, no line, and no count.
 */

import assert from "node:assert/strict";
import { readdirSync, readFileSync, renameSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { after, describe, it, test } from "node:test";
import { temporaryFolder } from "../support/folders.ts";
import { keyRecord, place, TOKEN, writeKeys } from "../support/place.ts";
import { freePort } from "../support/ports.ts";
import { get, killAll, type LogLine, type Served, served, start, until } from "../support/process.ts";
import { findNode, lacking, programOn } from "../support/runtimes.ts";

/** What became of their requests. */
interface Outcome {
  readonly answered: number;
  /** Sent whole over a connection that stood, and not answered. */
  readonly lost: number;
  /** Why, of each that was lost. */
  readonly causes: readonly string[];
  /** Clients that found nobody who listens, and went. */
  readonly refused: number;
}

/** The length of a whole response at the start of a text, or undefined while more must come. */
function lengthOf(text: string): number | undefined {
  const head = text.indexOf("\r\n\r\n");
  if (head < 0) return undefined;
  const length = head + 4 + Number(/content-length: *(\d+)/i.exec(text.slice(0, head))?.[1] ?? 0);
  return text.length >= length ? length : undefined;
}

/** Starts clients, each with one connection at a time and one request at a time on it, until nobody listens. */
function comeBack(port: number, token: string, clients: number): { stop: () => Promise<Outcome> } {
  const request = Buffer.from(
    `GET /api/public/v1/worlds HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer ${token}\r\n\r\n`,
  );
  let over = false;
  let answered = 0;
  const causes: string[] = [];

  /** One connection; resolves with false when nobody listens any more. */
  function visit(): Promise<boolean> {
    return new Promise((resolve) => {
      const socket = connect({ host: "127.0.0.1", port });
      let text = "";
      /** A request was sent whole, and nothing of its answer is here. */
      let asked = false;
      let refused = false;
      let left = false;
      const ask = (): void => {
        asked = true;
        socket.write(request);
      };
      socket.on("connect", ask);
      socket.on("data", (bytes) => {
        text += bytes.toString("latin1");
        const length = lengthOf(text);
        if (length === undefined) return;
        answered++;
        asked = false;
        left = /\r\nconnection: close\r\n/i.test(text.slice(0, length));
        text = text.slice(length);
        if (left || over) socket.end();
        else ask();
      });
      socket.on("error", (error: NodeJS.ErrnoException) => {
        if (error.code === "ECONNREFUSED") refused = true;
        else if (asked) causes.push(`${error.code} ${error.syscall}`);
        asked = false;
      });
      socket.on("close", () => {
        if (asked && !left) causes.push("closed");
        resolve(!refused);
      });
    });
  }

  let refusals = 0;
  const all = Promise.all(
    Array.from({ length: clients }, async () => {
      while (await visit()) if (over) return;
      refusals++;
    }),
  );
  return {
    async stop() {
      over = true;
      await all;
      return { answered, lost: causes.length, causes, refused: refusals };
    },
  };
}

const STOPS = 4;

const node = findNode(24);
const keys = writeKeys(join(temporaryFolder({ after }), "keys.json"), keyRecord(TOKEN, { limit: 1e9 }));
after(killAll);

describe("a stop of threads that serve", { skip: lacking(node) }, () => {
  for (const threads of [2, 4]) {
    it(`loses no request of clients that come back at once: ${threads} threads, ${STOPS} stops`, async () => {
      for (let stop = 0; stop < STOPS; stop++) {
        const settings = ["serve", "--snapshot", "data/sample", "--keys", keys, "--port", "0"];
        const server = await served(start([...settings, "--threads", `${threads}`], {}, programOn(node)));
        const clients = comeBack(server.port, TOKEN, 32);
        await new Promise((resolve) => setTimeout(resolve, 200));
        await server.stop();
        const { answered, causes } = await clients.stop();
        assert.deepEqual(
          causes,
          [],
          `${causes.length} of ${answered + causes.length} were lost in stop ${stop}`,
        );
        assert.ok(answered > 32, `${answered} answers`);
      }
    });
  }
});

const UPGRADES = 2;

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
