/** The log in a file: rotation cuts no line and loses none; whatever becomes of the file, nobody waits for it. */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  closeSync,
  constants,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { openLogFile } from "../src/observe/log/log-file.ts";
import { Sink } from "../src/observe/log/sink.ts";
import { until } from "./support/process.ts";

const folder = mkdtempSync(join(tmpdir(), "orrery-log-"));
after(() => rmSync(folder, { recursive: true }));

const PATIENCE_MS = 60_000;

/** All that is in a pipe by now. */
function drain(fd: number): string {
  const buffer = Buffer.alloc(65_536);
  let text = "";
  for (;;) {
    try {
      const bytes = readSync(fd, buffer);
      if (bytes === 0) return text;
      text += buffer.toString("latin1", 0, bytes);
    } catch {
      return text;
    }
  }
}

describe("a log file", () => {
  it("has every line once and whole, however often it is moved away", async () => {
    const file = join(folder, "rotated.log");
    const log = await openLogFile(file);
    assert.equal(log.isTTY, false);
    const count = 20_000;
    for (let line = 0; line < count; line++) {
      log.write(`${line} ${"x".repeat(line % 300)}.\n`);
      if (line % 1000 !== 500) continue;
      renameSync(file, `${file}.${line}`);
      assert.equal(await log.reopen(), undefined);
    }
    await log.flush(PATIENCE_MS);
    const files = readdirSync(folder).filter((name) => name.startsWith("rotated.log"));
    assert.equal(files.length, 21);
    const lines = files.flatMap((name) => {
      const text = readFileSync(join(folder, name), "latin1");
      assert.ok(text === "" || text.endsWith("\n"), name);
      return text.split("\n").slice(0, -1);
    });
    assert.equal(lines.length, count);
    assert.deepEqual(
      lines.map((line) => Number.parseInt(line, 10)).sort((a, b) => a - b),
      Array.from({ length: count }, (_, at) => at),
    );
    assert.ok(lines.every((line) => line.endsWith(".")));
    assert.equal(statSync(file).mode & 0o137, 0);
  });

  it("is made again when it is gone, and stays the old one while it cannot be", async () => {
    const place = join(folder, "place");
    mkdirSync(place);
    const file = join(place, "log");
    const log = await openLogFile(file);
    log.write("one\n");
    await log.flush(PATIENCE_MS);
    rmSync(file);
    assert.equal(await log.reopen(), undefined);
    log.write("two\n");
    await log.flush(PATIENCE_MS);
    assert.equal(readFileSync(file, "utf8"), "two\n");
    const moved = join(folder, "moved");
    renameSync(place, moved);
    assert.match(String(await log.reopen()), /ENOENT/);
    log.write("three\n");
    await log.flush(PATIENCE_MS);
    assert.equal(readFileSync(join(moved, "log"), "utf8"), "two\nthree\n");
  });

  it("is refused at once when it can be no file", async () => {
    await assert.rejects(openLogFile(folder), /EISDIR/);
    await assert.rejects(openLogFile(join(folder, "none", "log")), /ENOENT/);
  });

  it("can be a pipe whose reader comes late and goes; what does not fit is dropped and told of", async () => {
    const file = join(folder, "pipe");
    execFileSync("mkfifo", [file]);
    const log = await openLogFile(file);
    let dropped = 0;
    log.onDropped((lines) => {
      dropped += lines;
    });
    log.write("early\n");
    const reader = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
    await until(() => drain(reader) === "early\n", "the line from before");
    closeSync(reader);
    const line = `${"x".repeat(1023)}\n`;
    const count = 6000;
    for (let at = 0; at < count; at++) log.write(line);
    const next = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
    let bytes = 0;
    await until(() => {
      bytes += drain(next).length;
      return dropped > 0 && bytes / line.length + dropped === count;
    }, "every line, or that it was dropped");
    closeSync(next);
  });

  it("counts every line of a batch that is dropped, and writes bulk lines a moment later, or with the next other line", async () => {
    const file = join(folder, "bulk-pipe");
    execFileSync("mkfifo", [file]);
    const reader = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
    const log = await openLogFile(file);
    log.write("bulk\n", true);
    assert.equal(drain(reader), "");
    await until(() => drain(reader) === "bulk\n", "a bulk line by itself");
    log.write("bulk\n", true);
    log.write("other\n");
    await until(() => drain(reader) === "bulk\nother\n", "both in their order");
    let dropped = 0;
    log.onDropped((lines) => {
      dropped += lines;
    });
    const batch = `${"x".repeat(99)}\n`.repeat(100);
    const count = 500;
    for (let at = 0; at < count; at++) log.write(batch, true);
    let bytes = 0;
    await until(() => {
      bytes += drain(reader).length;
      return dropped > 0 && bytes / 100 + dropped === count * 100;
    }, "every line, or that it was dropped");
    closeSync(reader);
  });

  it("cuts no line in two when it moves on from a pipe that is full", async () => {
    const file = join(folder, "full-pipe");
    execFileSync("mkfifo", [file]);
    const reader = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
    const log = await openLogFile(file);
    let dropped = 0;
    log.onDropped((lines) => {
      dropped += lines;
    });
    const count = 200;
    for (let line = 0; line < count; line++) log.write(`${"x".repeat(1000)}.\n`);
    // The pipe is full in the middle of a line.
    await new Promise((resolve) => setTimeout(resolve, 50));
    renameSync(file, `${file}.old`);
    assert.equal(await log.reopen(), undefined);
    await log.flush(PATIENCE_MS);
    const isWhole = (line: string): boolean => /^x{1000}\.$/.test(line);
    const moved = readFileSync(file, "latin1").split("\n").slice(0, -1);
    assert.ok(moved.every(isWhole));
    const stayed = drain(reader).split("\n").filter(isWhole);
    closeSync(reader);
    assert.ok(moved.length > 0 && stayed.length > 0);
    assert.equal(moved.length + stayed.length + dropped, count);
  });

  it("is not waited for at the end where its reader has taken nothing for long", async () => {
    const file = join(folder, "stuck-pipe");
    execFileSync("mkfifo", [file]);
    const reader = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
    const sink = new Sink(openSync(file, constants.O_WRONLY | constants.O_NONBLOCK), 20);
    sink.write("x".repeat(1e6));
    const began = performance.now();
    await until(() => performance.now() - began > 200, "the reader counts as gone");
    await sink.flush(PATIENCE_MS);
    assert.ok(performance.now() - began < PATIENCE_MS / 2, "it was waited for");
    closeSync(reader);
  });

  it("on a full disk keeps what there is room for, and gives nobody an error", async () => {
    const log = await openLogFile("/dev/full");
    log.write("one\n");
    await log.flush(50);
    const file = join(folder, "room");
    // A rotation to a disk with room.
    assert.equal(await (await openLogFile(file)).reopen(), undefined);
  });
});
