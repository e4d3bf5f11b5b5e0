/** The log: its lines, how they are written, a terminal, and batches of other threads. */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { closeSync, constants, openSync, readFileSync, readSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { setImmediate } from "node:timers/promises";
import { keepStatusBelow } from "../src/cli/console.ts";
import { CLEAR_LINE } from "../src/cli/terminal.ts";
import { PROGRAM } from "../src/features.ts";
import { createLog } from "../src/observe/log/log.ts";
import { Sink } from "../src/observe/log/sink.ts";
import { BatchSender, type ObservationBatch } from "../src/server/threads/serving-messages.ts";
import { temporaryFolder } from "./support/folders.ts";
import { OBSERVATIONS } from "./support/observations.ts";
import { jsonLines, type LogLine, until } from "./support/process.ts";

/** The lines of some observations, by default of every form that there is. */
function logged(level: string, isPretty = false, observations = OBSERVATIONS): string[] {
  const lines: string[] = [];
  const observe = createLog(PROGRAM.tables.events, level, { isPretty, write: (text) => lines.push(text) });
  for (const observation of observations) observe(observation);
  return lines;
}

describe("the log", () => {
  it("shows of an error its message and stack, and no other property", () => {
    const line = logged("info").find((text) => text.includes('"event":"defect"'))!;
    assert.match(line, /boom/);
    assert.doesNotMatch(line, /canary/);
  });

  it("leaves out what is below its level, except requests and the loss of lines", () => {
    const eventsAt = (level: string) => jsonLines(logged(level).join("")).map(({ event }) => event);
    const all = jsonLines(logged("info").join(""));
    const always = ["request", "log-lines-dropped"];
    for (const [least, levels] of Object.entries({ error: ["error"], warn: ["error", "warn"] })) {
      const isWanted = ({ level, event }: LogLine) =>
        levels.includes(String(level)) || always.includes(event);
      const events = eventsAt(least);
      assert.deepEqual(
        events,
        all.flatMap((line) => (isWanted(line) ? [line.event] : [])),
      );
      assert.ok(events.length > 10 && events.length < all.length);
    }
    assert.deepEqual([...new Set(eventsAt("silent"))], always);
  });

  it("shows a terminal no control characters", () => {
    const [line] = logged("info", true, [{ kind: "keys-refused", problem: "\u001b[2J\u009b2J\n" }]);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: the test looks for them
    assert.doesNotMatch(line!.slice(0, -1), /[\u0000-\u001f\u007f-\u009f]/);
  });
});

const folder = temporaryFolder();

/** A pipe, and a function that opens it for non-blocking reads. */
function makePipe(name: string) {
  const file = join(folder, name);
  execFileSync("mkfifo", [file]);
  return { file, openReader: () => openSync(file, constants.O_RDONLY | constants.O_NONBLOCK) };
}

const toWrite = (file: string): number =>
  openSync(file, constants.O_WRONLY | constants.O_CREAT | constants.O_NONBLOCK);

/** Writes to a file or a pipe with a reader, and counts the lines that are reported as dropped. */
function openCounting(file: string) {
  const log = new Sink(toWrite(file));
  let dropped = 0;
  log.onDropped((lines) => {
    dropped += lines;
  });
  return { log, dropped: () => dropped };
}

/** Waits until each of `count` lines of a length was read or dropped, and some were dropped. */
async function untilAllAreReadOrDropped(
  reader: number,
  dropped: () => number,
  count: number,
  length: number,
) {
  let bytes = 0;
  await until(() => {
    bytes += drain(reader).length;
    return dropped() > 0 && bytes / length + dropped() === count;
  }, "every line, or that it was dropped");
  closeSync(reader);
}

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

describe("an output of the log", () => {
  it("has every line once and whole", async () => {
    const file = join(folder, "lines.log");
    const log = new Sink(toWrite(file));
    assert.equal(log.isTTY, false);
    const lines = Array.from({ length: 20_000 }, (_, line) => `${line} ${"x".repeat(line % 300)}.\n`);
    for (const line of lines) log.write(line);
    await log.flush(60_000);
    assert.equal(readFileSync(file, "latin1"), lines.join(""));
  });

  it("may have a reader that goes and comes back; what does not fit is dropped and told of", async () => {
    const { file, openReader } = makePipe("pipe");
    const first = openReader();
    const { log, dropped } = openCounting(file);
    closeSync(first);
    const seen: string[] = [];
    log.watch((one) => seen.push(one.kind));
    log.write("early\n");
    await until(() => seen.join() === "log-failed", "the failure");
    const reader = openReader();
    await until(() => drain(reader) === "early\n", "the line from before");
    await until(() => seen.join() === "log-failed,log-recovered", "its end");
    closeSync(reader);
    for (let at = 0; at < 6000; at++) log.write(`${"x".repeat(1023)}\n`);
    await untilAllAreReadOrDropped(openReader(), dropped, 6000, 1024);
  });

  it("counts every line of a batch that is dropped, and writes bulk lines a moment later, or with the next other line", async () => {
    const { file, openReader } = makePipe("bulk-pipe");
    const reader = openReader();
    const { log, dropped } = openCounting(file);
    log.write("bulk\n", true);
    assert.equal(drain(reader), "");
    await until(() => drain(reader) === "bulk\n", "a bulk line by itself");
    log.write("bulk\n", true);
    log.write("other\n");
    await until(() => drain(reader) === "bulk\nother\n", "both in their order");
    const batch = `${"x".repeat(99)}\n`.repeat(100);
    for (let at = 0; at < 500; at++) log.write(batch, true);
    await untilAllAreReadOrDropped(reader, dropped, 50_000, 100);
  });

  it("is not waited for at the end where its reader has taken nothing for long", async () => {
    const { file, openReader } = makePipe("stuck-pipe");
    const reader = openReader();
    const sink = new Sink(toWrite(file), 20);
    sink.write("x".repeat(1e6));
    const began = performance.now();
    await until(() => performance.now() - began > 200, "the reader counts as gone");
    await sink.flush(60_000);
    assert.ok(performance.now() - began < 30_000, "it was waited for");
    closeSync(reader);
  });

  it("on a full disk keeps what there is room for, gives nobody an error, and says since when", async () => {
    const log = new Sink(openSync("/dev/full", "w"));
    const seen: string[] = [];
    log.watch((one) => seen.push(one.kind === "log-failed" ? one.problem : one.kind));
    log.write("one\n");
    await until(() => seen.length > 0, "the failure");
    log.watch((one) => seen.push(`later ${one.kind}`));
    log.write(`${"x".repeat(5e6)}\n`);
    assert.deepEqual(seen.splice(0), [
      "no space left on device (ENOSPC)",
      "later log-failed",
      "log-lines-dropped",
      "later log-lines-dropped",
    ]);
  });
});

/** The rows that a terminal would show, without wrapping long ones. */
function shown(output: string): string[] {
  const rows = output.replaceAll(CLEAR_LINE, "\r").split("\n");
  return rows.map((row) => row.slice(row.lastIndexOf("\r") + 1));
}

describe("a status line", () => {
  it("stays below other lines, and goes when it is taken away", () => {
    let output = "";
    const { write, status } = keepStatusBelow((text) => {
      output += text;
    });
    for (const [line, text] of Object.entries({ one: "", two: "50 %", three: "60 %", four: "" })) {
      status(`${CLEAR_LINE}${text}`);
      write(`${line}\n`);
      assert.deepEqual(shown(output).slice(-2), [line, text]);
    }
    assert.deepEqual(shown(output), ["one", "two", "three", "four", ""]);
  });
});

const request = OBSERVATIONS.find(({ kind }) => kind === "request")!;

async function turn(): Promise<void> {
  await setImmediate();
  await setImmediate();
}

describe("observations of a thread", () => {
  it("are bounded while nobody takes them, those of requests first, and the rest is counted", async () => {
    const batches: ObservationBatch[] = [];
    const sender = new BatchSender((batch) => batches.push(batch));
    for (const _ of [1, 2]) {
      for (let n = 0; n < 100_000; n++) sender.observe(request);
      await turn();
    }
    assert.equal(batches.length, 1, "one is in transit");
    sender.observe({ kind: "keys-loaded", keys: 1, added: 1, changed: 0, removed: 0 });
    const kept = (): number => batches.reduce((sum, { observations }) => sum + observations.length, 0);
    for (let taken = 0; taken < batches.length; taken++) sender.flush();
    assert.ok(kept() < 20_000, `${kept()} were kept`);
    const dropped = batches.reduce((sum, batch) => sum + batch.dropped, 0);
    assert.equal(kept() + dropped, 200_001);
    assert.equal(batches.at(-1)!.observations.at(-1)!.kind, "keys-loaded");
    // It goes on as before.
    sender.observe(request);
    await turn();
    assert.equal(kept() + dropped, 200_002);
  });
});
