/** The manifest of a snapshot: its required fields, and its comparison with the files. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { gzipSync } from "node:zlib";
import { ROW_FILES } from "../src/model/model.ts";
import { listed, manifestOf, snapshotFiles, user, withManifest } from "./support/folders.ts";
import { CANARY, lines, load, MIB, mustLoad, problemsOf } from "./support/loaded.ts";

describe("manifest", () => {
  const files = snapshotFiles({ "users.ndjson": `\ufeff\n${lines(user(1), user(2))}\r\n` });
  type Draft = ReturnType<typeof manifestOf>;

  async function loadWith(change: (draft: Draft) => unknown, stored = files) {
    const draft = manifestOf(stored, "g-1");
    const changed = change(draft) ?? draft;
    const text = Buffer.isBuffer(changed) || typeof changed === "string" ? changed : JSON.stringify(changed);
    return load(new Map(stored).set("manifest.json", Buffer.from(text)));
  }

  test("a right one names the generation", async () => {
    for (const generation of ["g-1", "A", "2026-01-01T00.00.00Z", "_", "x".repeat(64), ".."]) {
      const result = await loadWith((draft) => ({ ...draft, generation }));
      assert.equal(mustLoad(result).store.id, generation);
    }
  });

  test("a BOM, more fields, an upper-case hash and another order are fine", async () => {
    const result = await loadWith((draft) => {
      const entries = Object.entries(draft.files as Record<string, { sha256: string }>).reverse();
      for (const [, entry] of entries) Object.assign(entry, { sha256: entry.sha256.toUpperCase(), more: 1 });
      const files = Object.fromEntries(entries);
      return `\ufeff${JSON.stringify({ ...draft, files, more: [1] }, null, 2)}\n`;
    });
    assert.equal(mustLoad(result).store.id, "g-1");
  });

  test("gzipped files are listed as stored", async () => {
    const text = files.get("users.ndjson")!;
    const zipped = gzipSync(text);
    const stored = new Map(files).set("users.ndjson.gz", zipped);
    stored.delete("users.ndjson");
    const right = manifestOf(stored, "g-1");
    right.files["users.ndjson.gz"] = { ...listed(zipped), rows: 2 };
    assert.equal(mustLoad(await loadWith(() => right, stored)).store.id, "g-1");
    // Size and hash must be those of the stored file, not of the text inside.
    right.files["users.ndjson.gz"] = listed(text);
    const inside = problemsOf(await loadWith(() => right, stored));
    const both = /^manifest\.json: files: users\.ndjson\.gz: bytes: [^|]*\|.*sha256: [^|]*$/;
    assert.match(inside.join("|"), both);
    delete right.files["users.ndjson.gz"];
    right.files["users.ndjson"] = { ...listed(zipped), rows: 2 };
    assert.equal(problemsOf(await loadWith(() => right, stored)).length, 2);
  });

  type Change = (draft: Draft) => unknown;
  const EMPTY = listed(Buffer.alloc(0));
  const has =
    (fields: object): Change =>
    (draft) => ({ ...draft, ...fields });
  const lists =
    (name: string, entry: unknown): Change =>
    (draft) =>
      void Object.assign(draft.files, { [name]: entry });
  const says =
    (name: string, fields: object): Change =>
    (draft) =>
      void Object.assign(draft.files[name] as object, fields);

  /** Lists a file under another name, and what that name has under its own. */
  function renamed(files: Draft["files"], from: string, to: string): void {
    Object.assign(files, { [from]: files[to], [to]: files[from] });
  }

  const bad: [name: string, change: Change][] = [
    ["not JSON", () => `{"format":"${CANARY}`],
    ["an array", () => "[]"],
    ["not UTF-8", (draft) => Buffer.from(JSON.stringify({ ...draft, more: "\xff" }), "latin1")],
    ["larger than it could be", (draft) => JSON.stringify(draft) + " ".repeat(MIB)],
    ["no format", has({ format: undefined })],
    ["an unknown format", has({ format: "orrery-snapshot/2" })],
    ["a generation of 65", has({ generation: "x".repeat(65) })],
    ["a generation with a slash", has({ generation: "../x" })],
    ["a generation with a newline", has({ generation: "g\n" })],
    ["a time that is none", has({ createdAt: "2026-02-31T00:00:00Z" })],
    ["no files", has({ files: undefined })],
    ["files in an array", (draft) => ({ ...draft, files: Object.keys(draft.files) })],
    ...ROW_FILES.flatMap((name): [string, Change][] => [
      [`${name} not listed`, lists(name, undefined)],
      [`${name} listed as gzipped`, ({ files }) => renamed(files, name, `${name}.gz`)],
    ]),
    ["a gzipped file listed too", lists("users.ndjson.gz", EMPTY)],
    ["a name with ../", lists("../users.ndjson", EMPTY)],
    ["an absolute name", lists("/etc/passwd", EMPTY)],
    [
      "a name that objects have",
      (draft) => JSON.stringify(draft).replace('"files":{', '"files":{"__proto__":{"rows":0},'),
    ],
    ["an entry that is null", lists("worlds.ndjson", null)],
    ["one row more", says("users.ndjson", { rows: 3 })],
    ["rows counted with blank lines", says("users.ndjson", { rows: 4 })],
    ["rows as text", says("users.ndjson", { rows: "2" })],
    ["one byte less", says("instances.ndjson", { bytes: files.get("instances.ndjson")!.length - 1 })],
    ["bytes that are not whole", says("instances.ndjson", { bytes: 0.5 })],
    ["another hash", says("worlds.ndjson", { sha256: "0".repeat(64) })],
    ["two files mixed up", ({ files }) => renamed(files, "users.ndjson", "worlds.ndjson")],
  ];
  for (const [name, change] of bad) {
    test(`bad: ${name}`, async () => {
      const problems = problemsOf(await loadWith(change));
      for (const problem of problems) {
        assert.match(problem, /^manifest\.json: /);
        assert.doesNotMatch(problem, /canary|user 1/);
      }
    });
  }

  test("problems of rows and of the manifest's own form are both told", async () => {
    const problems = problemsOf(await load({ "users.ndjson": null, "manifest.json": '{"format":"x"}' }));
    for (const start of ["users.ndjson: ", "manifest.json: format: "])
      assert.ok(
        problems.some((problem) => problem.startsWith(start)),
        start,
      );
  });

  test("a changed row of the same length is noticed by the hash alone", async () => {
    const users = files.get("users.ndjson")!.toString().replace("user 1", "user 7");
    const stored = withManifest(files, "g-1").set("users.ndjson", Buffer.from(users));
    const problems = problemsOf(await load(stored));
    assert.match(problems.join("|"), /^manifest\.json: files: users\.ndjson: sha256: [^|]*$/);
  });
});
