/** The file of counts (`--state`): its contents, its refusals, clocks, and two servers with one file. */

import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { crc32 } from "node:zlib";
import { versionOf, writeCounts } from "../src/auth/counts-file.ts";
import { type CountsKeeper, keepCounts } from "../src/auth/keep-counts.ts";
import { countRequest, createCounters, slotOf, usageOf, windowAt } from "../src/auth/limit.ts";
import type { Observation } from "../src/observe/events.ts";
import { temporaryFolder } from "./support/folders.ts";
import { until } from "./support/process.ts";

const folder = temporaryFolder();
const keepers = new Set<CountsKeeper>();
after(async () => {
  for (const keeper of keepers) await keeper.stop();
});

const HOUR = 3600;
/** The middle of a window. */
const NOW = Date.parse("2026-01-01T00:30:00Z");
const IDS = ["key_1", "__proto__", "constructor", "é\u2028😀", 'a"\\\n', "x".repeat(5000), ""];

let files = 0;
const newFile = (): string => join(folder, `state-${++files}`);

interface OpenOptions {
  readonly now?: () => number;
  readonly ids?: readonly string[];
  readonly windowClock?: () => number;
}

/** A server that takes up the counts of a file. */
async function open(file: string, { now = () => NOW, ids = IDS, windowClock = now }: OpenOptions = {}) {
  const counters = createCounters(HOUR);
  for (const id of ids) slotOf(counters, id);
  const observations: Observation[] = [];
  const observe = (one: Observation) => observations.push(one);
  const keeper = await keepCounts({ file, counters, observe, everyMs: 5, windowClock });
  keepers.add(keeper);
  return {
    counters,
    observations,
    keeper,
    use(id: string, times: number, at = now()) {
      for (let n = 0; n < times; n++) countRequest(counters, slotOf(counters, id), 1e9, at);
    },
    used: (id: string) => usageOf(counters, slotOf(counters, id)).used,
    kinds: () => observations.map(({ kind }) => kind),
  };
}

/** A file of counts, written by a server that then stops. */
async function saved(file: string, uses: Readonly<Record<string, number>>, now = NOW): Promise<void> {
  const server = await open(file, { now: () => now, ids: Object.keys(uses) });
  for (const [id, times] of Object.entries(uses)) server.use(id, times);
  await save(server);
}

/** Begins to keep the counts, then stops, which writes them. */
async function save({ keeper }: { readonly keeper: CountsKeeper }): Promise<void> {
  keeper.begin();
  await keeper.stop();
}

describe("a file of counts", () => {
  it("keeps counts of any id over a restart, for its owner alone", async () => {
    const file = newFile();
    const first = await open(file);
    for (const [at, id] of IDS.entries()) first.use(id, at + 1);
    await save(first);
    assert.deepEqual(first.observations, []);
    assert.equal(statSync(file).mode & 0o777, 0o600);
    const second = await open(file);
    for (const [at, id] of IDS.entries()) assert.equal(second.used(id), at + 1, id);
    const reset = (windowAt(second.counters, NOW) + 1) * HOUR;
    assert.deepEqual(second.observations, [{ kind: "state-restored", file, keys: IDS.length, reset }]);
  });

  it("is written again while counts grow or the file is gone, and only then", async () => {
    const file = newFile();
    const server = await open(file);
    server.keeper.begin();
    await until(() => existsSync(file), "the first file");
    server.use("key_1", 3);
    await until(() => readFileSync(file, "utf8").includes('["key_1",3]'), "the count");
    const { ino } = statSync(file);
    await new Promise((resolve) => setTimeout(resolve, 50));
    assert.equal(statSync(file).ino, ino, "nothing has changed");
    rmSync(file);
    await until(() => existsSync(file), "the file again");
    await server.keeper.stop();
    assert.deepEqual(server.observations, []);
  });

  it("gives other keys their turn while it is written", async () => {
    const file = newFile();
    const ids = Array.from({ length: 100_000 }, (_, at) => `key_${at}`);
    const server = await open(file, { ids });
    for (const id of ids) server.use(id, 1);
    let turns = 0;
    const counting = setInterval(() => turns++, 0);
    server.keeper.begin();
    // A stop waits two seconds, too short for the first save on a busy machine.
    await until(() => existsSync(file), "the file");
    await server.keeper.stop();
    clearInterval(counting);
    assert.ok(turns > 10, `${turns} turns of the event loop`);
    assert.equal(readFileSync(file, "utf8").split("\n").length, ids.length + 3);
  });

  it("takes away what servers left that were killed while they wrote, and nothing else", async () => {
    const file = newFile();
    const names = [".0123456789abcdef.tmp", ".123.tmp", ".0123456789abcdef.tmp.old"].map((end) => file + end);
    const young = `${file}.fedcba9876543210.tmp`;
    for (const name of [...names, young]) writeFileSync(name, "x");
    for (const name of names) utimesSync(name, 1e9, 1e9);
    await open(file);
    const isThere = [...names, young].map((name) => existsSync(name));
    assert.deepEqual(isThere, [false, true, true, true]);
    for (const name of [...names.slice(1), young]) rmSync(name);
  });

  it("holds ids alone of what is known of keys", async () => {
    const file = newFile();
    await saved(file, { key_1: 5 });
    const lines = readFileSync(file, "utf8").split("\n");
    assert.match(lines[0]!, /^\{"format":"orrery-counts\/1","windowSeconds":3600,"window":\d+\}$/);
    assert.deepEqual(lines.slice(1, 2), ['["key_1",5]']);
    assert.match(lines[2]!, /^\{"keys":1,"crc32":"[0-9a-f]{8}"\}$/);
  });
});

/** The text of a file with a correct checksum. */
function sealed(head: string, ...lines: readonly string[]): string {
  const text = `${[head, ...lines].join("\n")}\n`;
  return `${text}{"keys":${lines.length},"crc32":"${crc32(text).toString(16).padStart(8, "0")}"}\n`;
}

function headOf(change: Readonly<Record<string, unknown>> = {}): string {
  return JSON.stringify({
    format: "orrery-counts/1",
    windowSeconds: HOUR,
    window: Math.floor(NOW / 1000 / HOUR),
    ...change,
  });
}

describe("a file of counts that cannot be used", () => {
  const whole = sealed(headOf(), '["key_1",5]', '["key_2",6]');
  const only = (change: Readonly<Record<string, unknown>>): string => sealed(headOf(change), '["key_1",5]');
  const window = Math.floor(NOW / 1000 / HOUR);
  const cases: Readonly<Record<string, [text: string, problem: RegExp]>> = {
    empty: ["", /is empty/],
    "a line of a megabyte": [`${headOf().slice(0, -1)}${"[".repeat(1_000_000)}`, /has no end/],
    "JSON a thousand deep": [sealed(headOf(), "[".repeat(60_000)), /no count/],
    "another version": [only({ format: "orrery-counts/2" }), /another version/],
    "a head of wrong types": [only({ window: "1" }), /first line/],
    "another window length": [only({ windowSeconds: 60 }), /windows of 60 s, not of 3600 s/],
    "an older window": [only({ window: 5 }), /window that is over/],
    "the window before": [only({ window: window - 1 }), /window that is over/],
    "a negative count": [sealed(headOf(), '["key_1",-5]'), /no count/],
    "an object for a count": [whole.replace('["key_2",6]', '{"a":1}'), /after its last line/],
    truncated: [whole.slice(0, -10), /no end/],
    "a changed digit": [whole.replace('"key_1",5', '"key_1",4'), /checksum/],
    "trailing bytes": [`${whole}x\n`, /after its last line/],
    "a gigabyte": [whole, /too large/],
  };
  for (const [name, [text, problem]] of Object.entries(cases)) {
    it(`is told of and replaced: ${name}`, async () => {
      const file = newFile();
      writeFileSync(file, text);
      if (name === "a gigabyte") truncateSync(file, 2 ** 30);
      const server = await open(file);
      const [told, ...others] = server.observations;
      assert.ok(told?.kind === "state-refused" && others.length === 0);
      assert.match(told.problem, problem);
      assert.equal("isOld" in told, String(problem).includes("is over"));
      for (const id of IDS) assert.equal(server.used(id), 0, "nothing of it is taken");
      server.use("key_1", 2);
      await save(server);
      const next = await open(file);
      assert.equal(next.used("key_1"), 2);
      assert.deepEqual(server.observations.slice(1), []);
    });
  }

  it("may come later: a folder that is missing", async () => {
    const away = newFile();
    const other = await open(join(away, "state"));
    other.keeper.begin();
    await until(() => other.observations.length === 1, "the failure");
    mkdirSync(away);
    await until(() => other.observations.length === 2, "the recovery");
    assert.deepEqual(other.kinds(), ["state-failed", "state-recovered"]);
    await other.keeper.stop();
    assert.deepEqual(readdirSync(away), ["state"]);
    assert.equal(readdirSync(folder).filter((name) => name.endsWith(".tmp")).length, 0);
  });
});

describe("a file of something else", () => {
  const cases: Readonly<Record<string, (file: string) => unknown>> = {
    "a keys file": (file) => writeFileSync(file, '{"keys":[]}\n'),
    text: (file) => writeFileSync(file, "hello\n"),
    "one byte": (file) => writeFileSync(file, "{"),
    "an object with a prototype": (file) =>
      writeFileSync(file, '{"__proto__":{"format":"orrery-counts/1"}}\n'),
    zeros: (file) => writeFileSync(file, Buffer.alloc(1000)),
    "a FIFO": (file) => execFileSync("mkfifo", [file]),
    "a folder": (file) => mkdirSync(file),
  };
  const lookOf = (file: string) => {
    const { ino, mtimeMs, size } = lstatSync(file);
    return { ino, mtimeMs, size };
  };
  for (const [name, make] of Object.entries(cases)) {
    it(`is told of and left as it is: ${name}`, async () => {
      const file = newFile();
      make(file);
      const before = lookOf(file);
      const server = await open(file);
      server.use("key_1", 1);
      await save(server);
      assert.deepEqual(server.kinds(), ["state-refused", "state-failed"]);
      assert.match((server.observations[1] as { problem: string }).problem, /, and is not replaced$/);
      assert.deepEqual(lookOf(file), before);
    });

    it(`is told of once and left as it is when it comes while a server runs: ${name}`, async () => {
      const file = newFile();
      const server = await open(file);
      server.keeper.begin();
      await until(() => existsSync(file), "the first file");
      rmSync(file);
      make(file);
      const before = lookOf(file);
      server.use("key_1", 1);
      await until(() => server.observations.length > 0, "the failure");
      await new Promise((resolve) => setTimeout(resolve, 60));
      assert.deepEqual(server.kinds(), ["state-failed"]);
      assert.deepEqual(lookOf(file), before);
      rmSync(file, { recursive: true });
      await until(() => server.kinds().includes("state-recovered"), "the recovery");
      await server.keeper.stop();
    });
  }

  it("is left as it is behind a link, too, and so is a device", async (t) => {
    const target = newFile();
    const link = newFile();
    writeFileSync(target, "hello\n");
    symlinkSync(target, link);
    await saved(link, { key_1: 1 });
    assert.equal(readFileSync(target, "utf8"), "hello\n");
    assert.ok(lstatSync(link).isSymbolicLink());
    // Makes its own device: a mistake here must not destroy the machine's null device.
    const device = newFile();
    if (spawnSync("mknod", [device, "c", "1", "3"]).status !== 0) return t.skip("no device can be made");
    await saved(device, { key_1: 1 });
    assert.ok(lstatSync(device).isCharacterDevice());
  });

  it("is none where a link leads to a file that is missing: that one is made", async () => {
    const target = newFile();
    const file = newFile();
    symlinkSync(target, file);
    await saved(file, { key_1: 3 });
    assert.ok(lstatSync(file).isSymbolicLink());
    assert.equal((await open(target)).used("key_1"), 3);
  });
});

describe("a clock", () => {
  it("that is set back into the window before gives no request back", async () => {
    const file = newFile();
    await saved(file, { key_1: 5 }, NOW + HOUR * 1000);
    const back = await open(file);
    back.use("key_1", 1);
    assert.deepEqual(usageOf(back.counters, 0), { window: windowAt(back.counters, NOW) + 1, used: 6 });
    // Written while the clock is late, read once it is right again.
    back.use("key_2", 2);
    await save(back);
    const right = await open(file, { now: () => NOW + HOUR * 1000 });
    assert.deepEqual([right.used("key_1"), right.used("key_2")], [6, 0]);
  });

  it("that is behind by hours at a start leaves counts of later windows in the file, until it jumps forward", async () => {
    const file = newFile();
    const later = NOW + 5 * HOUR * 1000;
    await saved(file, { key_1: 5, key_2: 3 }, later);
    const begins = windowAt(createCounters(HOUR), later) * HOUR;
    // Two starts with the wrong clock: each file keeps what the one before kept.
    for (const at of [NOW, NOW - 3 * HOUR * 1000]) {
      const wrong = await open(file, { now: () => at });
      assert.deepEqual([wrong.used("key_1"), wrong.used("key_2")], [0, 0]);
      wrong.use("key_1", 2);
      await save(wrong);
      const told = wrong.observations[0];
      assert.ok(told?.kind === "state-set-aside" && told.counts >= 2);
      assert.equal(told.begins, at === NOW ? begins : windowAt(wrong.counters, NOW) * HOUR);
    }
    let time = NOW - 3 * HOUR * 1000;
    const server = await open(file, { now: () => time });
    server.keeper.begin();
    server.use("key_1", 1);
    time = later;
    await until(() => server.used("key_1") === 5 && server.used("key_2") === 3, "the counts set aside");
    await until(() => readFileSync(file, "utf8").includes('["key_1",5]\n["key_2",3]\n{"keys":2'), "the file");
    await server.keeper.stop();
    assert.deepEqual(server.kinds(), ["state-restored", "state-set-aside", "state-restored"]);
  });

  it("that is set back by hours in a running server loses no count of the later window", async () => {
    const file = newFile();
    let time = NOW;
    const first = await open(file, { now: () => time });
    first.use("key_1", 5);
    time -= 5 * HOUR * 1000;
    await save(first);
    const right = await open(file);
    assert.equal(right.used("key_1"), 5);
  });

  it("that is not the one of windows neither loses counts nor brings old ones", async () => {
    const file = newFile();
    // The windows follow the clock of another machine, an hour and a half late.
    const late = NOW - 1.5 * HOUR * 1000;
    const first = await open(file, { windowClock: () => late });
    first.use("key_1", 7, late);
    await save(first);
    const { counters } = await open(file, { windowClock: () => late });
    assert.deepEqual(usageOf(counters, slotOf(counters, "key_1")), {
      window: windowAt(counters, late),
      used: 7,
    });
  });
});

it("tells its writer which version is its own, also when another server replaces it at that moment", async () => {
  const file = newFile();
  const head = { windowSeconds: HOUR, window: windowAt(createCounters(HOUR), NOW) };
  const write = (used: number) => writeCounts(file, head, [{ id: "key_1", used, window: head.window }]);
  for (let round = 0; round < 30; round++) {
    const versions = await Promise.all([write(1), write(2)]);
    const own = versions.filter((version) => version === versionOf(statSync(file)));
    assert.equal(own.length, 1, `round ${round}: ${versions.join(", ")}`);
  }
});

it("is that of the younger of two servers when the older has stopped, and never a mixture", async () => {
  const file = newFile();
  const old = await open(file);
  old.use("key_1", 10);
  old.keeper.begin();
  await until(() => existsSync(file), "its file");
  const next = await open(file);
  assert.equal(next.used("key_1"), 10);
  next.keeper.begin();
  next.use("key_1", 3);
  old.use("key_1", 2);
  await old.keeper.stop();
  await until(() => readFileSync(file, "utf8").includes('["key_1",13]'), "the file of the younger");
  await next.keeper.stop();
  assert.equal((await open(file)).used("key_1"), 13);
  assert.deepEqual([next.kinds(), old.kinds()], [["state-restored"], []]);
});
