/** Standard error and standard output whose reader is slow, gone, or a full disk: nothing that serves notices. */

import assert from "node:assert/strict";
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { closeSync, openSync, readFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { need } from "../support/need.ts";
import { place, TOKEN } from "../support/place.ts";
import { type Ended, get, type LogLine, textOf, until } from "../support/process.ts";
import { COMMAND } from "../support/program.ts";

type Place = ReturnType<typeof place>;
type Output = "pipe" | number;

const children = new Set<ChildProcess>();
after(() => {
  for (const child of children) child.kill("SIGKILL");
});

/** A process whose outputs nobody reads yet. */
function launch(args: readonly string[], stdout: Output, stderr: Output) {
  const [file, ...first] = COMMAND;
  const child = spawn(file, [...first, ...args], { stdio: ["ignore", stdout, stderr] });
  children.add(child);
  let end: Ended | undefined;
  child.once("exit", (status, signal) => {
    children.delete(child);
    end = { status, signal };
  });
  return { child, ended: () => until(() => end, `the end of ${args[0]}`, 60_000) };
}

function serving({ snapshot, keys }: Place): string[] {
  return ["serve", "--snapshot", snapshot, "--keys", keys, "--port", "0", "--access-log"];
}

/** Everything that comes out of a child's pipe from now on. */
const reading = (child: ChildProcess, name: "stdout" | "stderr"): (() => string) => textOf(child[name]!);

/** Base URL of a server, from its listening line on standard output. */
async function urlFrom(text: () => string): Promise<string> {
  const found = await until(() => /listening on (\S+)/.exec(text()), "the listening line", 60_000);
  return found[1]!;
}

/** Asks for the same many times on one connection; resolves when all was answered. */
function flood(url: string, target: string, times: number): Promise<void> {
  const { port } = new URL(url);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), "127.0.0.1");
    let answers = 0;
    let rest = "";
    socket.setEncoding("latin1").on("data", (part: string) => {
      const pieces = (rest + part).split("HTTP/1.1 404");
      answers += pieces.length - 1;
      // It may lie across two parts.
      rest = pieces.at(-1)!.slice(-11);
      if (answers === times) resolve(socket.destroy() && undefined);
    });
    socket.once("error", reject);
    const request = `GET ${target} HTTP/1.1\r\nHost: x\r\n\r\n`;
    socket.write(request.repeat(times));
  });
}

function residentBytes(pid: number): number {
  return Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))![1]) * 1024;
}

function linesOf(text: string): LogLine[] {
  return text
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line) as LogLine);
}

describe("outputs", { concurrency: 2 }, () => {
  test("a reader of the log that stalls costs lines, which are counted, and no memory", async (t) => {
    const { child, ended } = launch(serving(place(t)), "pipe", "pipe");
    const url = await urlFrom(reading(child, "stdout"));
    const before = residentBytes(child.pid!);
    const times = 12_000;
    const target = `/${"x".repeat(500)}`;
    await flood(url, target, times / 2);
    await flood(url, target, times / 2);
    assert.equal((await get(`${url}/stats`, { token: TOKEN })).status, 200);
    assert.ok(residentBytes(child.pid!) - before < 150_000_000, "memory is bounded");
    const text = reading(child, "stderr");
    const all = times + 1;
    // Every request is a line or is counted; the lines after the gap say so.
    await until(
      () => {
        const lines = linesOf(text().slice(0, text().lastIndexOf("\n") + 1));
        const written = lines.filter(({ event }) => event === "request").length;
        const gaps = lines.filter(({ event }) => event === "log-lines-dropped");
        const dropped = gaps.reduce((sum, { count }) => sum + Number(count), 0);
        return dropped > 0 && written + dropped === all;
      },
      "the count of what was dropped",
      60_000,
    );
    child.kill("SIGTERM");
    assert.deepEqual(await ended(), { status: 0, signal: null });
    assert.match(text(), /"event":"stopped"/);
  });

  test("a reader of the log that stalls does not hold up the end", async (t) => {
    const { child, ended } = launch(serving(place(t)), "pipe", "pipe");
    const url = await urlFrom(reading(child, "stdout"));
    await flood(url, `/${"x".repeat(500)}`, 2000);
    child.kill("SIGTERM");
    assert.deepEqual(await ended(), { status: 0, signal: null });
  });

  test("a reader of the log that goes away is not noticed", async (t) => {
    const { child, ended } = launch(serving(place(t)), "pipe", "pipe");
    const url = await urlFrom(reading(child, "stdout"));
    child.stderr!.destroy();
    for (let n = 0; n < 5; n++) assert.equal((await get(`${url}/stats`, { token: TOKEN })).status, 200);
    child.kill("SIGTERM");
    assert.deepEqual(await ended(), { status: 0, signal: null });
  });

  test("the log has the form that is asked for, in a file again and again", async (t) => {
    const here = place(t);
    const file = join(here.folder, "log");
    for (const format of ["pretty", "json", "auto", "pretty"]) {
      const { child, ended } = launch(
        [...serving(here), "--log-file", file, "--log-format", format],
        "pipe",
        "pipe",
      );
      await get(`${await urlFrom(reading(child, "stdout"))}/stats`, { token: TOKEN });
      child.kill("SIGTERM");
      assert.deepEqual(await ended(), { status: 0, signal: null }, format);
      const lines = readFileSync(file, "utf8").split("\n").slice(0, -1);
      const shape =
        format === "pretty" ? /^\d{4}-\S+Z INFO {2}request pid=/ : /^\{"level":"info",.*"event":"request"/;
      assert.ok(
        lines.slice(-5).some((line) => shape.test(line)),
        lines.join("\n"),
      );
    }
  });

  test("the log on a terminal is for people, unless asked for otherwise", {
    skip: need("script"),
  }, async (t) => {
    const here = place(t);
    for (const format of ["auto", "json"]) {
      const command = [...COMMAND, ...serving(here), "--log-format", format].map((word) => `'${word}'`);
      const child = spawn("script", ["-qfec", command.join(" "), "/dev/null"], {
        stdio: ["ignore", "pipe", "inherit"],
      });
      children.add(child);
      const text = reading(child, "stdout");
      const url = await urlFrom(text);
      await get(`${url}/stats`, { token: TOKEN });
      const line = format === "auto" ? /INFO {2}request pid=(\d+)/ : /"pid":(\d+),"event":"request"/;
      const [pid] = (await until(() => line.exec(text()), `a line: ${format}`)).slice(1).filter(Boolean);
      assert.equal(/"event"/.test(text()), format === "json", text());
      process.kill(Number(pid), "SIGTERM");
      await until(() => child.exitCode !== null, "its end");
    }
  });

  test("a full disk under the log is not noticed, nor is a reader of standard output that has gone", async (t) => {
    const full = openSync("/dev/full", "w");
    const { child, ended } = launch(serving(place(t)), "pipe", full);
    closeSync(full);
    const url = await urlFrom(reading(child, "stdout"));
    for (let n = 0; n < 5; n++) assert.equal((await get(`${url}/stats`, { token: TOKEN })).status, 200);
    child.kill("SIGTERM");
    assert.deepEqual(await ended(), { status: 0, signal: null });

    const deaf = launch(serving(place(t)), "pipe", "pipe");
    deaf.child.stdout!.destroy();
    const log = reading(deaf.child, "stderr");
    const line = await until(() => /"url":"([^"]+)"/.exec(log()), "the log's listening line", 60_000);
    assert.equal((await get(`${line[1]}/stats`, { token: TOKEN })).status, 200);
    deaf.child.kill("SIGTERM");
    assert.deepEqual(await deaf.ended(), { status: 0, signal: null });
  });

  test("commands: a reader that has gone is no error; a full disk is one line", async (t) => {
    const { keys } = place(t);
    for (const args of [["openapi"], ["keys", "list", "--keys", keys], ["--help"]]) {
      const { child, ended } = launch(args, "pipe", "pipe");
      child.stdout!.destroy();
      const said = reading(child, "stderr");
      assert.deepEqual(await ended(), { status: 0, signal: null }, args.join(" "));
      assert.equal(said(), "");
    }
    const full = openSync("/dev/full", "w");
    const { child, ended } = launch(["openapi"], full, "pipe");
    closeSync(full);
    const said = reading(child, "stderr");
    assert.deepEqual(await ended(), { status: 1, signal: null });
    await until(() => said() !== "", "the line");
    assert.match(said(), /^orrery: cannot write to standard output: no space left on device \(ENOSPC\)\n$/);
  });

  test("a text arrives whole, however late it is read", () => {
    // A pipe of the shell's, since node throws away what nobody reads when a child ends. A page is all that it holds.
    const shrink = "import fcntl; fcntl.fcntl(1, 1031, 4096)";
    const script = `(python3 -c '${shrink}' 2> /dev/null; exec "$@") | (sleep 0.3; cat)`;
    const ran = spawnSync("sh", ["-c", script, "sh", ...COMMAND, "openapi"], {
      encoding: "utf8",
    });
    assert.equal(ran.stderr, "");
    assert.ok(ran.stdout.length > 10_000);
    assert.equal(typeof JSON.parse(ran.stdout), "object");
  });
});
