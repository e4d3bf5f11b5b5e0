/** A mirror: its journal after a kill or damage, and rows that no snapshot could hold. */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { hold } from "../src/files/ownership.ts";
import { Journal } from "../src/sources/mirror/journal.ts";
import { readWorlds } from "../src/sources/mirror/rows.ts";
import { temporaryFolder, world } from "./support/folders.ts";

const FROM = "http://a.example/api/public/v1";

async function reopened(folder: string, from = FROM): Promise<{ journal: Journal; told: string[] }> {
  const told: string[] = [];
  const journal = await Journal.open(folder, from, (sentence) => told.push(sentence));
  return { journal, told };
}

async function fill(folder: string): Promise<string> {
  const { journal } = await reopened(folder);
  for (let at = 0; at < 5; at++) {
    await journal.put(`/worlds/${at}`, { at: 1000 + at, etag: '"g"', value: { text: `\u2028 ${at} "` } });
  }
  await journal.drop(["/worlds/1"]);
  await journal.put("/worlds/2", { at: 2000, etag: undefined, value: null });
  await journal.close();
  return join(folder, "journal.ndjson");
}

describe("a journal", () => {
  it("is a file: a pipe or a folder in its place is refused at once", async (t) => {
    const [pipe, place] = [temporaryFolder(t), temporaryFolder(t)];
    execFileSync("mkfifo", [join(pipe, "journal.ndjson")]);
    mkdirSync(join(place, "journal.ndjson"));
    for (const folder of [pipe, place]) await assert.rejects(reopened(folder), /is not a regular file$/);
  });

  it("gives back what was put into it", async (t) => {
    const folder = temporaryFolder(t);
    await fill(folder);
    const { journal, told } = await reopened(folder);
    assert.deepEqual([...journal.entries.keys()], ["/worlds/0", "/worlds/2", "/worlds/3", "/worlds/4"]);
    assert.deepEqual(journal.entries.get("/worlds/3"), {
      at: 1003,
      etag: '"g"',
      value: { text: '\u2028 3 "' },
    });
    assert.deepEqual(journal.entries.get("/worlds/2"), { at: 2000, etag: undefined, value: null });
    assert.equal(journal.lastAt, 2000);
    assert.equal(journal.sentAt.length, 6);
    assert.deepEqual(told, []);
    await journal.close();
  });

  it("that was cut off anywhere goes on after its last whole line", async (t) => {
    const folder = temporaryFolder(t);
    const file = await fill(folder);
    const whole = readFileSync(file);
    const firstLine = whole.indexOf(10) + 1;
    for (let bytes = firstLine; bytes < whole.length; bytes += 7) {
      writeFileSync(file, whole.subarray(0, bytes));
      const { journal, told } = await reopened(folder);
      assert.deepEqual(told, [], `${bytes} bytes`);
      await journal.put("/new", { at: 3000, etag: undefined, value: 1 });
      await journal.close();
      const again = await reopened(folder);
      assert.deepEqual(again.told, [], `${bytes} bytes, once more`);
      assert.equal(again.journal.entries.get("/new")?.value, 1);
      await again.journal.close();
    }
  });

  it("with one bit that is another, or of another server, is begun afresh and says so", async (t) => {
    const folder = temporaryFolder(t);
    const file = await fill(folder);
    const whole = readFileSync(file);
    for (let at = 0; at < whole.length - 1; at += 13) {
      const bytes = Buffer.from(whole);
      bytes[at]! ^= 1;
      writeFileSync(file, bytes);
      const { journal, told } = await reopened(folder);
      // Joined lines or an unfinished last line mean a kill or a wrong checksum.
      assert.equal(told.length, 1, `byte ${at}`);
      assert.match(told[0]!, /it is damaged; beginning afresh$/);
      assert.equal(journal.entries.size, 0);
      await journal.close();
    }
    writeFileSync(file, whole);
    const { journal, told } = await reopened(folder, "http://b.example/api/public/v1");
    assert.match(told[0]!, /it is of http:\/\/a\.example\/api\/public\/v1; beginning afresh$/);
    assert.equal(journal.entries.size, 0);
    await journal.close();
    assert.deepEqual((await reopened(folder, "http://b.example/api/public/v1")).told, []);
  });
});

it("a folder is held by one at a time, and taken over from a process that is gone", async (t) => {
  const mark = join(temporaryFolder(t), "work.owner");
  const first = await hold(mark);
  await assert.rejects(hold(mark), { name: "HeldError" });
  const text = JSON.parse(readFileSync(mark, "utf8")) as { begin: string };
  await first.release();
  // The mark of another process with the same id, which began at another time.
  writeFileSync(mark, JSON.stringify({ ...text, begin: "1" }));
  const claims = await Promise.allSettled(Array.from({ length: 8 }, () => hold(mark)));
  const held = claims.filter((claim) => claim.status === "fulfilled");
  assert.equal(held.length, 1, "eight at once took it over");
  await held[0]!.value.release();
});

const ID = "00000000-0000-4000-8000-00000000000A";

const ROW = world(1, { id: ID, ownerId: ID, description: null });

function read(row: object) {
  return readWorlds("/worlds?limit=50", { data: [row], pagination: { total: 1, limit: 50, offset: 0 } });
}

describe("rows of another server", () => {
  it("are taken with their ids in small letters", () => {
    const { status: _, ...served } = ROW;
    const id = ID.toLowerCase();
    assert.deepEqual(read(ROW).rows, [{ ...served, id, ownerId: id, description: "" }]);
  });

  for (const [field, value] of [
    ...["id", "ownerId"].flatMap((name) =>
      ["", "..", "../../etc", "__proto__", "a\u001b[31m\nb"].map((text) => [name, text]),
    ),
    ...["createdAt", "updatedAt"].map((name) => [name, "2026-02-31T00:00:00Z"]),
  ] as const) {
    it(`are refused: ${field} ${JSON.stringify(value)}`, () => {
      const message = new RegExp(`^/worlds\\?limit=50: .*: ${field} must be a (UUID|time)$`);
      assert.throws(() => read({ ...ROW, [field!]: value }), { message });
    });
  }
});
