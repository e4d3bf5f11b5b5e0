/** Prepared files that are damaged, forged or out of place: refused in one line. */

import assert from "node:assert/strict";
import { copyFileSync, cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { crc32 } from "node:zlib";
import fc from "fast-check";
import { PREPARED } from "../src/snapshot/files.ts";
import { loadSnapshot } from "../src/snapshot/load.ts";
import { decodeHead, decodePrefix, PREFIX_BYTES } from "../src/snapshot/prepared/head.ts";
import { PREPARED_VERSION } from "../src/snapshot/prepared/layout.ts";
import { lettersOf } from "../src/snapshot/prepared/letters.ts";
import { PlaceError } from "../src/util/user-error.ts";
import { listed, temporaryFolder, user, writeSnapshot } from "./support/folders.ts";
import { mustLoad, problemsOf } from "./support/loaded.ts";
import { part } from "./support/long.ts";
import { forge, partsOf, prepare, refusalOf } from "./support/prepared.ts";

const root = temporaryFolder();
const good = join(root, "good");
const rows = join(root, "rows");
const bad = join(root, "bad");
writeSnapshot(rows, { "users.ndjson": [user(1), user(2, { displayName: "Zoë" })] });
await prepare(rows, good);
const file = readFileSync(join(good, PREPARED));

/** Reads a head as a load does. */
function decode(stored: Buffer): void {
  const bytes = decodePrefix(stored.subarray(0, PREFIX_BYTES));
  decodeHead(stored.subarray(0, PREFIX_BYTES + bytes));
}

describe("damage", () => {
  test("of any byte of the head is found", () => {
    const { body } = partsOf(good);
    const head = Buffer.from(file.subarray(0, file.length - body.length));
    decode(head);
    for (let at = 0; at < head.length; at++) {
      head[at]! ^= 1 << (at % 8);
      assert.throws(() => decode(head), PlaceError, `byte ${at}`);
      head[at]! ^= 1 << (at % 8);
    }
  });

  test("of any byte, a cut anywhere and bytes after the end are refused in one line", async () => {
    const last = file.length - 1;
    const places = fc.oneof(fc.nat(last), fc.integer({ min: last - 63, max: last }));
    await fc.assert(
      fc.asyncProperty(places, fc.nat(7), async (at, bit) => {
        const flipped = Buffer.from(file);
        flipped[at]! ^= 1 << bit;
        assert.match(await refusalOf(bad, flipped), /^generation\.orrery: /);
        assert.match(await refusalOf(bad, file.subarray(0, at)), /^generation\.orrery: is truncated/);
      }),
      { numRuns: part(40) },
    );
    const longer = Buffer.concat([file, Buffer.from("\n")]);
    assert.equal(await refusalOf(bad, longer), "generation.orrery: there are 1 bytes after its end");
    assert.equal(await refusalOf(bad, Buffer.alloc(0)), "generation.orrery: is truncated");
    assert.equal(await refusalOf(bad, Buffer.from("{}")), "generation.orrery: is not a prepared snapshot");
    const limited = await refusalOf(bad, file, { maxBytes: file.length - 1 });
    assert.match(limited, /^generation\.orrery: the snapshot is larger than 16 GiB/);
  });

  test("names what is damaged, and another version", async () => {
    const { head, body } = partsOf(good);
    const start = file.length - body.length;
    for (const [path, , offset, bytes] of head.arrays) {
      if (bytes === 0) continue;
      const flipped = Buffer.from(file);
      // The last byte of the padding, which is zero.
      flipped[start + Math.ceil((offset + bytes) / 64) * 64 - 1]! ^= 1;
      assert.equal(await refusalOf(bad, flipped), `generation.orrery: ${path} has a wrong checksum`);
    }
    const newer = Buffer.from(file);
    newer.writeUInt32LE(PREPARED_VERSION + 1, 16);
    newer.writeUInt32LE(crc32(newer.subarray(0, 28)), 28);
    assert.match(
      await refusalOf(bad, newer),
      /^generation\.orrery: has format version \d+, .*reads version \d+; make it again with orrery build$/,
    );
  });
});

test("a file is not believed that this runtime folds its text as the one did that built it", async () => {
  const parts = partsOf(good);
  const { values } = parts.head;
  values.folding = (Number(values.folding) ^ 1) >>> 0;
  const line = await refusalOf(bad, forge(parts, parts.head));
  assert.match(line, /^generation\.orrery: .*Unicode.*build it again/);
});

test("the characters beyond ASCII are found in any UTF-8", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary", maxLength: 20 }), (text) => {
      const expected = new Set(Array.from(text.toWellFormed(), (letter) => letter.codePointAt(0)!));
      const above = [...expected].filter((code) => code > 0x7f).sort((a, b) => a - b);
      assert.deepEqual([...lettersOf([Buffer.from(text)])], above);
    }),
    { numRuns: part(150) },
  );
});

describe("a folder", () => {
  test("that holds rows, too, is refused in one line, whatever else is wrong with it", async () => {
    const both = join(root, "both");
    for (const names of [["users.ndjson"], ["worlds.ndjson.gz", "worlds.ndjson"]]) {
      rmSync(both, { recursive: true, force: true });
      cpSync(good, both, { recursive: true });
      for (const name of names) writeFileSync(join(both, name), "broken");
      writeFileSync(join(both, "manifest.json"), "broken");
      const problems = problemsOf(await loadSnapshot(both));
      assert.equal(problems.length, 1);
      assert.match(problems[0]!, /^generation\.orrery: (users|worlds)\.ndjson exists as well; /);
    }
  });

  test("may have a manifest, which names the generation and must be right", async () => {
    const folder = join(root, "listed");
    mkdirSync(folder);
    copyFileSync(join(good, PREPARED), join(folder, PREPARED));
    const right = listed(file);
    const load = (generation: string, files: object) => {
      const manifest = { format: "orrery-snapshot/1", generation, files };
      writeFileSync(join(folder, "manifest.json"), JSON.stringify(manifest));
      return loadSnapshot(folder);
    };
    const { bytes, sha256 } = right;
    const named = mustLoad(await load("named-1", { [PREPARED]: { bytes, sha256 } })).store;
    assert.equal(named.id, "named-1");
    const { store } = mustLoad(await loadSnapshot(good));
    assert.notEqual(named.contents, store.contents);
    assert.equal(mustLoad(await load(store.id, { [PREPARED]: right })).store.contents, store.contents);
    assert.equal(mustLoad(await load("named-1", { [PREPARED]: right })).store.contents, named.contents);
    const wrong: readonly [files: object, says: RegExp][] = [
      [{ [PREPARED]: { ...right, sha256: "0".repeat(64) } }, /^generation\.orrery: sha256: /],
      [{ [PREPARED]: { ...right, bytes: 1 } }, /^generation\.orrery: bytes: /],
      [{}, /^generation\.orrery is not listed$/],
      [{ [PREPARED]: right, "users.ndjson": right }, /^users\.ndjson is listed, but does not/],
      [{ "../generation.orrery": right }, / is not a file of a snapshot$/],
    ];
    for (const [files, says] of wrong) {
      const [where, what, ...problem] = problemsOf(await load("x", files))[0]!.split(": ");
      assert.deepEqual([where, what], ["manifest.json", "files"]);
      assert.match(problem.join(": "), says);
    }
  });

  test("with what is no regular file in its place is refused", async () => {
    const folder = join(root, "folder");
    mkdirSync(join(folder, PREPARED), { recursive: true });
    assert.deepEqual(problemsOf(await loadSnapshot(folder)), ["generation.orrery: is not a regular file"]);
  });
});
