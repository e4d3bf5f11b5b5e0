/** Loading a snapshot while the file system fails, or while files are replaced: complete or refused, at every call. */

import assert from "node:assert/strict";
import { readdirSync, statSync, unlinkSync, writeFileSync } from "node:fs";
import type { FileHandle, open, stat } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { gzipSync } from "node:zlib";
import { type Instance, ROW_FILES, type User, type World, type WorldStats } from "../../src/model/model.ts";
import type { Loaded } from "../../src/snapshot/load.ts";
import {
  instance,
  snapshotFiles,
  user,
  withManifest,
  world,
  worldStats,
  writeFiles,
} from "../support/folders.ts";
import { type FileSystem, freshFolder, loadWith, mustLoad, realFiles, rowsOf } from "../support/loaded.ts";
import { replace } from "../support/place.ts";
import { prepare } from "../support/prepared.ts";

/** A snapshot with its mark in every file. */
function marked(mark: "A" | "B", generation?: string): Map<string, Buffer> {
  const at = mark === "A" ? 1 : 2;
  const files = snapshotFiles({
    "users.ndjson": [user(1, { displayName: mark })],
    "worlds.ndjson": [world(1, { name: mark })],
    "world-stats.ndjson": [worldStats(1, { totalVisits: at })],
    "instances.ndjson": [instance(1, { createdAt: `2026-01-0${at}T00:00:00.000Z` })],
  });
  return generation === undefined ? files : withManifest(files, generation);
}

/** The mark of the loaded snapshot; throws if it is a mixture. */
function markOf({ store }: Loaded): "A" | "B" {
  const marks = [
    rowsOf<User>(store.users)[0]!.displayName,
    rowsOf<World>(store.worlds)[0]!.name,
    rowsOf<WorldStats>(store.worldStats)[0]!.totalVisits === 1 ? "A" : "B",
    rowsOf<Instance>(store.instances)[0]!.createdAt.startsWith("2026-01-01") ? "A" : "B",
  ];
  assert.equal(new Set(marks).size, 1, `a mixture was loaded: ${marks.join("")}`);
  return marks[0] as "A" | "B";
}

/**
 * The real file system, which announces every call before it is made.
 *
 * @param before gets the call's number, from 1, and its name; an error that it throws is the call's result
 */
function watched(before: (number: number, call: string) => void) {
  const calls: string[] = [];
  let opened = 0;
  let closed = 0;
  const announce = (call: string): void => {
    calls.push(call);
    before(calls.length, call);
  };
  const wrap = (handle: FileHandle): FileHandle =>
    new Proxy(handle, {
      get(target, name) {
        const value = Reflect.get(target, name, target) as unknown;
        if (typeof value !== "function") return value;
        return async (...args: unknown[]) => {
          if (name !== "close") {
            announce(String(name));
            return Reflect.apply(value, target, args) as unknown;
          }
          // Even a failing close frees its descriptor.
          closed++;
          await target.close();
          return announce("close");
        };
      },
    });
  const files = {
    async open(...args: Parameters<typeof open>) {
      announce("open");
      const handle = await realFiles.open(...args);
      opened++;
      return wrap(handle);
    },
    async stat(...args: Parameters<typeof stat>) {
      announce("stat");
      return realFiles.stat(...args);
    },
  };
  return { files: files as unknown as FileSystem, calls, opened: () => opened, closed: () => closed };
}

/** Records a load without a fault, which must succeed. */
async function watchLoad(folder: string) {
  const clean = watched(() => {});
  return { ...clean, loaded: mustLoad(await loadWith(clean.files, folder)) };
}

function systemError(code: string, syscall: string): Error {
  return Object.assign(new Error(`${code}: injected, ${syscall}`), { code, syscall, errno: -5 });
}

/** Waits until a newly written file gets another change time than earlier ones. */
function waitForClockTick(folder: string): void {
  const probe = join(folder, ".probe");
  writeFileSync(probe, "");
  const { ctimeNs } = statSync(probe, { bigint: true });
  while (statSync(probe, { bigint: true }).ctimeNs === ctimeNs) writeFileSync(probe, "x");
  unlinkSync(probe);
}

/** Each form of a snapshot, written to a folder. */
const FORMS: Readonly<Record<string, () => string | Promise<string>>> = {
  plain: () => writeFiles(freshFolder(), marked("A")),
  gzipped() {
    const files = Array.from(marked("A"), ([name, bytes]) => [`${name}.gz`, gzipSync(bytes)] as const);
    return writeFiles(freshFolder(), new Map(files));
  },
  "with a manifest": () => writeFiles(freshFolder(), marked("A", "gen-A")),
  async prepared() {
    const folder = freshFolder();
    await prepare(writeFiles(freshFolder(), marked("A")), folder);
    return folder;
  },
};

describe("faults", () => {
  for (const [form, make] of Object.entries(FORMS)) {
    test(`every call to the file system fails once, ${form}: refused or whole, never thrown`, async () => {
      const folder = await make();
      const clean = await watchLoad(folder);
      const { store } = clean.loaded;
      assert.deepEqual([clean.opened(), clean.closed()], [readdirSync(folder).length, clean.opened()]);
      for (const call of ["open", "stat", "read", "close"]) assert.ok(clean.calls.includes(call), call);

      for (const code of ["EIO", "EACCES", "ENOENT", "EMFILE"]) {
        for (let at = 1; at <= clean.calls.length; at++) {
          let failed = "";
          const faulty = watched((number, call) => {
            if (number !== at) return;
            failed = call;
            throw systemError(code, call);
          });
          const result = await loadWith(faulty.files, folder);
          const what = `${code} at call ${at}, ${failed}`;
          assert.notEqual(failed, "", what);
          assert.equal(faulty.closed(), faulty.opened(), `${what}: a file stays open`);
          if (result.ok) {
            // ENOENT is harmless for a file that does not exist anyway; a failing close loses nothing.
            const harmless = failed === "close" || (code === "ENOENT" && /open|stat/.test(failed));
            assert.ok(harmless, `${what} went unnoticed`);
            assert.equal(markOf(result), "A");
            assert.equal(result.store.id, store.id, `${what}: another generation`);
            assert.equal(result.store.contents, store.contents, what);
          } else {
            // Where there is no prepared file, all files of rows are missing.
            if (form !== "prepared" || code !== "ENOENT") assert.equal(result.problems.length, 1, what);
            assert.match(result.problems[0]!, /^[^\n]+: /);
            assert.equal(result.fingerprint, undefined, `${what}: the next check would not try again`);
          }
        }
      }
    });
  }
});

describe("files that are replaced while they are read", () => {
  type Files = ReadonlyMap<string, Buffer>;
  const replacements: Readonly<Record<string, (folder: string, files: Files) => void>> = {
    "by renames": (folder, files) => {
      for (const [name, bytes] of files) replace(join(folder, name), bytes);
    },
    "in place, to the same sizes": writeFiles,
    "by deleting and writing again": (folder, files) => {
      for (const name of files.keys()) unlinkSync(join(folder, name));
      writeFiles(folder, files);
    },
  };
  for (const [how, replaceAll] of Object.entries(replacements)) {
    for (const generation of [undefined, "gen"]) {
      test(`${how}, ${generation ? "with" : "without"} a manifest: whole or refused`, async () => {
        const a = marked("A", generation && `${generation}-A`);
        const b = marked("B", generation && `${generation}-B`);
        for (const [name, bytes] of a) assert.equal(bytes.length, b.get(name)!.length);
        const folder = writeFiles(freshFolder(), a);
        const { calls } = await watchLoad(folder);
        const outcomes = { A: 0, B: 0, refused: 0 };
        for (let at = 1; at <= calls.length; at++) {
          writeFiles(folder, a);
          waitForClockTick(folder);
          const swapping = watched((number) => {
            if (number === at) replaceAll(folder, b);
          });
          const result = await loadWith(swapping.files, folder);
          if (result.ok) {
            const mark = markOf(result);
            outcomes[mark]++;
            if (generation) assert.equal(result.store.id, `${generation}-${mark}`);
          } else {
            outcomes.refused++;
            assert.equal(result.fingerprint, undefined, "the next check tries again");
          }
        }
        // With a manifest the loader looks at the folder again, until it has one of the two; opened files keep their contents.
        const isNeverRefused = generation !== undefined && !how.startsWith("in place");
        assert.equal(outcomes.refused === 0, isNeverRefused, JSON.stringify(outcomes));
        assert.ok(outcomes.A > 0 && outcomes.B > 0, JSON.stringify(outcomes));
      });
    }
  }

  test("one file alone, at every call: never beside the others' old contents", async () => {
    const a = marked("A");
    const folder = writeFiles(freshFolder(), a);
    for (const name of ROW_FILES) {
      // With one file replaced before the load begins, the folder really holds the mixture.
      for (let at = 2; at <= 60; at++) {
        writeFiles(folder, a);
        waitForClockTick(folder);
        let done = false;
        const swapping = watched((number) => {
          if (number !== at) return;
          done = true;
          replace(join(folder, name), marked("B").get(name)!);
        });
        const result = await loadWith(swapping.files, folder);
        if (!done) break;
        // A file replaced before the first look is simply the file of the folder.
        const calls = swapping.calls.slice(0, at);
        if (result.ok && calls.includes("open")) assert.equal(markOf(result), "A");
      }
    }
  });
});
