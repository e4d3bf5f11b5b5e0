/** Standard error and standard output with a reader that is slow or gone, or on a full disk: the server is unaffected. */

import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { closeSync, fstatSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { temporaryFolder } from "../support/folders.ts";
import { need } from "../support/need.ts";
import { within } from "../support/patience.ts";
import { place, TOKEN } from "../support/place.ts";
import { get, jsonLines, residentBytes, start, textOf, until } from "../support/process.ts";
import { COMMAND } from "../support/program.ts";
import { dial, requestHead } from "../support/raw.ts";

type Output = "pipe" | number;

async function urlFrom(text: () => string): Promise<string> {
  const line = await until(() => /(?:listening on |"url":")([^\s"]+)/.exec(text()), "the listening line");
  return line[1]!;
}

/** Starts a process whose outputs are not read yet. */
function launch(
  args: readonly string[],
  stdout: Output = "pipe",
  stderr: Output = "pipe",
  env = process.env,
) {
  const [file, ...first] = COMMAND;
  const child = spawn(file, [...first, ...args], { stdio: ["ignore", stdout, stderr], env });
  after(() => child.kill("SIGKILL"));
  // Its outputs may still be unread at the end.
  const exited = new Promise<number | null>((resolve) => child.once("exit", resolve));
  const ended = (): Promise<number | null> => within(exited, `the end of ${args[0]}`);
  return {
    child,
    ended,
    reading: (name: "stdout" | "stderr"): (() => string) => textOf(child[name]!),
    async stop() {
      child.kill("SIGTERM");
      assert.equal(await ended(), 0);
    },
  };
}

const serving = ({ snapshot, keys }: ReturnType<typeof place>): string[] => [
  ...["serve", "--snapshot", snapshot, "--keys", keys, "--port", "0", "--access-log"],
];

/** Starts it on a terminal of its own. */
function startOnTerminal(args: readonly string[], format: string, ...redirection: string[]) {
  const words = [...COMMAND, ...args, "--log-format", format].map((word) => `'${word}'`);
  return start([[...words, ...redirection].join(" "), "/dev/null"], {}, ["script", "-qfec"]);
}

/** Requests a missing path many times on one connection. */
async function flood(url: string, times: number): Promise<void> {
  const wire = await dial(Number(new URL(url).port));
  void wire.send(requestHead(`/${"x".repeat(500)}`).repeat(times));
  for (let at = 0; at < times; at++) assert.equal((await wire.response()).status, 404);
  wire.destroy();
}

async function askSome(url: string): Promise<void> {
  for (let n = 0; n < 5; n++) assert.equal((await get(`${url}/stats`, { token: TOKEN })).status, 200);
}

describe("outputs", { concurrency: 2 }, () => {
  test("lines on the journal begin with their priority", async (t) => {
    const files = place(t);
    const file = join(temporaryFolder(t), "journal");
    const journal = openSync(file, "a");
    const { dev, ino } = fstatSync(journal);
    // An unknown variable is warned of.
    const env = { ...process.env, JOURNAL_STREAM: `${dev}:${ino}`, ORRERY_NOTHING: "1" };
    const server = launch(serving(files), "pipe", journal, env);
    await askSome(await urlFrom(server.reading("stdout")));
    await server.stop();
    const failing = launch([...serving(files), "--keys", "/nowhere"], "pipe", journal, env);
    assert.equal(await failing.ended(), 1);
    const lines = readFileSync(file, "utf8").trimEnd().split("\n");
    const last = lines.pop();
    assert.match(last!, /^<3>orrery: \/nowhere: /);
    const levels = lines.map((line) => {
      const [, priority, json] = /^<([346])>(\{.*\})$/.exec(line) ?? assert.fail(line);
      const { level, event } = JSON.parse(json!) as { level: string; event: string };
      assert.equal({ error: "3", warn: "4", info: "6" }[level], priority);
      return `${level} ${event}`;
    });
    for (const one of ["info request", "warn variable-unknown"]) assert.ok(levels.includes(one), one);
  });

  test("a reader of the log that stalls costs lines, which are counted, and no memory", async (t) => {
    const server = launch(serving(place(t)));
    const url = await urlFrom(server.reading("stdout"));
    const before = residentBytes(server);
    const times = 12_000;
    await flood(url, times / 2);
    await flood(url, times / 2);
    assert.equal((await get(`${url}/stats`, { token: TOKEN })).status, 200);
    assert.ok(residentBytes(server) - before < 150_000_000, "memory is bounded");
    const text = server.reading("stderr");
    const all = times + 1;
    // Every request has a line or is counted as dropped; the lines after the gap give the count.
    await until(() => {
      const lines = jsonLines(text());
      const written = lines.filter(({ event }) => event === "request").length;
      const gaps = lines.filter(({ event }) => event === "log-lines-dropped");
      const dropped = gaps.reduce((sum, { count }) => sum + Number(count), 0);
      return dropped > 0 && written + dropped === all;
    }, "the count of what was dropped");
    await server.stop();
    assert.match(text(), /"event":"stopped"/);
  });

  test("a reader of the log that goes away is not noticed", async (t) => {
    const server = launch(serving(place(t)));
    server.child.stderr!.destroy();
    await askSome(await urlFrom(server.reading("stdout")));
    await server.stop();
  });

  test("the log on a terminal is for people, unless asked for otherwise", {
    skip: need("script"),
  }, async (t) => {
    const here = place(t);
    for (const format of ["auto", "json"]) {
      const { ended, stdout: text } = startOnTerminal(serving(here), format);
      await askSome(await urlFrom(text));
      const line = format === "auto" ? /INFO {2}request pid=(\d+)/ : /"pid":(\d+),"event":"request"/;
      const [pid] = (await until(() => line.exec(text()), `a line: ${format}`)).slice(1).filter(Boolean);
      assert.equal(/"event"/.test(text()), format === "json", text());
      process.kill(Number(pid), "SIGTERM");
      await within(ended, "its end");
    }
  });

  test("a full disk under the log is not noticed, nor is a reader of standard output that has gone", async (t) => {
    const full = openSync("/dev/full", "w");
    const mute = launch(serving(place(t)), "pipe", full);
    closeSync(full);
    await askSome(await urlFrom(mute.reading("stdout")));
    await mute.stop();

    const deaf = launch(serving(place(t)));
    deaf.child.stdout!.destroy();
    await askSome(await urlFrom(deaf.reading("stderr")));
    await deaf.stop();
  });

  test("commands: a reader that has gone is no error; a full disk is one line", async (t) => {
    const { keys } = place(t);
    for (const args of [["openapi"], ["keys", "list", "--keys", keys], ["--help"]]) {
      const { child, ended, reading } = launch(args);
      child.stdout!.destroy();
      const said = reading("stderr");
      assert.equal(await ended(), 0, args.join(" "));
      assert.equal(said(), "");
    }
    const full = openSync("/dev/full", "w");
    const { ended, reading } = launch(["openapi"], full);
    closeSync(full);
    const said = reading("stderr");
    assert.equal(await ended(), 1);
    await until(() => said() !== "", "the line");
    assert.match(said(), /^orrery: cannot write to standard output: no space left on device \(ENOSPC\)\n$/);
  });

  test("a text arrives whole, however late it is read", () => {
    // A pipe of the shell, since node discards unread output when a child ends. The pipe holds only one page.
    const shrink = "import fcntl; fcntl.fcntl(1, 1031, 4096)";
    const script = `(python3 -c '${shrink}' 2> /dev/null; exec "$@") | (sleep 0.3; cat)`;
    const ran = spawnSync("sh", ["-c", script, "sh", ...COMMAND, "openapi"], { encoding: "utf8" });
    assert.equal(ran.stderr, "");
    assert.ok(ran.stdout.length > 10_000);
    assert.equal(typeof JSON.parse(ran.stdout), "object");
  });
});
