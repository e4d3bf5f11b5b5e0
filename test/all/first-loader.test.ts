/** The place of a load: a small first one on the serving thread, all others in threads of their own. */

import assert from "node:assert/strict";
import { mkdirSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { before, describe, it } from "node:test";
import { generateSnapshot } from "../../src/generate/generate.ts";
import type { Loader, Serving } from "../../src/server/load/loader.ts";
import { createFirstLoader } from "../../src/server/open.ts";
import { temporaryFolder } from "../support/folders.ts";

const folder = temporaryFolder();

const ROWS = { users: 600, worlds: 300, instances: 60, gzip: false };
const first = join(folder, "first");
const second = join(folder, "second");
const compressed = join(folder, "compressed");
before(async () => {
  await generateSnapshot({ ...ROWS, out: first, seed: 5 });
  await generateSnapshot({ ...ROWS, out: second, seed: 6 });
  await generateSnapshot({ ...ROWS, out: compressed, seed: 5, gzip: true });
});

describe("a first load", () => {
  /** The places of several loads, one after the other. */
  async function placesOf(...folders: string[]): Promise<string[]> {
    const places: string[] = [];
    const loadIn = async (place: string): ReturnType<Loader> => {
      places.push(place);
      return { ok: false, problems: [], fingerprint: undefined };
    };
    const load = createFirstLoader(
      () => loadIn("thread"),
      async () => () => loadIn("here"),
    );
    // Later loads have a generation to use again; the fake loaders do not look at it.
    let previous: Serving | undefined;
    for (const each of folders) {
      await load(each, { previous });
      previous = {} as Serving;
    }
    return places;
  }

  it("is done here when it is small, later ones never", async () => {
    assert.deepEqual(await placesOf(first, first, second), ["here", "thread", "thread"]);
  });

  it("has a thread when it is large, and later ones too, when nobody knows how large it is, and when it fails", async () => {
    const large = join(folder, "large");
    await generateSnapshot({ ...ROWS, out: large, seed: 5 });
    truncateSync(join(large, "users.ndjson"), 8 * 1_048_576);
    assert.deepEqual(await placesOf(large, first), ["thread", "thread"]);
    const [empty, missing] = [join(folder, "empty"), join(folder, "missing")];
    mkdirSync(empty);
    for (const one of [compressed, empty, missing]) assert.deepEqual(await placesOf(one), ["thread"], one);
  });
});
